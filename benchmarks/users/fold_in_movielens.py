"""Fold in 100 held-out users of MovieLens 100K against refitting with them.

    BMCG_DATA=... python -m benchmarks.users fold-in

Of 100 users, half of the training ratings are given, the other half is predicted: by a model of
the other 843 users into which they are folded, and by a model refitted with them.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bmcg import BMCG, Observations
from bmcg.datasets import load_movielens_100k
from bmcg.graphs import pattern_graph
from reporting import table

N_NEW = 100


def page(posterior: str = "row") -> str:
    """Errors and seconds, without graphs and with graphs of who rates alike."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = load_movielens_100k(fold=1).observations
    case = split(data)
    settings = {"posterior": posterior, "random_state": 0}
    rows = []
    for graphs in ("none", "pattern"):
        every = pattern_graph(case.given) if graphs == "pattern" else None
        cols = pattern_graph(case.given, "cols") if graphs == "pattern" else None
        new = case.new
        links = None if every is None else sp.csr_array(every[new][:, ~new])
        among = None if every is None else sp.csr_array(every[~new][:, ~new])
        base = BMCG(**settings).fit(case.old, among, cols)
        base.fold_in(case.entries, row_edges=links)  # compiles
        folded, fold_seconds = timed(lambda b=base, e=links: b.fold_in(case.entries, row_edges=e))
        refit, refit_seconds = timed(lambda e=every, c=cols: BMCG(**settings).fit(case.given, e, c))
        r, c, x = case.hidden
        errors = [
            float(np.sqrt(np.mean((predicted - x) ** 2)))
            for predicted in (folded.predict(case.place[r], c), refit.predict(r, c))
        ]
        rows.append(
            [
                graphs,
                *(f"{error:.4f}" for error in errors),
                f"{errors[0] / errors[1] - 1:+.2%}",
                f"{1000 * fold_seconds:.1f} ms",
                f"{refit_seconds:.2f} s",
                f"{fold_seconds / refit_seconds:.2%}",
            ]
        )
    header = ["graphs", "RMSE folded in", "refitted", "difference", "folding in", "refitting"]
    return (
        f"{N_NEW} users of MovieLens 100K (training part of fold 1) are held out; half of their "
        "ratings is given, the other half predicted: by a model of the others into which they are "
        "folded, and by one refitted with them. Promised: an error within 1 %, in under 1 % of the "
        "time. Processor seconds.\n\n" + table([*header, "share of the time"], rows)
    )


class Case(NamedTuple):
    """Who is new, what is given of all, of the others and of the new, and what is hidden."""

    new: np.ndarray
    place: np.ndarray
    given: Observations
    old: Observations
    entries: Observations
    hidden: tuple[np.ndarray, np.ndarray, np.ndarray]


def split(data: Observations) -> Case:
    """Hold out users, and half of the ratings of each."""
    rng = np.random.default_rng(0)
    r, c, x = np.asarray(data.row_indices), np.asarray(data.col_indices), data.values
    rated = np.flatnonzero(np.bincount(r, minlength=data.shape[0]) >= 10)
    new = np.zeros(data.shape[0], dtype=bool)
    new[rng.choice(rated, N_NEW, replace=False)] = True
    hidden = new[r] & (rng.random(len(r)) < 0.5)
    place = np.where(new, np.cumsum(new) - 1, np.cumsum(~new) - 1)

    def chosen(which: np.ndarray, at: np.ndarray, n: int) -> Observations:
        shape = (n, data.shape[1])
        return Observations.from_triples(at[which], c[which], x[which], shape=shape)

    return Case(
        new,
        place,
        chosen(~hidden, r, data.shape[0]),
        chosen(~new[r], place[r], int((~new).sum())),
        chosen(new[r] & ~hidden, place[r], N_NEW),
        (r[hidden], c[hidden], x[hidden]),
    )


def timed(work: Callable[[], BMCG]) -> tuple[BMCG, float]:
    """What comes of it, and its seconds of processors."""
    start = time.process_time()
    return work(), time.process_time() - start
