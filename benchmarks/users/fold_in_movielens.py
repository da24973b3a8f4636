"""Fold in 100 held-out users of MovieLens 100K against refitting with them.

    BMCG_DATA=... python benchmarks/users/fold_in_movielens.py

Of 100 users, half of the training ratings are given, the other half is predicted: by a model of
the other 843 users into which they are folded, and by a model refitted with them.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from bmcg import BMCG, Observations
from bmcg.datasets import load_movielens_100k
from bmcg.graphs import pattern_graph

N_NEW = 100


def main(posterior: str = "row") -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    data = load_movielens_100k(fold=1).observations
    rng = np.random.default_rng(0)
    r, c, x = np.asarray(data.row_indices), np.asarray(data.col_indices), data.values
    rated = np.flatnonzero(np.bincount(r, minlength=data.shape[0]) >= 10)
    new = np.zeros(data.shape[0], dtype=bool)
    new[rng.choice(rated, N_NEW, replace=False)] = True
    hidden = new[r] & (rng.random(len(r)) < 0.5)
    given = Observations.from_triples(r[~hidden], c[~hidden], x[~hidden], shape=data.shape)
    place = np.where(new, np.cumsum(new) - 1, np.cumsum(~new) - 1)
    old_part, new_part = ~new[r], new[r] & ~hidden
    old = Observations.from_triples(
        place[r[old_part]], c[old_part], x[old_part], shape=(int((~new).sum()), data.shape[1])
    )
    entries = Observations.from_triples(
        place[r[new_part]], c[new_part], x[new_part], shape=(N_NEW, data.shape[1])
    )
    print("graphs   RMSE folded in   refitted   worse by   seconds folded in   refit   share")
    for graphs in ("none", "pattern"):
        every = pattern_graph(given) if graphs == "pattern" else None
        cols = pattern_graph(given, "cols") if graphs == "pattern" else None
        links = None if every is None else sp.csr_array(every[new][:, ~new])
        among = None if every is None else sp.csr_array(every[~new][:, ~new])
        settings = {"posterior": posterior, "random_state": 0}
        base = BMCG(**settings).fit(old, among, cols)
        base.fold_in(entries, row_edges=links)  # compiles
        start = time.perf_counter()
        folded = base.fold_in(entries, row_edges=links)
        fold_seconds = time.perf_counter() - start
        start = time.perf_counter()
        refit = BMCG(**settings).fit(given, every, cols)
        refit_seconds = time.perf_counter() - start
        errors = [
            np.sqrt(np.mean((predicted - x[hidden]) ** 2))
            for predicted in (
                folded.predict(place[r[hidden]], c[hidden]),
                refit.predict(r[hidden], c[hidden]),
            )
        ]
        print(
            f"{graphs:8} {errors[0]:14.4f} {errors[1]:10.4f} {errors[0] / errors[1] - 1:9.2%}"
            f" {fold_seconds:18.4f} {refit_seconds:8.2f} {fold_seconds / refit_seconds:7.2%}",
            flush=True,
        )


if __name__ == "__main__":
    main()
