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

from typing import Literal, NamedTuple, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from ..backends.packed import packed_diagonal, packed_rank, unpack
from ..linalg.engines import VarianceEngine
from ..linalg.spread import Spread
from ..linalg.system import MeanSystem
from .covariance import SLICE, Blocks, Covariance, Diagonal

Array = NDArray[np.float64]
Family = Literal["column", "row", "joint"]
FAMILIES: tuple[Family, ...] = get_args(Family)


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


class Posterior(Protocol):
    """A family at work."""

    @property
    def kind(self) -> type[Diagonal] | type[Blocks]:
        """The kind of its covariance."""

    @property
    def uses_engine(self) -> bool:
        """Whether variances, and so the bound, come from the engine; else the prior's alone do."""

    @property
    def ties_rows(self) -> bool:
        """Whether it keeps the correlation of rows with the weights of their features."""

    def covariance(
        self,
        engine: VarianceEngine,
        system: MeanSystem,
        G: Array,
        tau: float,
        draws: Array | None = None,
    ) -> Kept:
        """The optimal covariance of one side given its mean system."""

    def data_precision(self, G: Array, tau: float) -> Array:
        """What draws from q need besides the prior: see `Fit`."""


# Where Q Q⁻¹ = I is exact, the energy of a covariance follows from its diagonal blocks alone:
# Λ·energy = (n + p)·I − τ Σ_i G_i C_i.


class Column:
    """Π_r q(u_r)."""

    kind = Diagonal
    uses_engine, ties_rows = True, False

    def covariance(
        self,
        engine: VarianceEngine,
        system: MeanSystem,
        G: Array,
        tau: float,
        draws: Array | None = None,
    ) -> Kept:
        prior, lam, D = system.prior, system.lam, self.data_precision(G, tau)
        spread = engine.columns(prior, D, lam, draws)
        energy = np.diag((prior.n_nodes - np.einsum("ir,ir->r", D, spread.cov)) / lam)
        log_det = spread.log_det
        return Kept(Diagonal(spread.cov), spread, float(log_det.sum()), log_det, energy)

    def data_precision(self, G: Array, tau: float) -> Array:
        return tau * G[:, packed_diagonal(packed_rank(G.shape[1]))]


class Row:
    """Π_i q(u_i)."""

    kind = Blocks
    uses_engine, ties_rows = False, False

    def covariance(
        self,
        engine: VarianceEngine,
        system: MeanSystem,
        G: Array,
        tau: float,
        draws: Array | None = None,
    ) -> Kept:
        prior, C = system.prior, system.inverse
        energy = unpack(prior.rows_diagonal @ C)
        # Where weights of features are nodes, each has the variance 1 / (K_ff λ_r).
        energy += np.diag(len(prior.node_diagonal) / system.lam)
        spread = Spread(C, np.asarray(system.log_det), None, None)
        return Kept(Blocks(C), spread, system.log_det, _conditionals(system), energy)

    def data_precision(self, G: Array, tau: float) -> Array:
        return np.empty((0, 0))


class Joint:
    """q(U)."""

    kind = Blocks
    uses_engine, ties_rows = True, True

    def covariance(
        self,
        engine: VarianceEngine,
        system: MeanSystem,
        G: Array,
        tau: float,
        draws: Array | None = None,
    ) -> Kept:
        prior, lam = system.prior, system.lam
        spread = engine.blocks(prior, system, tau * G, draws)
        free = prior.n_nodes * np.eye(len(lam)) - tau * product_sum(G, spread.cov)
        energy = free / lam[:, None]
        log_det = float(spread.log_det)
        kept = Blocks(spread.cov)
        return Kept(kept, spread, log_det, _conditionals(system), (energy + energy.T) / 2)

    def data_precision(self, G: Array, tau: float) -> Array:
        return tau * G


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
