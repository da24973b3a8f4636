"""Flixster, Douban, MovieLens and a synthetic Netflix, as Monti, Bronstein and Bresson cut them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..checks import check_choice
from ..graphs import pattern_graph
from ..observations import Observations
from ._files import DatasetFormatError, Source, locate
from ._matlab import Arrays, adjacency, mask, read_arrays
from .dataset import Dataset, Floats

_Graphs = tuple[sp.csr_array | None, sp.csr_array | None, str]

_REPOSITORY = "https://github.com/fmonti/mgcnn"


@dataclass(frozen=True)
class Cut:
    """What one of the published files holds, and so what a reader must find.

    Attributes
    ----------
    title, file : str
        `file` is the path below the data folder.
    source : Source
    shape : (int, int)
    n_train, n_test : int
    row_graph, col_graph : str or None
        Names of the adjacency matrices in the file.
    complete : bool
        Whether every entry of the matrix is known.
    seen : str
        What the graphs were built from.
    licence : str
    """

    title: str
    file: str
    source: Source
    shape: tuple[int, int]
    n_train: int
    n_test: int
    row_graph: str | None
    col_graph: str | None
    complete: bool
    seen: str
    licence: str


def _source(title: str, path: str, sha256: str) -> Source:
    return Source(title, _REPOSITORY, f"{_REPOSITORY}/raw/master/Data/{path}", f"sha256:{sha256}")


FLIXSTER = Cut(
    title="Flixster",
    file="monti/flixster/training_test_dataset_10_NNs.mat",
    source=_source(
        "Flixster (Monti et al.)",
        "flixster/training_test_dataset_10_NNs.mat",
        "8b07e0387edfe7ffdccead2826bb3844ddbd9e6a8ccba264ce81a3b59b273197",
    ),
    shape=(3000, 3000),
    n_train=23_556,
    n_test=2_617,
    row_graph="W_users",
    col_graph="W_movies",
    complete=False,
    seen="10-nearest-neighbour graphs of the ratings, which may include the test ratings",
    licence="None stated; ratings of Jamali and Ester 2010, for research.",
)
DOUBAN = Cut(
    title="Douban",
    file="monti/douban/training_test_dataset.mat",
    source=_source(
        "Douban (Monti et al.)",
        "douban/training_test_dataset.mat",
        "1f4476321cbfe0f606e7e35d0695ca15447a1b0b2c811df130109b6cb9a067ae",
    ),
    shape=(3000, 3000),
    n_train=123_202,
    n_test=13_689,
    row_graph="W_users",
    col_graph=None,
    complete=False,
    seen="the social network of the users, which has seen no rating; there is no movie graph",
    licence="None stated; ratings of Ma et al. 2011, for research.",
)
MOVIELENS = Cut(
    title="MovieLens 100K",
    file="monti/movielens/split_1.mat",
    source=_source(
        "MovieLens 100K (Monti et al.)",
        "movielens/split_1.mat",
        "a8c053a1d697b82c341cb2ad593af2495db7b50f721ae51af5534cc7b217747e",
    ),
    shape=(943, 1682),
    n_train=80_000,
    n_test=20_000,
    row_graph="W_users",
    col_graph="W_movies",
    complete=False,
    seen="10-nearest-neighbour graphs of user and movie features, which have seen no rating",
    licence="GroupLens usage licence: research use with acknowledgement, no redistribution.",
)
SYNTHETIC_NETFLIX = Cut(
    title="Synthetic Netflix",
    file="monti/synthetic_netflix/synthetic_netflix.mat",
    source=_source(
        "Synthetic Netflix (Monti et al.)",
        "synthetic_netflix/synthetic_netflix.mat",
        "b47789b280f868c17b6e3c7866608740a579ed29a8fd1dbb3ab218fc5ccc75ae",
    ),
    shape=(150, 200),
    n_train=4_500,
    n_test=4_500,
    row_graph="Wrow",
    col_graph="Wcol",
    complete=True,
    seen="the communities the matrix was made from (row weights down to 1e-67)",
    licence="None stated; generated data.",
)


def load_flixster(
    graphs: Literal["shipped", "training"] = "shipped",
    data_dir: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Flixster, 3000 users × 3000 movies with ratings from 0.5 to 5.

    Parameters
    ----------
    graphs : {"shipped", "training"}
        ``"shipped"``: the published graphs, which the paper uses and which may have been built
        with the test ratings. ``"training"``: 10-nearest-neighbour graphs of who rated what
        among the training entries alone; 659 users without a rating have no neighbours.
    data_dir : path, optional
        Folder that holds ``monti/flixster/``; by default ``BMCG_DATA``, else a cache that is
        filled by downloading.

    Returns
    -------
    Dataset
        23,556 ratings and 2,617 held out.
    """
    check_choice("graphs", graphs, ("shipped", "training"))
    return _load("flixster", FLIXSTER, data_dir, from_training=graphs == "training")


