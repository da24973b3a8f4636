"""The four sets: what somebody chose, cut into a part to learn from and one for lists."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bmcg import Observations
from bmcg.datasets import load_movielens_1m, load_movielens_100k
from bmcg.evaluation import Split, leave_out
from bmcg.graphs import geo_graph

# Stars that count as a click.
LIKED = 4.0
# Share of each row that is held out where the publishers give no split, and to choose by.
SHARE = 0.2


@dataclass(frozen=True)
class ListSet:
    """One set.

    Attributes
    ----------
    title : str
    read : callable
        From the data folder to a split.
    known : callable or None
        From the data folder to the name of what is known besides, and the arguments of `fit`.
    """

    title: str
    read: Callable[[Path], Split]
    known: Callable[[Path], tuple[str, dict[str, Any]]] | None = None


def _liked(load: Callable[..., Any], **options: Any) -> Split:
    """Ratings of at least four stars, training and test entries of the loader together."""
    data = load(**options)
    seen = data.observations
    rows = np.concatenate((seen.row_indices, data.test_rows))
    cols = np.concatenate((seen.col_indices, data.test_cols))
    stars = np.concatenate((seen.values, data.test_values))
    good = stars >= LIKED
    i, j = (np.unique(part[good], return_inverse=True)[1] for part in (rows, cols))
    clicks = Observations.from_triples(i, j, np.ones(len(i)))
    return leave_out(clicks, SHARE, random_state=0)[0]


def _published(archive: Any, counts: str | None) -> Split:
    train, test = archive["train"], archive["test"]
    shape = tuple(np.maximum(train.max(axis=0), test.max(axis=0)) + 1)
    values = np.ones(len(train)) if counts is None else archive[counts].astype(float)
    seen = Observations.from_triples(*train.T, values, (int(shape[0]), int(shape[1])))
    return Split(seen, *(part.astype(np.intp) for part in test.T), np.ones(len(test)))


def _archive(folder: Path, name: str) -> Any:
    return np.load(folder / "field" / name, allow_pickle=False)


def _friends(folder: Path) -> tuple[str, dict[str, Any]]:
    archive = _archive(folder, "lastfm2k/lightgcn_split.npz")
    pairs = archive["trust"]
    m = int(archive["train"][:, 0].max()) + 1
    A = sp.csr_array((np.ones(len(pairs)), tuple(pairs.T)), shape=(m, m))
    return "friends", {"row_graph": ((A + A.T) > 0).astype(float)}


def _places(folder: Path) -> tuple[str, dict[str, Any]]:
    archive = _archive(folder, "foursquare/foursquare.npz")
    return "places", {"col_graph": geo_graph(*archive["latlon"].T)}


SETS = {
    "ml-100k": ListSet(
        "MovieLens 100K, at least four stars",
        lambda folder: _liked(load_movielens_100k, data_dir=folder),
    ),
    "ml-1m": ListSet(
        "MovieLens 1M, at least four stars",
        lambda folder: _liked(load_movielens_1m, data_dir=folder),
    ),
    "lastfm2k": ListSet(
        "lastfm2k, the split of LightGCN",
        lambda folder: _published(_archive(folder, "lastfm2k/lightgcn_split.npz"), None),
        _friends,
    ),
    "foursquare": ListSet(
        "foursquare, its publishers' split",
        lambda folder: _published(_archive(folder, "foursquare/foursquare.npz"), "train_count"),
        _places,
    ),
}
