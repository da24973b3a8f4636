"""The three shapes of q(U): what each keeps of the covariance.

=========  ==================  ==============================================
family     q(U)                kept
=========  ==================  ==============================================
column     Π_r q(u_r)          variances, (n, k); the paper's factorisation
row        Π_i q(u_i)          a k×k block for each row
joint      q(U)                the diagonal k×k blocks of the full covariance
=========  ==================  ==============================================
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ..backends import host
from ..backends.packed import pack, packed_diagonal, packed_rank, unpack
from ..linalg.dense import invert_blocks, invert_columns
from ..linalg.engines import VarianceEngine
from ..linalg.monte_carlo import MonteCarloEngine
from ..linalg.prior import SidePrior
from ..linalg.spread import Spread
from ..linalg.system import MeanSystem, mean_system
from .covariance import SLICE, Blocks, Covariance, Diagonal

Array = NDArray[np.float64]
Family = Literal["column", "row", "joint"]
FAMILIES: tuple[Family, ...] = get_args(Family)

# Unknowns of one dense inverse after a fit, a second of work.
EXACT_UNKNOWNS = 2000


class Kept(NamedTuple):
    """What a family keeps of a side's covariance.

    Attributes
    ----------
    covariance : Covariance
    spread : Spread
        What the engine told.
    log_det : float
        Of the posterior precision, all components together.
    component_log_det : ndarray of shape (k,)
        What each component takes along when it is dropped.
    energy : ndarray of shape (k, k)
        What the covariance adds to ⟨Uᵀ K U⟩.
    """

    covariance: Covariance
    spread: Spread
    log_det: float
    component_log_det: Array
    energy: Array


class Posterior:
    """A family at work.

    Attributes
    ----------
    kind : type
        Of its covariance.
    uses_engine : bool
        Whether variances, and so the bound, come from the engine; else the prior's alone do.
    ties_rows : bool
        Whether it keeps the correlation of rows with the weights of their features.
    takes_features, stores_moments : bool
        Whether it has room for features; whether second moments are stored while they are summed.
    """

    kind: type[Diagonal] | type[Blocks]
    uses_engine: bool
    ties_rows: bool
    takes_features, stores_moments = True, True

    def covariance(
        self, engine: VarianceEngine, system: MeanSystem, draws: Array | None = None
    ) -> Kept:
        """The optimal covariance of one side given its mean system."""
        raise NotImplementedError

    def data_precision(self, G: Array, tau: float) -> Array:
        """What the observations add to the prior precision, for the two below."""
        raise NotImplementedError

    def sure_covariance(
        self, engine: MonteCarloEngine, prior: SidePrior, data: Array, lam: Array
    ) -> Array:
        """The covariance once the fit has ended: exact where the side is small, else from draws."""
        raise NotImplementedError

    def draw(self, engine: MonteCarloEngine, prior: SidePrior, data: Array, lam: Array) -> Array:
        """Draws of all nodes less their means, (n_nodes, k, s)."""
        raise NotImplementedError


# Where Q Q⁻¹ = I is exact, the energy of a covariance follows from its diagonal blocks alone:
# Λ·energy = (n + p)·I − τ Σ_i G_i C_i.


class Column(Posterior):
    """Π_r q(u_r)."""

    kind = Diagonal
    uses_engine, ties_rows = True, False
    takes_features, stores_moments = False, False

    def covariance(
        self, engine: VarianceEngine, system: MeanSystem, draws: Array | None = None
    ) -> Kept:
        prior, lam = system.prior, system.lam
        D = self.data_precision(system.grams, system.tau)
        spread = engine.columns(prior, D, lam, draws)
        energy = np.diag((prior.n_nodes - np.einsum("ir,ir->r", D, spread.cov)) / lam)
        log_det = spread.log_det
        return Kept(Diagonal(spread.cov), spread, float(log_det.sum()), log_det, energy)

    def data_precision(self, G: Array, tau: float) -> Array:
        return tau * G[:, packed_diagonal(packed_rank(G.shape[1]))]

    def sure_covariance(
        self, engine: MonteCarloEngine, prior: SidePrior, data: Array, lam: Array
    ) -> Array:
        if prior.n_nodes <= EXACT_UNKNOWNS:
            return invert_columns(_dense(prior), data, lam).diagonal
        return engine.estimate_columns(prior, data, lam)

    def draw(self, engine: MonteCarloEngine, prior: SidePrior, data: Array, lam: Array) -> Array:
        return engine.draw_columns(prior, data, lam, independent=True)


class Row(Posterior):
    """Π_i q(u_i)."""

    kind = Blocks
    uses_engine, ties_rows = False, False

    def covariance(
        self, engine: VarianceEngine, system: MeanSystem, draws: Array | None = None
    ) -> Kept:
        prior, C = system.prior, system.inverse
        energy = unpack(prior.rows_diagonal @ C)
        # Where weights of features are nodes, each has the variance 1 / (K_ff λ_r).
        energy += np.diag(len(prior.node_diagonal) / system.lam)
        spread = Spread(C, np.asarray(system.log_det), None, None)
        return Kept(Blocks(C), spread, system.log_det, _conditionals(system), energy)

    def data_precision(self, G: Array, tau: float) -> Array:
        return np.empty((0, 0))


class Joint(Posterior):
    """q(U)."""

    kind = Blocks
    uses_engine, ties_rows = True, True

    def covariance(
        self, engine: VarianceEngine, system: MeanSystem, draws: Array | None = None
    ) -> Kept:
        prior, lam = system.prior, system.lam
        spread = engine.blocks(system, draws)
        free = prior.n_nodes * np.eye(len(lam)) - system.tau * product_sum(system.grams, spread.cov)
        energy = free / lam[:, None]
        log_det = float(spread.log_det)
        kept = Blocks(spread.cov)
        return Kept(kept, spread, log_det, _conditionals(system), (energy + energy.T) / 2)

    def data_precision(self, G: Array, tau: float) -> Array:
        return tau * G

    def sure_covariance(
        self, engine: MonteCarloEngine, prior: SidePrior, data: Array, lam: Array
    ) -> Array:
        if prior.n_nodes * len(lam) <= EXACT_UNKNOWNS:
            K = _dense(prior)
            return pack(invert_blocks(K, unpack(data), lam).diagonal)
        return engine.estimate_blocks(mean_system(data, 1.0, lam, prior))

    def draw(self, engine: MonteCarloEngine, prior: SidePrior, data: Array, lam: Array) -> Array:
        return engine.draw_blocks(mean_system(data, 1.0, lam, prior))


def posterior_of(family: Family) -> Posterior:
    """The family of a name."""
    made: dict[Family, Posterior] = {"column": Column(), "row": Row(), "joint": Joint()}
    return made[family]


def _conditionals(system: MeanSystem) -> Array:
    """Log-determinants of each component given the others, row by row, shape (k,)."""
    prior, lam = system.prior, system.lam
    return prior.backend.log_diagonals(system.blocks, len(lam)) + prior.node_logs(lam)


def product_sum(G: Array, C: Array) -> Array:
    """Σ_i G_i C_i for packed symmetric blocks (n, k(k+1)/2), shape (k, k)."""
    k = packed_rank(G.shape[1])
    out = np.zeros((k, k))
    step = max(1, SLICE // max(1, k * k))
    for start in range(0, len(G), step):
        rows = slice(start, start + step)
        out += np.einsum("irs,ist->rt", unpack(G[rows]), unpack(C[rows]), optimize=True)
    return out


def _dense(prior: SidePrior) -> Array:
    """K as a matrix of the host, shape (n_nodes, n_nodes); for small sides."""
    return host(prior.product(prior.backend.array(np.eye(prior.n_nodes))))