def load_douban(data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """Douban, 3000 users × 3000 movies with ratings from 1 to 5 and a social network.

    Parameters
    ----------
    data_dir : path, optional
        Folder that holds ``monti/douban/``; by default ``BMCG_DATA``, else a cache that is
        filled by downloading.

    Returns
    -------
    Dataset
        123,202 ratings and 13,689 held out; 1,832 users have no friend, movies no graph.
    """
    return _load("douban", DOUBAN, data_dir)


def load_monti_movielens(data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """MovieLens 100K, split u1, with the feature graphs Monti et al. published.

    Parameters
    ----------
    data_dir : path, optional
        Folder that holds ``monti/movielens/``; by default ``BMCG_DATA``, else a cache that is
        filled by downloading.

    Returns
    -------
    Dataset
        943 users × 1682 movies, 80,000 ratings and 20,000 held out.
    """
    return _load("monti-movielens", MOVIELENS, data_dir)


def load_synthetic_netflix(data_dir: str | os.PathLike[str] | None = None) -> Dataset:
    """A 150 × 200 matrix of rank 12 with constant blocks and community graphs.

    Parameters
    ----------
    data_dir : path, optional
        Folder that holds ``monti/synthetic_netflix/``; by default ``BMCG_DATA``, else a cache
        that is filled by downloading.

    Returns
    -------
    Dataset
        4,500 entries and 4,500 held out; the truth is known everywhere.
    """
    return _load("synthetic-netflix", SYNTHETIC_NETFLIX, data_dir)


def _load(
    name: str,
    cut: Cut,
    data_dir: str | os.PathLike[str] | None,
    *,
    from_training: bool = False,
) -> Dataset:
    (path,) = locate(cut.source, (cut.file,), data_dir)
    keys = ["M", "Otraining", "Otest", cut.row_graph, cut.col_graph]
    arrays = read_arrays(path, [key for key in keys if key is not None])
    M, train, test = _entries(arrays, cut)
    rows, cols = np.nonzero(train)
    test_rows, test_cols = np.nonzero(test)
    observations = Observations.from_triples(rows, cols, M[rows, cols], shape=cut.shape)
    make = _training_graphs if from_training else _shipped_graphs
    row_graph, col_graph, seen = make(arrays, cut, observations)
    return Dataset(
        name=name + ("-training-graphs" if from_training else ""),
        observations=observations,
        test_rows=test_rows.astype(np.int64),
        test_cols=test_cols.astype(np.int64),
        test_values=M[test_rows, test_cols],
        row_graph=row_graph,
        col_graph=col_graph,
        row_features=None,
        col_features=None,
        truth=M if cut.complete else None,
        provenance=(
            f"{cut.title}, split and files of Monti, Bronstein and Bresson 2017 ({_REPOSITORY}). "
            f"{cut.n_train} training, {cut.n_test} test entries. Graphs: {seen}."
        ),
        licence=cut.licence,
    )


def _entries(arrays: Arrays, cut: Cut) -> tuple[Floats, NDArray[np.bool_], NDArray[np.bool_]]:
    """The matrix and its disjoint training and test masks."""
    M = arrays.dense("M", cut.shape)
    train = mask(arrays, "Otraining", cut.shape, cut.n_train)
    test = mask(arrays, "Otest", cut.shape, cut.n_test)
    shared = int((train & test).sum())
    if shared:
        raise DatasetFormatError(f"{arrays.path}: Otraining and Otest share {shared} entries")
    # Every one of the four files codes ratings from 0.5 or 1 up, and "no rating" as 0.
    known = M if cut.complete else M[train | test]
    if not np.isfinite(known).all() or (known <= 0.0).any():
        raise DatasetFormatError(f"{arrays.path}: M must be positive and finite where it is known")
    return M, train, test


def _shipped_graphs(arrays: Arrays, cut: Cut, _: Observations) -> _Graphs:
    n_loops = 0
    graphs = []
    for key, size in zip((cut.row_graph, cut.col_graph), cut.shape, strict=True):
        graph = None
        if key is not None:
            graph, dropped = adjacency(arrays, key, size)
            n_loops += dropped
        graphs.append(graph)
    seen = f"{cut.seen}; {n_loops} self-loops dropped, otherwise as published"
    return graphs[0], graphs[1], seen


def _training_graphs(_: Arrays, __: Cut, observations: Observations) -> _Graphs:
    return (
        pattern_graph(observations, side="rows", n_neighbors=10),
        pattern_graph(observations, side="cols", n_neighbors=10),
        "10-nearest-neighbour graphs of who rated what among the training entries alone",
    )
