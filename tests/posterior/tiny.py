"""Tiny fits of every family, engine and prior, and the dense truth about their q."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from bmcg import BMCG
from bmcg.backends.packed import unpack
from bmcg.graphs import chain_graph
from bmcg.inference.families import FAMILIES

M, N = 13, 9


@dataclass(frozen=True)
class Case:
    family: str
    prior: str
    engine: str = "auto"

    @property
    def name(self):
        return f"{self.family}-{self.prior}-{self.engine}"


def cases():
    """Every combination that is allowed: the `column` family has no room for features."""
    out = []
    for family in FAMILIES:
        for prior in ("none", "graph", "features", "graph+features"):
            if family == "column" and "features" in prior:
                continue
            for bias in ("", "+bias"):
                out.append(Case(family, prior + bias))
        for engine in ("dense", "sparse", "monte_carlo"):
            out.append(Case(family, "graph+bias", engine))
    return out


def tiny_data(seed=0):
    """A noisy matrix of rank two, a row and a column without any observation."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(M, 2)) @ rng.normal(size=(2, N)) + rng.normal(size=(M, 1))
    X = truth + 0.5 * rng.normal(size=truth.shape)
    X[rng.random(X.shape) < 0.3] = np.nan
    X[4], X[:, 3] = np.nan, np.nan
    return X


def fit(case, X=None, **options):
    """A short fit: q must agree with itself wherever the fit stands."""
    rng = np.random.default_rng(1)
    given = {}
    if "graph" in case.prior:
        given |= {"row_graph": chain_graph(M), "col_graph": chain_graph(N)}
    if "features" in case.prior:
        given |= {"row_features": rng.normal(size=(M, 3)), "col_features": rng.normal(size=(N, 2))}
    model = BMCG(
        rank=3,
        posterior=case.family,
        engine=case.engine,
        bias="bias" in case.prior,
        max_sweeps=7,
        random_state=0,
        n_jobs=1,
        **options,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(tiny_data() if X is None else X, **given)


def dense_blocks(family, side):
    """Covariance blocks (n, K, K) of one side by the inverse of its whole precision."""
    free, n, K = side.free, len(side.factors.mean), side.factors.rank
    lam, k = side.lam[side.free], len(side.free)
    L = side.precision.toarray()
    if side.features is not None:
        F = side.features.toarray()
        A = F.T @ L @ F + side.beta * np.eye(F.shape[1])
        L = np.block([[L, -L @ F], [-F.T @ L, A]])
    if family == "column":
        data = np.stack([np.diag(d) for d in side.data_precision])
    else:
        data = unpack(side.data_precision)
    Q = np.kron(L, np.diag(lam))
    for i in range(n):
        at = slice(i * k, (i + 1) * k)
        Q[at, at] += data[i]
    if family == "column":
        component = np.tile(np.arange(k), len(L))
        Q = np.where(component[:, None] == component, Q, 0.0)
    C = np.linalg.inv(Q)
    out = np.zeros((n, K, K))
    for i in range(n):
        at = slice(i * k, (i + 1) * k)
        out[i][np.ix_(free, free)] = C[at, at]
    return out


def dense_variances(model):
    """Var(u_i·v_j) of every entry from the dense covariances, shape (m, n)."""
    posterior = model.fitted_
    C_u, C_v = (dense_blocks(posterior.family, s) for s in (posterior.rows, posterior.cols))
    U, V = posterior.rows.factors.mean, posterior.cols.factors.mean
    out = np.einsum("ir,jrs,is->ij", U, C_v, U) + np.einsum("jr,irs,js->ij", V, C_u, V)
    return posterior.scale**2 * (out + np.einsum("irs,jrs->ij", C_u, C_v))
