"""Three ways to the diagonal of an inverse, behind one door.

=============  ===========================================================================
dense          LAPACK; for small sides, and the truth in tests
sparse         one symbolic analysis per graph, then a Cholesky factor and Takahashi's
               recursion: exact, and linear in n for chains, grids and social graphs
monte_carlo    perturb and solve; for graphs whose factor would fill up, and for features
=============  ===========================================================================
"""

from __future__ import annotations

from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..graphs.precision import Precision
from ..kernels.reference import pack, packed_diagonal, unpack
from ..kernels.threads import Workers
from . import dense, selected_inverse
from .dense import SelectedInverse
from .monte_carlo import MonteCarloEngine
from .spread import Spread
from .symbolic import Symbolic, analyse
from .system import MeanSystem, SidePrior, off_diagonal

Array = NDArray[np.float64]
EngineName = Literal["auto", "dense", "sparse", "monte_carlo"]
ENGINES: tuple[EngineName, ...] = ("auto", "dense", "sparse", "monte_carlo")

# Entries of a factor that one lane may hold: 8 columns of doubles are factored together.
MAX_FILL = 20_000_000
# Largest dense matrix that LAPACK inverts in a blink; the sparse engine would have to be
# compiled first. The `row` family needs one determinant alone, hence the larger limit.
DENSE_NODES = 256
DENSE_BLOCKS = 600
DENSE_DETERMINANT = 3000
# Draws of a side with features: at most so many, fewer where the features have more entries than
# can be gone through that often. Larger sides have more data and more nodes to average over.
FEATURE_DRAWS = 8
FEATURE_WORK = 800_000


class VarianceEngine(Protocol):
    """Diagonals of inverses of τ·blockdiag(G) + K⊗Λ, whole or column by column."""

    name: str

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with its log-determinant."""

    def prior_spread(self, prior: SidePrior) -> tuple[Array, Array]:
        """Variances under N(0, L⁻¹) of the nodes (n,) and of the edges' differences (n_edges,)."""

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> Spread:
        """diag (diag(D_r) + λ_r L)⁻¹ (n, k), its log-determinants (k,), the edges' spread."""

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> Spread:
        """Diagonal blocks (n, k(k+1)/2) of the system's inverse, its log-determinant, edges.

        B (n, k(k+1)/2) is the system's block diagonal without the prior, τG.
        """


class DiagonalEngine:
    """A side without edges: every block stands alone."""

    name = "diagonal"

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with its log-determinant."""
        return SidePrior(precision, None, float(np.log(precision.diagonal).sum()))

    def prior_spread(self, prior: SidePrior) -> tuple[Array, Array]:
        """Reciprocals of the diagonal; no edges."""
        return 1.0 / prior.precision.diagonal, np.empty(0)

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> Spread:
        """Reciprocals of the diagonal."""
        pivot = D + prior.precision.diagonal[:, None] * lam
        none = np.empty((0, len(lam)))
        return Spread(1.0 / pivot, np.log(pivot).sum(axis=0), 1.0 / pivot, none)

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> Spread:
        """The blocks' own inverses."""
        k = len(system.lam)
        own = system.inverse[:, packed_diagonal(k)]
        return Spread(system.inverse, np.asarray(system.log_det), own, np.empty((0, k)))


class DenseEngine:
    """LAPACK on the whole matrix of a small side."""

    name = "dense"

    def __init__(self, pool: Workers) -> None:
        self.pool = pool

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with its log-determinant."""
        root = np.linalg.cholesky(precision.toarray())
        log_det = 2.0 * float(np.log(np.diag(root)).sum())
        return SidePrior(precision, off_diagonal(precision, self.pool), log_det)

    def prior_spread(self, prior: SidePrior) -> tuple[Array, Array]:
        """From the inverse of L."""
        return _first_column(prior.precision, self._columns(prior.precision))

    def _columns(self, L: Precision) -> SelectedInverse:
        return dense.dense_columns(L, L.data, np.zeros((L.n, 1)), np.ones(1), edges=True)

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> Spread:
        """One inverse for each column."""
        L = prior.precision
        return _spread(L, dense.dense_columns(L, L.data, D, lam, edges=True))

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> Spread:
        """One inverse of size nk."""
        L = prior.precision
        return _spread(L, dense.dense_blocks(L, L.data, unpack(B), system.lam, edges=True))


class SparseEngine:
    """Cholesky factor and Takahashi's recursion on a pattern analysed once."""

    name = "sparse"

    def __init__(self, symbolic: Symbolic, pool: Workers) -> None:
        self.symbolic, self.pool = symbolic, pool

    def prepare(self, precision: Precision) -> SidePrior:
        """The prior with its log-determinant."""
        log_det = selected_inverse.logdet_precision(self.symbolic, precision.data)
        return SidePrior(precision, off_diagonal(precision, self.pool), log_det)

    def prior_spread(self, prior: SidePrior) -> tuple[Array, Array]:
        """From the selected inverse of L."""
        L = prior.precision
        found = selected_inverse.inverse_columns(
            self.symbolic, L.data, np.zeros((L.n, 1)), np.ones(1), edges=True
        )
        return _first_column(L, found)

    def columns(self, prior: SidePrior, D: Array, lam: Array) -> Spread:
        """All columns, eight factors at a time."""
        L = prior.precision
        found = selected_inverse.inverse_columns(
            self.symbolic, L.data, D, lam, edges=True, map_batches=self.pool.map
        )
        return _spread(L, found)

    def blocks(self, prior: SidePrior, system: MeanSystem, B: Array) -> Spread:
        """One factor of k×k blocks."""
        L = prior.precision
        found = selected_inverse.inverse_blocks(
            self.symbolic, L.data, unpack(B), system.lam, edges=True
        )
        return _spread(L, found)


