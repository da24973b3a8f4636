"""MovieLens 100K and 1M, from the files GroupLens publishes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graphs import knn_graph
from ..observations import Observations
from ._files import DatasetFormatError, Source, locate
from ._movielens_files import (
    Catalogue,
    Edition,
    read_items_1m,
    read_items_100k,
    read_ratings,
    read_users,
)
from .dataset import Dataset

_LICENCE = (
    "GroupLens usage licence: research use with acknowledgement (Harper and Konstan 2015, "
    "doi:10.1145/2827872); no redistribution, no commercial use without permission."
)
_GRAPHS = (
    "Both graphs join 10 nearest neighbours by Euclidean distance, with weight one: users by age "
    "in years, gender and occupation, movies by genre (release years are features only). They "
    "have seen no rating."
)

ML_100K = Edition(
    title="MovieLens 100K",
    folder="ml-100k",
    separator="|",
    user_fields=(1, 2, 3),
    source=Source(
        "MovieLens 100K",
        "https://grouplens.org/datasets/movielens/100k/",
        "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
        "md5:0e33842e24a9c977be4e0107933c0723",
        archive=True,
    ),
    n_users=943,
    n_items=1682,
    n_ratings=(100_000, 100_000),
)
# Copies that lack six ratings of user 1 are in circulation: accepted, and reported.
ML_1M = Edition(
    title="MovieLens 1M",
    folder="ml-1m",
    separator="::",
    user_fields=(2, 1, 3),
    source=Source(
        "MovieLens 1M",
        "https://grouplens.org/datasets/movielens/1m/",
        "https://files.grouplens.org/datasets/movielens/ml-1m.zip",
        "md5:c4d9eecfca2ab87c1945afe126590906",
        archive=True,
    ),
    n_users=6040,
    n_items=3883,
    n_ratings=(1_000_203, 1_000_209),
)


class _Entries(NamedTuple):
    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    values: NDArray[np.float64]

    def take(self, chosen: NDArray[np.bool_]) -> _Entries:
        return _Entries(self.rows[chosen], self.cols[chosen], self.values[chosen])


def load_movielens_100k(fold: int = 1, data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """MovieLens 100K with one of the publisher's five 80/20 splits.

    Parameters
    ----------
    fold : int
        1 to 5: observed are the entries of ``uN.base``, held out those of ``uN.test``.
    data_dir : path, optional
        Folder that holds ``ml-100k/``; by default ``BMCG_DATA``, else a cache that is filled
        by downloading.

    Returns
    -------
    Dataset
        943 users × 1682 movies, 80,000 ratings from 1 to 5 and 20,000 held out.
    """
    if fold not in (1, 2, 3, 4, 5):
        raise ValueError(f"fold={fold!r}: choose 1, 2, 3, 4 or 5")
    edition = ML_100K
    names = (f"u{fold}.base", f"u{fold}.test", "u.user", "u.item", "u.genre")
    base, test, user, item, genre = locate(edition.source, _inside(edition, names), data_dir)
    users, items = read_users(user, edition), read_items_100k(item, genre, edition)
    n_test = edition.n_ratings[1] // 5
    n_train = edition.n_ratings[1] - n_test
    train = _entries(base, "\t", (n_train, n_train), users, items)
    held = _entries(test, "\t", (n_test, n_test), users, items)
    key = train.rows * len(items.ids) + train.cols
    if np.isin(held.rows * len(items.ids) + held.cols, key).any():
        raise DatasetFormatError(f"{test} and {base} share entries, expected two disjoint sets")
    split = f"Published split u{fold}: {n_train} training, {n_test} test ratings."
    return _dataset(f"movielens-100k-u{fold}", edition, users, items, train, held, split)


def load_movielens_1m(
    test_fraction: float = 0.1,
    seed: int = 0,
    data_dir: str | os.PathLike[str] | None = None,
) -> Dataset:
    """MovieLens 1M with a random split.

    The test entries are ``numpy.random.default_rng(seed).random(N) < test_fraction`` in the
    order of ``ratings.dat``.

    Parameters
    ----------
    test_fraction : float
        Between 0 and 1, both excluded.
    seed : int
    data_dir : path, optional
        Folder that holds ``ml-1m/``; by default ``BMCG_DATA``, else a cache that is filled by
        downloading.

    Returns
    -------
    Dataset
        6040 users × 3883 movies: the whole catalogue, 3706 of them rated.
    """
    if not 0.0 < test_fraction < 1.0:
        raise ValueError(f"test_fraction={test_fraction!r}: give a share between 0 and 1")
    edition = ML_1M
    names = ("ratings.dat", "users.dat", "movies.dat")
    ratings, user, item = locate(edition.source, _inside(edition, names), data_dir)
    users, items = read_users(user, edition), read_items_1m(item, edition)
    entries = _entries(ratings, "::", edition.n_ratings, users, items)
    n = len(entries.values)
    chosen = np.random.default_rng(seed).random(n) < test_fraction
    split = (
        f"{n} ratings ({edition.n_ratings[1] - n} fewer than published); test entries are "
        f"numpy.random.default_rng({seed}).random({n}) < {test_fraction} in file order."
    )
    train, held = entries.take(~chosen), entries.take(chosen)
    return _dataset("movielens-1m", edition, users, items, train, held, split)


def _inside(edition: Edition, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{edition.folder}/{name}" for name in names)


def _entries(
    path: Path, separator: str, size: tuple[int, int], users: Catalogue, items: Catalogue
) -> _Entries:
    """Ratings by position in the two catalogues, each entry once."""
    ratings = read_ratings(path, separator, size)
    rows = _lookup(path, "user", ratings[:, 0], users.ids)
    cols = _lookup(path, "movie", ratings[:, 1], items.ids)
    repeated = len(rows) - len(np.unique(rows * len(items.ids) + cols))
    if repeated:
        raise DatasetFormatError(f"{path}: {repeated} entries are given more than once")
    return _Entries(rows, cols, ratings[:, 2].astype(np.float64))


def _lookup(
    path: Path, word: str, asked: NDArray[np.int64], ids: NDArray[np.int64]
) -> NDArray[np.int64]:
    at = np.searchsorted(ids, asked).clip(max=len(ids) - 1)
    unknown = ids[at] != asked
    if unknown.any():
        line = int(unknown.argmax())
        raise DatasetFormatError(
            f"{path}, line {line + 1}: {word} {asked[line]} is not in the list of {word}s"
        )
    return at.astype(np.int64)


def _dataset(
    name: str,
    edition: Edition,
    users: Catalogue,
    items: Catalogue,
    train: _Entries,
    held: _Entries,
    split: str,
) -> Dataset:
    observations = Observations.from_triples(
        *train,
        shape=(len(users.ids), len(items.ids)),
        row_labels=users.ids,
        col_labels=items.ids,
    )
    return Dataset(
        name=name,
        observations=observations,
        test_rows=held.rows,
        test_cols=held.cols,
        test_values=held.values,
        row_graph=knn_graph(users.graph_values, n_neighbors=10, weights="binary"),
        col_graph=knn_graph(items.graph_values, n_neighbors=10, weights="binary"),
        row_features=users.features,
        col_features=items.features,
        truth=None,
        provenance=f"{edition.title} ({edition.source.publisher}). {split} {_GRAPHS}",
        licence=_LICENCE,
    )
