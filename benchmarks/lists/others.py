"""Other methods for lists; runs in the environment of this benchmark, which has no bmcg.

    python others.py METHOD SETTING IN.npz OUT.npz

Reads compressed rows of what was seen and the rows to rank for, writes the 20 best columns of each
that it has not seen, and the seconds of the fit.
"""

import json
import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.linalg.lapack import dpotrf, dpotri

LENGTH = 20
SEED = 0

# Six settings each, drawn up around what their authors and users name.
SETTINGS = {
    "popularity": [{}],
    "item-KNN": [
        {"kind": kind, "K": K}
        for K in (20, 100)
        for kind in ("CosineRecommender", "TFIDFRecommender", "BM25Recommender")
    ],
    "EASE": [{"ridge": ridge} for ridge in (10.0, 50.0, 100.0, 250.0, 500.0, 1000.0)],
    "ALS": [
        {"factors": factors, "regularization": ridge, "alpha": alpha}
        for factors in (32, 64)
        for ridge, alpha in ((0.01, 1.0), (1.0, 10.0), (10.0, 2.0))
    ],
    "BPR": [
        {"factors": factors, "learning_rate": rate}
        for factors in (32, 64)
        for rate in (0.01, 0.03, 0.1)
    ],
}


def popularity(X):
    """How often each column was seen."""
    count = np.asarray((X > 0).sum(axis=0)).ravel().astype(float)
    return lambda rows: np.tile(count, (len(rows), 1))


def knn(X, kind, K):
    """Neighbours of columns, weighted as the package does."""
    import implicit.nearest_neighbours as neighbours

    model = getattr(neighbours, kind)(K=K)
    ones = sp.csr_matrix(X > 0, dtype=float)
    model.fit(ones, show_progress=False)
    S = model.similarity.tocsr()
    return lambda rows: (ones[rows] @ S).toarray()


def ease(X, ridge):
    """Steck 2019: regression of each column on all others, in closed form."""
    ones = sp.csr_matrix(X > 0, dtype=float)
    G = (ones.T @ ones).toarray()
    G[np.diag_indices(len(G))] += ridge
    lower, _ = dpotrf(G, lower=1, overwrite_a=1)
    lower, _ = dpotri(lower, lower=1, overwrite_c=1)
    P = np.tril(lower) + np.tril(lower, -1).T
    B = P / -np.diag(P)
    np.fill_diagonal(B, 0.0)
    return lambda rows: ones[rows] @ B


def als(X, **setting):
    """Hu, Koren and Volinsky 2008, counts as confidence."""
    from implicit.als import AlternatingLeastSquares

    model = AlternatingLeastSquares(iterations=15, random_state=SEED, num_threads=1, **setting)
    model.fit(sp.csr_matrix(X), show_progress=False)
    return lambda rows: model.user_factors[rows] @ model.item_factors.T


def bpr(X, **setting):
    """Rendle et al. 2009."""
    from implicit.bpr import BayesianPersonalizedRanking

    model = BayesianPersonalizedRanking(iterations=100, random_state=SEED, num_threads=1, **setting)
    model.fit(sp.csr_matrix(X > 0, dtype=float), show_progress=False)
    return lambda rows: model.user_factors[rows] @ model.item_factors.T


METHODS = {"popularity": popularity, "item-KNN": knn, "EASE": ease, "ALS": als, "BPR": bpr}


def best(scores, X, rows):
    """The best columns that a row has not seen, shape (len(rows), LENGTH)."""
    out = np.empty((len(rows), LENGTH), dtype=np.int64)
    for start in range(0, len(rows), 500):
        at = rows[start : start + 500]
        found = np.array(scores(at), dtype=float)
        seen = X[at].tocoo()
        found[seen.row, seen.col] = -np.inf
        out[start : start + 500] = np.argsort(-found, axis=1, kind="stable")[:, :LENGTH]
    return out


def main():
    """One fit."""
    method, number, source, target = sys.argv[1:]
    with np.load(source) as stored:
        parts = stored["values"], stored["indices"], stored["indptr"]
        X, rows = sp.csr_matrix(parts, shape=tuple(stored["shape"])), stored["rows"]
    began = time.perf_counter()
    scores = METHODS[method](X, **SETTINGS[method][int(number)])
    seconds = time.perf_counter() - began
    np.savez(target, lists=best(scores, X, rows), seconds=seconds)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