def _spread(L: Precision, found: SelectedInverse) -> Spread:
    assert found.edges is not None
    blocks = found.diagonal.ndim == 3
    cov = pack(found.diagonal) if blocks else found.diagonal
    own = cov[:, packed_diagonal(found.diagonal.shape[1])] if blocks else cov
    between = found.edges[edge_positions(L)]
    edges = own[L.heads] + own[L.tails] - 2 * between
    return Spread(cov, np.asarray(found.logdet), own, edges)


def _first_column(L: Precision, found: SelectedInverse) -> tuple[Array, Array]:
    spread = _spread(L, found)
    assert spread.edges is not None
    return spread.cov[:, 0], spread.edges[:, 0]


def edge_positions(L: Precision) -> NDArray[np.int64]:
    """Place of each edge (head, tail) among the compressed rows of L, shape (n_edges,)."""
    rows = np.repeat(np.arange(L.n, dtype=np.int64), np.diff(L.indptr))
    key = rows * L.n + L.indices
    return np.searchsorted(key, L.heads.astype(np.int64) * L.n + L.tails)


def choose_engine(
    name: EngineName,
    precision: Precision,
    family: str,
    rank: int,
    pool: Workers,
    seed: int,
    n_samples: int = 16,
    features: int = 0,
    learn: bool = False,
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
    features : int
        Entries of the side's features, whose joint variances need draws; zero without.
    learn : bool
        Whether strengths are learned, which needs the prior's variances every sweep.
    """
    if features and family != "row":
        exact = _exact_engine(precision, "row", rank, pool, n_samples, MAX_FILL)
        # Features tie all rows: solves are long, and what is learned are sums over all nodes.
        draws = min(max(FEATURE_WORK // features, 2), FEATURE_DRAWS)
        return MonteCarloEngine(pool, seed, draws, tol=1e-2, n_probes=2, exact=exact)
    if not precision.has_edges:
        return DiagonalEngine()
    if name == "dense" or (name == "auto" and _is_small(precision.n, family, rank, learn)):
        return DenseEngine(pool)
    if name == "sparse":
        return _sparse(precision, pool)
    if name == "auto":
        engine = _exact_engine(precision, family, rank, pool, n_samples, MAX_FILL)
        if engine is not None:
            return engine
    exact = _exact_engine(precision, "row", rank, pool, n_samples, MAX_FILL)
    return MonteCarloEngine(pool, seed, n_samples, exact=exact)


def _is_small(n: int, family: str, rank: int, learn: bool) -> bool:
    if family == "joint":
        return n * rank <= DENSE_BLOCKS
    if family == "row" and not learn:
        return n <= DENSE_DETERMINANT
    return n <= DENSE_NODES


def _sparse(precision: Precision, pool: Workers) -> SparseEngine:
    symbolic = analyse(precision.indptr, precision.indices)
    assert symbolic is not None
    return SparseEngine(symbolic, pool)


def _exact_engine(
    precision: Precision,
    family: str,
    rank: int,
    pool: Workers,
    n_samples: int,
    max_fill: int | None,
) -> VarianceEngine | None:
    if not precision.has_edges:
        return DiagonalEngine()
    symbolic = analyse(precision.indptr, precision.indices, max_fill)
    if symbolic is None or not _exact_pays(symbolic, precision, family, rank, n_samples):
        return None
    return SparseEngine(symbolic, pool)


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
