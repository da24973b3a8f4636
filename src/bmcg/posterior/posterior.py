"""What was learned: predictions, their spread, draws, and arrays for a model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ..backends import Backend, SparseRows
from ..inference.draws import Draws as KeptDraws
from ..inference.families import Family
from ..inference.fit import Fit, Start
from ..inference.foldin import fold_in_rows, row_evidence
from ..inference.pruning import select
from ..inference.state import Factors, Gamma, State
from ..likelihoods import Gaussian, Likelihood, Noise, Own, likelihood_of
from ..likelihoods.base import Places
from ..likelihoods.exposed import turned
from ..likelihoods.outcomes import Distribution
from ..likelihoods.predictive import Limits, Predictive
from ..observations import View
from .blocks import mean_products, variance_products
from .kept import DRAWS, parts_of, read_draws
from .local import LocalTerm, refuse_local
from .newcomers import expected, of_any
from .side import SidePosterior, bias_precision
from .units import Units

Array = NDArray[np.float64]
Index = NDArray[np.intp]

# Numbers gathered at once for pairs of rows and columns, 32 MiB.
BATCH = 1 << 22


@dataclass(frozen=True)
class Posterior:
    """The fitted model, in the data's units once multiplied by `scale`.

    Attributes
    ----------
    family : {"column", "row", "joint"}
    rows, cols : SidePosterior
    lam : Gamma, shape (k,)
    tau : Gamma
    scale : float
        Root mean square of the data less its offset.
    offset : float
        What every prediction starts from: the data's mean where the model has biases.
    limits : (float, float)
        Range of a value; `Predictive` says what it does to the Gaussian.
    draws : KeptDraws or None
        Of a chain. Predictions are averages over them; the rest, which new rows are folded into,
        has their moments as a posterior of the `row` family.
    ignorance : float
        Deviation that every entry has besides: of values that were all equal, nothing is known
        about how far others may lie from them.
    units : Units or None
        Where columns have a unit each: predictions are in those, and all above, the noise and the
        limits too, are in the one unit of the fit.
    likelihood : Likelihood
    own : mapping of str to ndarray
        What it has learned besides τ.
    local : LocalTerm or None
    """

    family: Family
    rows: SidePosterior
    cols: SidePosterior
    lam: Gamma
    tau: Gamma
    scale: float
    offset: float = 0.0
    limits: tuple[float, float] = (-np.inf, np.inf)
    draws: KeptDraws | None = None
    ignorance: float = 0.0
    units: Units | None = None
    likelihood: Likelihood = field(default_factory=Gaussian)
    own: Own = field(default_factory=dict)
    local: LocalTerm | None = None

    @property
    def noise(self) -> Noise:
        """What the likelihood has learned of itself, in the units of the fit."""
        if self.draws is not None and self.likelihood.is_plain:
            # Predictions average over draws: the mean of 1 / τ, not 1 / ⟨τ⟩.
            mean = np.asarray(np.mean(1.0 / self.draws.tau))
            return Noise(Gamma(np.asarray(1.0), mean))
        return Noise(self.tau, self.own)

    @property
    def noise_variance(self) -> float:
        """1 / ⟨τ⟩, or the mean of 1 / τ over draws, in the fit's unit, squared."""
        return self.scale**2 / float(self.noise.tau.mean)

    def predictive(self, rows: Index, cols: Index, include_noise: bool = True) -> Distribution:
        """Distributions of new observations at paired positions, or of the entries themselves."""
        mean, variance = self.moments(rows, cols)
        ask = self.likelihood.observed if include_noise else self.likelihood.entry
        found = ask(mean, variance, self.noise, self.places(rows, cols))
        if isinstance(found, Predictive):
            return replace(found, limits=self.limits_at(cols))
        return found

    def moments(self, rows: Index, cols: Index) -> tuple[Array, Array]:
        """Mean and variance of entries at paired positions, in units of the fit, (n_pairs,)."""
        if self.draws is not None:
            mean, variance = self.draws.moments(rows, cols)
            return mean, variance + (self.ignorance / self.scale) ** 2
        variance = np.empty(len(rows))
        for at in _batches(len(rows), 2 * self.rows.factors.cov.shape[1]):
            variance[at] = self._spread(rows[at], cols[at])
        return self._products(rows, cols), variance + (self.ignorance / self.scale) ** 2

    def places(self, rows: Index, cols: Index) -> Places:
        """Paired positions, with what values are there in units of the fit."""
        if self.units is None:
            return Places(rows, cols, self.offset, self.scale)
        offset = self.units.values(np.full(len(cols), self.offset), cols)
        scale = self.units.deviations(np.full(len(cols), self.scale), cols)
        return Places(rows, cols, offset, scale)

    def limits_at(self, cols: Index) -> Limits:
        """Range of a value in some columns, in the units of the predictions."""
        if self.units is None:
            return self.limits
        low, high = (self.units.values(np.full(len(cols), end), cols) for end in self.limits)
        return low, high

    def mean(self, rows: Index, cols: Index, include_noise: bool = True) -> Array:
        """Predictions at paired positions, shape (n_pairs,): ⟨u_i·v_j⟩, within the limits."""
        if self._is_linear:
            return self._in_units(self._products(rows, cols), cols)
        return self.predictive(rows, cols, include_noise).mean

    @property
    def _is_linear(self) -> bool:
        """Whether what is expected is u·v in other units."""
        return self.likelihood.is_linear and not np.isfinite(self.limits).any()

    def _products(self, rows: Index, cols: Index) -> Array:
        """⟨u_i·v_j⟩ at paired positions, shape (n_pairs,)."""
        if self.draws is not None:
            return self.draws.moments(rows, cols)[0]
        U, V = self.rows.factors.mean, self.cols.factors.mean
        out = np.empty(len(rows))
        for at in _batches(len(rows), U.shape[1]):
            out[at] = np.einsum("pr,pr->p", U[rows[at]], V[cols[at]])
        return out if self.local is None else out + self.local.mean[rows, cols]

    def _in_units(self, products: Array, cols: Index) -> Array:
        """Values that follow from u·v in some columns, (..., n_entries)."""
        values = self.scale * products + self.offset
        return values if self.units is None else self.units.values(values, cols)

    def variance(self, rows: Index, cols: Index, include_noise: bool = True) -> Array:
        """Var(u_i·v_j), with the noise of a new observation or without, shape (n_pairs,)."""
        return self.predictive(rows, cols, include_noise).variance

    def interval(
        self, rows: Index, cols: Index, level: float, include_noise: bool
    ) -> tuple[Array, Array]:
        """Central intervals of the given probability, within the limits."""
        return self.predictive(rows, cols, include_noise).interval(level)

    def _spread(self, rows: Index, cols: Index) -> Array:
        """ūᵀC_v ū + v̄ᵀC_u v̄ + tr(C_u C_v)."""
        if self.draws is not None:
            return self.draws.moments(rows, cols)[1]
        u, v = self.rows.factors, self.cols.factors
        left, _ = u.covariance.factors_of_variance(u.mean, rows)
        _, right = v.covariance.factors_of_variance(v.mean, cols)
        out = np.einsum("pr,pr->p", left, right)
        return out if self.local is None else out + self.local.variance[rows, cols]

    @property
    def _learned(self) -> tuple[Factors, Factors, KeptDraws | None, LocalTerm | None]:
        """What products of rows and columns follow from."""
        return self.rows.factors, self.cols.factors, self.draws, self.local

    def mean_block(self, rows: Index, cols: Index) -> Array:
        """Means of all pairs of some rows and some columns, shape (n_rows, n_cols).

        Before the limits: of many entries at a limit these still tell which is best.
        """
        y = mean_products(*self._learned, rows, cols)
        if self.likelihood.is_linear:
            return self._in_units(y, cols)
        variance = variance_products(*self._learned, rows, cols)
        i, j = (part.ravel() for part in np.meshgrid(rows, cols, indexing="ij"))
        found = self.likelihood.observed(y.ravel(), variance.ravel(), self.noise, self.places(i, j))
        return found.mean.reshape(y.shape)

    def variance_block(self, rows: Index, cols: Index, include_noise: bool = False) -> Array:
        """Variances of all pairs of some rows and some columns, shape (n_rows, n_cols)."""
        y = variance_products(*self._learned, rows, cols) + (self.ignorance / self.scale) ** 2
        if self.likelihood.is_plain:
            y += include_noise / float(self.noise.tau.mean)
            return y * np.asarray(self.places(rows, cols).scale) ** 2
        mean = mean_products(*self._learned, rows, cols).ravel()
        i, j = (part.ravel() for part in np.meshgrid(rows, cols, indexing="ij"))
        ask = self.likelihood.observed if include_noise else self.likelihood.entry
        found = ask(mean, y.ravel(), self.noise, self.places(i, j))
        return found.variance.reshape(y.shape)

    def matrix(self) -> Array:
        """Every entry's mean, shape (m, n)."""
        m, n = len(self.rows.factors.mean), len(self.cols.factors.mean)
        rows, cols = np.arange(m), np.arange(n)
        if not np.isfinite(self.limits).any():
            out = np.empty((m, n))
            for at in _batches(m, n):
                out[at] = self.mean_block(rows[at], cols)
            return out
        limits, out = self.limits_at(cols), self.mean_block(rows, cols)
        for at in _batches(m, n):
            spread = np.sqrt(self.variance_block(rows[at], cols, True))
            out[at] = Predictive(out[at], spread, limits).mean
        return out

    def fold_in(
        self,
        new: View,
        backend: Backend,
        links: sp.csr_array | None = None,
        features: sp.csr_array | None = None,
    ) -> Factors:
        """Factors of rows that were not part of the fit, given the learned columns.

        Parameters
        ----------
        new : View
            Their observed entries, n of them, in the data's units.
        backend : Backend
        links : csr_array of shape (n, m), optional
            Weights of their edges to the fitted rows.
        features : csr_array of shape (n, p), optional
            Theirs, coded as those of the fitted rows.

        Returns
        -------
        Factors
            Of n rows, in the units of `rows`.
        """
        refuse_local(self.local, "new rows cannot be placed")
        side = self._rows_on(new, backend)
        prior, pull = expected(self.rows, side.n, links, features)
        noise = self.likelihood.newcomers(Noise(self.tau, self.own), side.n)
        return fold_in_rows(side, self.cols.factors, self.likelihood, noise, prior, pull)

    def _rows_on(self, new: View, backend: Backend) -> SparseRows:
        """New rows in the units of the fit."""
        values = new.values
        if self.units is not None:
            values = self.units.fitted(values, new.indices)
        values = (values - self.offset) / self.scale
        return SparseRows(new.indptr, new.indices, values, backend)

    def evidence(self, new: View, backend: Backend) -> Array:
        """Log density of each new row's entries under the model, shape (n,)."""
        if not self.likelihood.is_plain:
            raise ValueError(
                "the evidence of new rows is known for Gaussian noise of one size only"
            )
        refuse_local(self.local, "new rows have no evidence")
        side = self._rows_on(new, backend)
        prior, pull = (part[self.rows.free] for part in of_any(self.rows))
        biased, tau = self.rows.constant >= 0, float(self.tau.mean)
        found = row_evidence(side, self.cols.factors, tau, prior, pull, biased)
        found -= side.counts * np.log(self.scale)
        return found if self.units is None else found - self.units.log_scales(*new[:2])

    def with_rows(self, factors: Factors) -> Posterior:
        """The same columns with other rows, which are independent given the columns."""
        noise = self.likelihood.newcomers(Noise(self.tau, self.own), len(factors.mean))
        return replace(self, rows=self.rows.with_rows(factors), draws=None, own=noise.own)

    def unsure(self, size: float) -> Posterior:
        """The same, not knowing how far entries and observations lie from what was seen."""
        noise = Gamma(np.asarray(1.0), np.asarray((size / self.scale) ** 2))
        return replace(self, tau=noise, ignorance=size, draws=None)

    def transposed(self) -> Posterior:
        """Rows and columns in each other's place, so that columns can be added."""
        self.check_one_unit("new columns have no unit")
        if (draws := self.draws) is not None:
            draws = KeptDraws(draws.cols, draws.rows, draws.tau, turned(draws.own))
        refuse_local(self.local, "rows and columns cannot change places")
        other = replace(self, rows=self.cols, cols=self.rows, draws=draws, own=turned(self.own))
        return replace(other, likelihood=self.likelihood.transposed())

    def check_one_unit(self, why: str) -> None:
        """Raise where columns have units of their own, which what is asked has no place for."""
        if self.units is not None:
            raise ValueError(
                f"{why}: columns of this model have units of their own, found in the table that it "
                "was fitted on; fit the whole table again"
            )

    def start(self) -> Start:
        """Where a fit that goes on begins: constant columns are not part of its state."""
        refuse_local(self.local, "a fit cannot go on")
        sides = [select(side.factors, side.mask) for side in (self.rows, self.cols)]
        state = State(sides[0], sides[1], self.lam, self.tau, np.nan, own=self.own)
        if self.rows.constant >= 0:
            biases = [bias_precision(side) for side in (self.rows, self.cols)]
            state = replace(state, row_bias=biases[0], col_bias=biases[1])
        return Start(state, self.offset, self.scale)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Arrays for a model file."""
        arrays: dict[str, NDArray[Any]] = {
            "lam_shape": self.lam.shape,
            "lam_rate": self.lam.rate,
            "tau": np.array([self.tau.shape, self.tau.rate]),
            "scale": np.array([self.scale, self.offset, *self.limits, self.ignorance]),
            "family": np.frombuffer(self.family.encode(), dtype=np.uint8),
        }
        if self.draws is not None:
            arrays |= {f"draws_{name}": getattr(self.draws, name) for name in DRAWS}
            arrays |= {f"draws_own_{name}": part for name, part in self.draws.own.items()}
        if self.units is not None:
            arrays |= self.units.to_arrays()
        if self.local is not None:
            arrays |= {"local_mean": self.local.mean, "local_variance": self.local.variance}
        arrays |= {f"own_{name}": part for name, part in self.own.items()}
        arrays["likelihood"] = np.frombuffer(self.likelihood.title.encode(), dtype=np.uint8)
        return arrays | self.rows.to_arrays("row") | self.cols.to_arrays("col")

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The inverse of `to_arrays`."""
        family: Any = bytes(arrays["family"]).decode()
        sides = [SidePosterior.from_arrays(arrays, name, family) for name in ("row", "col")]
        shape, rate = arrays["tau"]
        return cls(
            family,
            sides[0],
            sides[1],
            Gamma(arrays["lam_shape"], arrays["lam_rate"]),
            Gamma(np.asarray(shape), np.asarray(rate)),
            float(arrays["scale"][0]),
            float(arrays["scale"][1]),
            (float(arrays["scale"][2]), float(arrays["scale"][3])),
            read_draws(arrays),
            float(arrays["scale"][4]) if len(arrays["scale"]) > 4 else 0.0,
            Units.from_arrays(arrays),
            likelihood_of(bytes(arrays.get("likelihood", b"gaussian")).decode()),
            parts_of(arrays, "own_"),
            LocalTerm.from_arrays(arrays),
        )

    @classmethod
    def from_fit(
        cls,
        fit: Fit,
        family: Family,
        limits: tuple[float, float] = (-np.inf, np.inf),
        backend: Backend | None = None,
    ) -> Self:
        """What a finished fit leaves behind.

        With a back end, covariances that the fit estimated from few draws are computed again.
        """
        state, constants = fit.state, (-1, -1)
        if state.biased:
            constants = state.rank + 1, state.rank
        with threadpool_limits(1):
            sides = [
                SidePosterior.from_fit(family, fitted, factors, constant, backend)
                for fitted, factors, constant in zip(
                    (fit.rows, fit.cols), (state.rows, state.cols), constants, strict=True
                )
            ]
        return cls(
            family,
            sides[0],
            sides[1],
            state.lam,
            state.tau,
            fit.scale,
            fit.offset,
            limits,
            fit.draws,
            likelihood=fit.likelihood,
            own=state.own,
            local=None
            if state.local is None
            else LocalTerm(state.local.mean, state.local.variance),
        )


def _batches(n: int, width: int) -> list[slice]:
    step = max(1, BATCH // max(width, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
