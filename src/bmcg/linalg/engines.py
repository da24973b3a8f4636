"""Three ways to the diagonal of an inverse, behind one door.

=============  ===========================================================================
dense          LAPACK; for small sides, and the truth in tests
sparse         one symbolic analysis per graph, then a Cholesky factor and Takahashi's
               recursion: exact, and linear in n for chains, grids and social graphs
monte_carlo    perturb and solve; for graphs whose factor would fill up
=============  ===========================================================================
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..graphs.precision import Precision
from ..kernels.reference import pack, unpack
from ..kernels.threads import Workers
from . import dense, selected_inverse
from .monte_carlo import MonteCarloEngine
from .symbolic import Symbolic, analyse
from .system import MeanSystem, SidePrior, off_diagonal

Array = NDArray[np.float64]
EngineName = Literal["auto", "dense", "sparse", "monte_carlo"]
ENGINES: tuple[EngineName, ...] = ("auto", "dense", "sparse", "monte_carlo")

# Entries of a factor that one lane may hold: 8 columns of doubles are factored together.
MAX_FILL = 20_000_000
DENSE_NODES = 150


class VarianceEngine(Protocol):
    """Diagonals of inverses of τ·blockdiag(G) + L⊗Λ, whole or column by column."""

    name: str

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with its log-determinant."""

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> tuple[Array, Array]:
        """diag (diag(D_r) + λ_r L)⁻¹, (n, k), and the log-determinants (k,)."""

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> tuple[Array, float]:
        """Diagonal blocks (n, k(k+1)/2) of the system's inverse and its log-determinant.

        B (n, k(k+1)/2) is the system's block diagonal without the prior, τG.
        """


class DiagonalEngine:
    """A side without edges: every block stands alone."""

    name = "diagonal"

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with its log-determinant."""
        return SidePrior(precision, None, float(np.log(precision.diagonal).sum()))

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> tuple[Array, Array]:
        """Reciprocals of the diagonal."""
        pivot = D + prior.precision.diagonal[:, None] * lam
        return 1.0 / pivot, np.log(pivot).sum(axis=0)

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> tuple[Array, float]:
        """The blocks' own inverses."""
        return system.inverse, system.log_det


class DenseEngine:
    """LAPACK on the whole matrix of a small side."""

    name = "dense"

    def __init__(self, pool: Workers) -> None:
        self.pool = pool

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with its log-determinant."""
        found = dense.dense_columns(
            precision, precision.data, np.zeros((precision.n, 1)), np.ones(1)
        )
        return SidePrior(precision, off_diagonal(precision, self.pool), float(found.logdet[0]))  # type: ignore[index]

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> tuple[Array, Array]:
        """One inverse for each column."""
        found = dense.dense_columns(prior.precision, prior.precision.data, D, lam)
        return found.diagonal, np.asarray(found.logdet)

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> tuple[Array, float]:
        """One inverse of size nk."""
        found = dense.dense_blocks(prior.precision, prior.precision.data, unpack(B), system.lam)
        return pack(found.diagonal), float(found.logdet)


class SparseEngine:
    """Cholesky factor and Takahashi's recursion on a pattern analysed once."""

    name = "sparse"

    def __init__(self, symbolic: Symbolic, pool: Workers) -> None:
        self.symbolic, self.pool = symbolic, pool

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with its log-determinant."""
        log_det = selected_inverse.logdet_precision(self.symbolic, precision.data)
        return SidePrior(precision, off_diagonal(precision, self.pool), log_det)

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> tuple[Array, Array]:
        """All columns, eight factors at a time."""
        found = selected_inverse.inverse_columns(
            self.symbolic, prior.precision.data, D, lam, map_batches=self.pool.map
        )
        return found.diagonal, np.asarray(found.logdet)

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> tuple[Array, float]:
        """One factor of k×k blocks."""
        found = selected_inverse.inverse_blocks(
            self.symbolic, prior.precision.data, unpack(B), system.lam
        )
        return pack(found.diagonal), float(found.logdet)


def choose_engine(
    name: EngineName,
    precision: Precision,
    family: str,
    rank: int,
    pool: Workers,
    seed: int,
    n_samples: int = 16,
) -> VarianceEngine:
    """The engine asked for, or the one that promises to be fastest.

    Parameters
    ----------
    name : {"auto", "dense", "sparse", "monte_carlo"}
    precision : Precision
    family : {"column", "row", "joint"}
        `row` needs the prior's log-determinant alone.
    rank : int
        Columns expected, which weigh a factor of blocks against draws.
    """
    if not precision.has_edges:
        return DiagonalEngine()
    if name == "dense" or (name == "auto" and precision.n * rank <= DENSE_NODES):
        return DenseEngine(pool)
    draws = MonteCarloEngine(pool, seed, n_samples)
    if name == "monte_carlo":
        return draws
    limit = None if name == "sparse" else MAX_FILL
    symbolic = analyse(precision.indptr, precision.indices, limit)
    if symbolic is not None and (
        name == "sparse" or _exact_pays(symbolic, precision, family, rank, n_samples)
    ):
        return SparseEngine(symbolic, pool)
    return draws


def _exact_pays(
    symbolic: Symbolic, precision: Precision, family: str, rank: int, n_samples: int
) -> bool:
    """Compare operations: a factor's run near the machine's rate, a draw's solves do not."""
    if family == "row":
        return symbolic.flops < 2e11
    if family == "joint":
        exact = symbolic.flops * rank**3
        draws = n_samples * 60.0 * (precision.n * rank**2 + len(precision.data) * rank)
        memory = 8.0 * symbolic.panel_size * rank**2
    else:
        exact = symbolic.flops * rank
        draws = n_samples * 60.0 * (precision.n + len(precision.data)) * rank
        memory = 64.0 * symbolic.panel_size
    # Exact variances are worth more than their time; a factor must also fit.
    return exact < 5.0 * draws and memory < 4e9
