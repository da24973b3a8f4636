"""A long frame is not taken for a matrix, and a matrix is not taken for a long frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from bmcg import BMCG, Observations


def ratings(n_users=60, n_items=40, share=0.3, seed=0):
    """One rating a line, as such tables come: whole numbers throughout."""
    rng = np.random.default_rng(seed)
    user, item = np.nonzero(rng.random((n_users, n_items)) < share)
    order = rng.permutation(len(user))
    rating = rng.integers(1, 6, len(user))
    when = 880_000_000 + rng.integers(0, 10**7, len(user))
    return pd.DataFrame({"a": user[order] + 1, "b": item[order] + 1, "c": rating, "d": when})


@pytest.mark.parametrize(
    "names",
    [
        ["user", "item", "rating", "timestamp"],
        ["userId", "movieId", "rating", "timestamp"],
        ["row", "col", "value", "t"],
        ["a", "b", "c", "d"],
    ],
)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_a_long_frame_of_numbers_is_refused_with_the_call_that_reads_it(names, frame):
    table = frame(ratings().set_axis(names, axis=1))
    with pytest.raises(ValueError, match="one observation a line") as caught:
        BMCG(posterior="variational").fit(table)
    call = f"Observations.from_frame(frame, row={names[0]!r}, col={names[1]!r}, value={names[2]!r})"
    assert call in str(caught.value)
    assert Observations.from_frame(table, *names[:3]).shape == (60, 40)


def test_few_ratings_are_known_by_their_names():
    frame = pd.DataFrame({"rating": [3.0, 4.0], "item": [1, 2], "user": [1, 1]})
    with pytest.raises(ValueError, match="row='user', col='item', value='rating'"):
        Observations.from_any(frame)


def test_labels_of_text_are_refused_with_the_same_advice():
    for frame in (ratings().astype({"a": str}), pl.from_pandas(ratings()).cast({"b": pl.String})):
        with pytest.raises(ValueError, match=r"from_frame\(frame, row='a', col='b', value='c'\)"):
            Observations.from_any(frame)
    few = pd.DataFrame({"who": ["x", "y"], "size": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"column 'who' must hold numbers only.*from_frame"):
        Observations.from_any(few)


def test_the_values_of_a_frame_are_a_matrix_if_the_user_says_so():
    assert Observations.from_any(ratings().to_numpy()).shape == (len(ratings()), 4)


def wide_tables():
    rng = np.random.default_rng(1)
    m = 400
    people = {
        "age": rng.integers(18, 90, m),
        "height": rng.integers(150, 200, m),
        "weight": rng.integers(50, 110, m),
        "income": rng.integers(20, 90, m) * 1000,
    }
    return {
        "people": people,
        "few people": {name: column[:80] for name, column in people.items()},
        "questions": {f"q{i}": rng.integers(1, 6, m) for i in range(5)},
        "genotypes": {f"rs{i}": rng.integers(0, 3, m) for i in range(6)},
        "alleles": {f"s{i}": rng.integers(0, 2, m) for i in range(2)},
        "counts": {f"gene{i}": rng.poisson(30.0, m) for i in range(4)},
        "sensors": {f"t{i}": rng.normal(size=m).round(1) for i in range(4)},
        "pixels": {f"p{i}": rng.integers(0, 256, m) for i in range(3)},
        "with a counter": {"line": np.arange(m), "x": rng.integers(0, 9, m), "y": np.arange(m) % 7},
        "one column": {"x": rng.integers(0, 50, m)},
        "short": {"a": [1, 1, 2], "b": [1, 2, 1], "c": [3, 4, 5]},
    }


@pytest.mark.parametrize("name", wide_tables())
def test_wide_frames_are_read_as_matrices(name):
    frame = pd.DataFrame(wide_tables()[name])
    assert Observations.from_any(frame).shape == frame.shape


@pytest.mark.parametrize("seed", range(20))
def test_columns_that_are_unrelated_do_not_look_like_labels(seed):
    """Whatever their range and length."""
    rng = np.random.default_rng(seed)
    m, sizes = rng.integers(60, 3000), rng.integers(2, 500, 3)
    frame = pd.DataFrame({f"x{i}": rng.integers(0, size, m) for i, size in enumerate(sizes)})
    assert Observations.from_any(frame).shape == frame.shape
