"""Two columns are keys where no pair occurs twice although chance would repeat many."""

from __future__ import annotations

import narwhals as nw
import numpy as np
import pandas as pd
import pytest

from bmcg.observations.long import EXPECTED_REPEATS, _codes, _pairs_are_keys


@pytest.mark.parametrize(("n", "keys"), [(20, False), (60, True)])
def test_pairs_are_keys_where_chance_would_have_repeated_them(n, keys):
    rng = np.random.default_rng(0)
    places = rng.permutation(12 * 12)[:n]
    a, b = places // 12, places % 12
    # Pairs of lines that agree, had the columns nothing to do with each other.
    same = [np.mean([x == y for x in codes for y in codes]) for codes in (a, b)]
    expected = n * (n - 1) / 2 * same[0] * same[1]
    assert bool(expected >= EXPECTED_REPEATS) is keys
    assert _pairs_are_keys(a, b) is keys
    assert not _pairs_are_keys(np.append(a, a[0]), np.append(b, b[0]))


def test_the_number_of_repeats_that_is_asked_for_is_the_one_expected():
    # All pairs of two codes: each agrees with one in k, so repeats are n (n - 1) / 2 / k**2.
    for k in range(2, 9):
        a, b = (part.ravel() for part in np.indices((k, k)))
        n = k * k
        assert _pairs_are_keys(a, b) is (n * (n - 1) / 2 / k**2 >= EXPECTED_REPEATS)


def test_a_column_is_one_of_labels_where_several_are_repeated():
    columns = {
        "labels": [3, 3, 1, 1, 1, 3], "constant": [7] * 6, "distinct": list(range(6)),
        "numbers": [0.5, 0.5, 1.5, 1.5, 2.5, 2.5], "words": list("abcabc"),
    }  # fmt: skip
    table = nw.from_native(pd.DataFrame(columns))
    found = {name: _codes(table, name) for name in columns}
    assert found["labels"].tolist() == [1, 1, 0, 0, 0, 1]
    assert found["words"].tolist() == [0, 1, 2, 0, 1, 2]
    assert found["constant"] is found["distinct"] is found["numbers"] is None
