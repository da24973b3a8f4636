"""q of one side: its factors, and the precision that their covariance is the inverse of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends import Backend, host
from ..graphs.precision import Precision, identity_precision
from ..inference.design import with_constant
from ..inference.families import Family, posterior_of
from ..inference.fit import FittedSide
from ..inference.state import Factors, Gamma
from ..linalg.monte_carlo import MonteCarloEngine
from ..linalg.prior import SidePrior, feature_map, graph_prior, with_features

Array = NDArray[np.float64]

# Prior precision that holds a constant column at one.
HELD = 1e12
# Draws of a covariance that a user reads, where it is not exact: a variance is off by a sixth. A
# fit can do with fewer, because what it learns are sums over all nodes.
DRAWS = 64
# Relative residual of their solves. With features, which make solves long, they are solved as
# those of the fit are: what is left of the residual is far below what so few draws leave.
SOLVED, SOLVED_TIED = 1e-4, 1e-2
_FEATURES = ("features_data", "features_indices", "features_indptr")


@dataclass(frozen=True)
class SidePosterior:
    """q of one side, with the precision it came from.

    Attributes
    ----------
    factors : Factors
    precision : Precision
        L of the prior.
    data_precision : ndarray of shape (n, k) or (n, k(k+1)/2), or empty
        What the observations add to the prior precision: τ·diag(G_i) for the `column`
        family, τ·G_i for `joint`. Draws along the graph need it.
    lam : ndarray of shape (K,)
        ⟨λ⟩ of every column; a constant column, one throughout, is held by `HELD`.
    constant : int
        Position of the constant column that meets the other side's bias; -1 without biases.
    features : csr_array of shape (n, p) or None
        F of the prior, where rows are tied by what is known of them.
    beta : float
        Precision of the features' weights, in units of λ.
    """

    factors: Factors
    precision: Precision
    data_precision: Array
    lam: Array
    constant: int = -1
    features: sp.csr_array | None = None
    beta: float = 1.0

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which columns are not constant, shape (K,)."""
        return np.arange(self.factors.rank) != self.constant

    @property
    def free(self) -> NDArray[np.intp]:
        """Columns that are not constant."""
        return np.flatnonzero(self.mask)

    @property
    def bias(self) -> Array:
        """Means of the side's bias, its last free column, shape (n,); zero without biases."""
        mean = self.factors.mean
        return mean[:, self.free[-1]] if self.constant >= 0 else np.zeros(len(mean))

    def prior(self, backend: Backend) -> SidePrior:
        """K, with the features' weights as nodes; its log-determinant is left out."""
        bare = graph_prior(self.precision, 0.0, backend)
        if self.features is None:
            return bare
        return with_features(bare, feature_map(self.features, backend), self.beta, integrate=False)

    def with_rows(self, factors: Factors) -> SidePosterior:
        """Other rows under the same λ, independent of each other."""
        lone = identity_precision(len(factors.mean))
        return SidePosterior(factors, lone, np.empty((0, 0)), self.lam, self.constant)

    def to_arrays(self, name: str) -> dict[str, NDArray[Any]]:
        """Arrays for a model file, their names headed by `name`."""
        L, F = self.precision, self.features
        arrays: dict[str, NDArray[Any]] = {
            "mean": self.factors.mean,
            "cov": self.factors.cov,
            "energy": self.factors.energy,
            "log_det": np.array([self.factors.log_det]),
            "data_precision": self.data_precision,
            "lam": self.lam,
            "constant": np.array([self.constant]),
            "indptr": L.indptr,
            "indices": L.indices,
            "prior": L.data,
            "diagonal": L.diagonal,
            "heads": L.heads,
            "tails": L.tails,
            "weights": L.weights,
            "ridge": np.array([L.ridge]),
        }
        if F is not None:
            arrays |= dict(zip(_FEATURES, (F.data, F.indices, F.indptr), strict=True))
            arrays |= {"features_shape": np.array(F.shape), "beta": np.array([self.beta])}
        return {f"{name}_{key}": array for key, array in arrays.items()}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], name: str, family: Family
    ) -> SidePosterior:
        """The inverse of `to_arrays`, for a posterior of that family."""

        def part(key: str) -> NDArray[Any]:
            return arrays[f"{name}_{key}"]

        L = Precision(
            part("indptr"),
            part("indices"),
            part("prior"),
            part("diagonal"),
            part("heads"),
            part("tails"),
            part("weights"),
            float(part("ridge")[0]),
        )
        cov = posterior_of(family).kind(part("cov"))
        factors = Factors(part("mean"), cov, float(part("log_det")[0]), part("energy"))
        side = cls(factors, L, part("data_precision"), part("lam"), int(part("constant")[0]))
        if f"{name}_beta" not in arrays:
            return side
        shape = tuple(int(length) for length in part("features_shape"))
        F = sp.csr_array(tuple(map(part, _FEATURES)), shape=shape)
        return replace(side, features=F, beta=float(part("beta")[0]))

    @classmethod
    def from_fit(
        cls,
        family: Family,
        fitted: FittedSide,
        factors: Factors,
        constant: int,
        backend: Backend | None,
    ) -> SidePosterior:
        """What a finished fit leaves of one side.

        Parameters
        ----------
        family : {"column", "row", "joint"}
        fitted : FittedSide
        factors : Factors
        constant : int
            Where the constant column goes; -1 without biases.
        backend : Backend, optional
            Where given, covariances that the fit estimated from few draws are computed again.
        """
        prior, lam = fitted.prior, fitted.lam
        kind = posterior_of(family)
        drawn = fitted.side.engine.name == "monte_carlo" and kind.uses_engine
        if backend is not None and drawn:
            tol = SOLVED if prior.features is None else SOLVED_TIED
            engine = MonteCarloEngine(backend, 0, DRAWS, tol=tol)
            cov = kind.sure_covariance(engine, prior, fitted.data_precision, lam)
            factors = replace(factors, covariance=kind.kind(host(cov)))
        if constant >= 0:
            lam = np.insert(lam, constant, HELD)
        expanded = replace(factors, mean=factors.rows, draws=None)
        if constant >= 0:
            expanded = with_constant(expanded, constant)
        F = prior.features
        return cls(
            expanded,
            prior.precision,
            fitted.data_precision,
            lam,
            constant,
            None if F is None else F.matrix,
            getattr(prior, "beta", 1.0),
        )


def bias_precision(side: SidePosterior) -> Gamma:
    """A Gamma that stands for q(λ) of a side's bias, its last free column, by its mean."""
    return Gamma(np.ones(1), 1.0 / side.lam[side.free[-1:]])
