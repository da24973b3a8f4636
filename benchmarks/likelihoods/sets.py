"""The data of the comparison: what may be seen, and what is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bmcg import Observations
from bmcg.datasets import (
    Dataset,
    load_bookcrossing,
    load_dti_enzyme,
    load_fdataset,
    load_hangzhou,
    load_movielens_100k,
)
from bmcg.datasets._archives import field_archive

Array = NDArray[np.float64]
OUTLIERS = 0.1
# Users and places of Foursquare.
MOST = 400


@dataclass(frozen=True)
class Case:
    """One set.

    Attributes
    ----------
    train : Observations
    rows, cols : ndarray of shape (n_test,)
    values : ndarray of shape (n_test,)
    graphs : tuple
        Of rows and columns, or None.
    about : str
    """

    train: Observations
    rows: NDArray[np.intp]
    cols: NDArray[np.intp]
    values: Array
    about: str
    graphs: tuple[Any, Any] = (None, None)


def _case(data: Dataset, about: str, change: Callable[[Array], Array] = lambda x: x) -> Case:
    i, j, x = data.observations.row_indices, data.observations.col_indices, data.observations.values
    train = Observations.from_triples(i, j, change(x), data.observations.shape)
    test = data.test_rows.astype(np.intp), data.test_cols.astype(np.intp)
    graphs = data.row_graph, data.col_graph
    return Case(train, *test, change(data.test_values), about, graphs)


def _plain(case: Case) -> Case:
    return Case(case.train, case.rows, case.cols, case.values, case.about)


def _thinned(i: Any, j: Any, counts: Array, shape: tuple[int, int], about: str, seed: int) -> Case:
    """Each count split into two by fair coins: one half to see, the other to predict."""
    rng = np.random.default_rng(seed)
    seen = rng.binomial(counts.astype(np.int64), 0.5).astype(np.float64)
    train = Observations.from_triples(i, j, seen, shape)
    return Case(train, np.asarray(i, np.intp), np.asarray(j, np.intp), counts - seen, about)


def foursquare(seed: int) -> Case:
    """Visits of users to places."""
    archive = field_archive("Foursquare", "foursquare/foursquare.npz", "Foursquare", None)
    pairs = np.concatenate((archive["train"], archive["test"])).astype(np.int64)
    counts = np.concatenate((archive.floats("train_count", 1), archive.floats("test_count", 1)))
    shape = int(pairs[:, 0].max()) + 1, int(pairs[:, 1].max()) + 1
    both = sp.coo_array((counts, (pairs[:, 0], pairs[:, 1])), shape=shape).tocsr()
    # Thinned halves are independent only where zeros are there too.
    users = np.argsort(-both.sum(axis=1), kind="stable")[:MOST]
    places = np.argsort(-both.sum(axis=0), kind="stable")[:MOST]
    table = both[users][:, places].toarray()
    i, j = (part.ravel() for part in np.indices(table.shape))
    about = "visits of the 400 most active users to the 400 most visited places; counts thinned"
    return _thinned(i, j, table.ravel(), (MOST, MOST), about, seed)


def sc_mixology(seed: int) -> Case:
    """UMI counts of cells and genes."""
    archive = field_archive(
        "Mixed cell lines", "sc_mixology/celseq2_5cl.npz", "LuyiTian/sc_mixology", None
    )
    shape = tuple(int(size) for size in archive["shape"].astype(np.int64))
    parts = (archive["data"].astype(np.float64), archive["indices"], archive["indptr"])
    counts = sp.csr_array(parts, shape=shape).toarray()[:, ::20]
    i, j = (part.ravel() for part in np.indices(counts.shape))
    about = "UMI counts of 909 cells and every 20th of 3,000 genes, zeros too; counts thinned"
    return _thinned(i, j, counts.ravel(), (counts.shape[0], counts.shape[1]), about, seed)


def with_outliers(case: Case, seed: int) -> Case:
    """A tenth of what may be seen replaced by values ten deviations off, either way."""
    rng, x = np.random.default_rng([seed, 5]), case.train.values.copy()
    at = rng.random(len(x)) < OUTLIERS
    size = 10.0 * x.std()
    x[at] += size * rng.choice((-1.0, 1.0), at.sum()) * rng.uniform(0.5, 1.5, at.sum())
    train = case.train.with_values(x)
    return Case(train, case.rows, case.cols, case.values, case.about, case.graphs)


def planted(seed: int) -> Case:
    """A planted matrix of low rank; what is predicted has noise as what is seen has."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(300, 5)) @ rng.normal(size=(5, 200)) / np.sqrt(5.0)
    X += 0.3 * rng.normal(size=X.shape)
    seen = rng.random(X.shape) < 0.5
    i, j = np.nonzero(~seen)
    train = Observations.from_any(np.where(seen, X, np.nan))
    return Case(train, i, j, X[i, j], "a planted matrix of rank 5")


CASES: dict[str, Callable[[int], Case]] = {
    "movielens-100k": lambda seed: _plain(
        _case(load_movielens_100k(seed + 1), "stars from 1 to 5, the publisher's fold")
    ),
    "bookcrossing": lambda seed: _plain(_case(load_bookcrossing(), "ratings from 1 to 10")),
    "thumbs": lambda seed: _plain(
        _case(
            load_movielens_100k(seed + 1),
            "MovieLens 100K, four stars and more",
            lambda x: (x >= 4).astype(float),
        )
    ),
    "fdataset": lambda seed: _case(
        load_fdataset(seed=seed), "which drug treats which disease, graphs of both"
    ),
    "dti_enzyme": lambda seed: _case(
        load_dti_enzyme(seed=seed), "which drug binds which enzyme, graphs of both"
    ),
    "foursquare": foursquare,
    "sc_mixology": sc_mixology,
    "hangzhou": lambda seed: _plain(
        _case(load_hangzhou(), "people that enter 80 stations in ten minutes, 40 % held out")
    ),
    "planted": planted,
    "stars": lambda seed: CASES["movielens-100k"](seed),
}
