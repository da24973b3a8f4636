"""The local term on the grid of all entries: smooth along both graphs at once.

S is Gaussian over the cells with precision K = aI + b (I ⊗ L_cols) + c (L_rows ⊗ I), L the sum of
a side's graphs. The eigenvalues of K are a + bλ_j + cμ_i, so that the prior's log-determinant and
its slopes are exact for any two graphs whose eigenvalues are known. Given the rest, the mean is
one solve by conjugate gradients; variances and the log-determinant come from the engines of
`linalg`, the cells being the nodes of one graph: banded or sparse factors where they are cheap,
draws elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvals_banded

from ..backends import Backend, SparseRows
from ..graphs.precision import GraphStack, Precision
from ..linalg.banded import Bands, find_bands
from ..linalg.cg import conjugate_gradient
from ..linalg.engines import VarianceEngine, choose_engine
from ..linalg.monte_carlo import MonteCarloEngine
from ..linalg.prior import GraphPrior, graph_prior
from .lines import Found

Array = NDArray[np.float64]

# Cells up to which a grid is kept: about 700 bytes each while it is solved, 1.4 GB.
MOST_CELLS = 1 << 21
# Ties between cells up to which it is: about 100 bytes each.
MOST_TIES = 1 << 23
# Nodes of a side whose graph is no line, for its eigenvalues; of one that is.
MOST_NODES, LONGEST = 4096, 16_384
# Draws of which variances are averaged, and the accuracy of their solves and of the mean's.
DRAWS, DRAW_TOL, MEAN_TOL = 8, 1e-4, 1e-8
MAX_STEPS = 2000


@dataclass(frozen=True, eq=False)
class Grid:
    """The cells of a matrix as nodes of one graph, tied along its rows and columns.

    Attributes
    ----------
    shape : (int, int)
        Of the matrix; cell (i, j) is node i·n + j.
    stack : GraphStack
        Two graphs over the cells: along the columns' graph, along that of the rows.
    spectra : (ndarray of shape (n,), ndarray of shape (m,))
        Eigenvalues λ of L_cols and μ of L_rows.
    bands : (Bands or None, Bands or None)
        Of the rows' graph and of the columns', where they run along lines.
    """

    shape: tuple[int, int]
    stack: GraphStack
    spectra: tuple[Array, Array]
    bands: tuple[Bands | None, Bands | None]
    _kept: dict[str, Any] = field(default_factory=dict, repr=False)

    along: Literal["both"] = "both"
    count: int = 1

    @property
    def diagonals(self) -> Array:
        """Mean diagonal of L_cols and of L_rows, shape (2,)."""
        found: Array = 2.0 * self.stack.weights.sum(axis=1) / self.stack.n
        return found

    def prior(self, scales: Array) -> tuple[float, Array]:
        """ln|K|, and how fast it grows with a, b and c."""
        across, down = self.spectra
        roots = scales[0] + scales[1] * across + scales[2] * down[:, None]
        inverse = 1.0 / roots
        slopes = inverse.sum(), (inverse @ across).sum(), (down @ inverse).sum()
        return float(np.log(roots).sum()), np.array(slopes)

    def precision(self, scales: Array) -> Precision:
        """K over the cells; its pattern is laid out once."""
        if "parts" not in self._kept:
            parts = [self.stack.precision(np.eye(2)[g], 0.0) for g in (0, 1)]
            whole = self.stack.precision(np.ones(2), 1.0)
            owners = np.repeat(np.arange(whole.n), np.diff(whole.indptr))
            self._kept["parts"] = whole, parts, np.flatnonzero(whole.indices == owners)
        whole, parts, own = self._kept["parts"]
        a, b = float(scales[0]), scales[1:]
        data = b[0] * parts[0].data + b[1] * parts[1].data
        data[own] += a
        weights = b @ self.stack.weights
        diagonal = data[own]
        return Precision(
            whole.indptr, whole.indices, data, diagonal, whole.heads, whole.tails, weights, a
        )

    def condition(
        self,
        scales: Array,
        entries: SparseRows,
        precisions: Array,
        targets: Array,
        backend: Backend,
        before: tuple[Array, Array | None],
    ) -> Found:
        """q(S): the mean of a solve, from the mean and draws `before`; the rest by an engine."""
        K, (m, n) = self.precision(scales), self.shape
        prior, engine = graph_prior(K, 0.0, backend), self._engine(K, backend)
        D, h = np.zeros(m * n), np.zeros(m * n)
        at = entries.owners * np.int64(n) + entries.indices
        D[at], h[at] = precisions, precisions * targets
        x = _solve(prior, D, h, before[0].ravel())
        spread = engine.columns(prior, D[:, None], np.ones(1), before[1])
        assert spread.edges is not None
        own, steps = spread.cov[:, 0], spread.edges[:, 0]
        steps = steps + (x[K.heads] - x[K.tails]) ** 2
        energies = np.append(float(own.sum() + x @ x), self.stack.weights @ steps)
        log_det = float(spread.log_det[0])
        parts = x.reshape(m, n), own.reshape(m, n), log_det, float(x @ h), energies
        return Found(*parts, spread.draws, engine.name == "monte_carlo")

    def _engine(self, K: Precision, backend: Backend) -> VarianceEngine:
        if self._kept.get("backend") is not backend:
            found = choose_engine("auto", K, "column", 1, backend, 0, DRAWS)
            if isinstance(found, MonteCarloEngine):
                found.tol = DRAW_TOL
            self._kept.update(backend=backend, engine=found)
        engine: VarianceEngine = self._kept["engine"]
        return engine


def grid_of(rows: GraphStack, cols: GraphStack, shape: tuple[int, int]) -> Grid:
    """The grid of two sides' graphs, each the sum of what its stack has."""
    m, n = shape
    if m * n > MOST_CELLS:
        raise ValueError(
            f"local='both' solves for every cell: {m} x {n} are more than {MOST_CELLS}; pass "
            "local='rows' or 'cols', which take more along chains, or local=None"
        )
    for stack, word in ((rows, "row"), (cols, "column")):
        if not len(stack.heads):
            raise ValueError(
                f"local='both' is smooth along both graphs: pass {word[:3]}_graph as well, or "
                f"local={'cols' if word == 'row' else 'rows'!r}"
            )
    if ties(rows, cols) > MOST_TIES:
        raise ValueError(
            f"local='both' ties cells along both graphs: {ties(rows, cols)} ties are more than "
            f"{MOST_TIES}; pass graphs of fewer edges, such as those of nearest neighbours, or "
            "local=None"
        )
    bands = _bands_of(rows), _bands_of(cols)
    spectra = _spectrum(cols, bands[1], "column"), _spectrum(rows, bands[0], "row")
    return Grid(shape, _product(rows, cols), spectra, bands)


def ties(rows: GraphStack, cols: GraphStack) -> int:
    """Edges between cells."""
    return rows.n * len(cols.heads) + cols.n * len(rows.heads)


def _product(rows: GraphStack, cols: GraphStack) -> GraphStack:
    """The cells, tied along the columns' graph within each row, and the other way round."""
    m, n = rows.n, cols.n
    i, j = np.arange(m, dtype=np.int64)[:, None] * n, np.arange(n, dtype=np.int64)
    heads = np.concatenate(
        ((i + cols.heads).ravel(), (rows.heads[:, None] * np.int64(n) + j).ravel())
    )
    tails = np.concatenate(
        ((i + cols.tails).ravel(), (rows.tails[:, None] * np.int64(n) + j).ravel())
    )
    weights = np.zeros((2, len(heads)))
    split = m * len(cols.heads)
    weights[0, :split] = np.tile(cols.weights.sum(axis=0), m)
    weights[1, split:] = np.repeat(rows.weights.sum(axis=0), n)
    names = "columns", "rows"
    return GraphStack(m * n, heads.astype(np.int32), tails.astype(np.int32), weights, names)


def _bands_of(stack: GraphStack) -> Bands | None:
    return find_bands(_summed(stack))


def _summed(stack: GraphStack) -> Precision:
    return stack.precision(np.ones(len(stack.weights)), 0.0)


def _spectrum(stack: GraphStack, bands: Bands | None, word: str) -> Array:
    """Eigenvalues of the sum of a side's graphs, (n,), none below zero."""
    limit = MOST_NODES if bands is None else LONGEST
    if stack.n > limit:
        raise ValueError(
            f"local='both' needs the eigenvalues of the {word} graph, which has {stack.n} nodes: "
            f"at most {limit}, or {LONGEST} along a line; pass local=None, or a smaller table"
        )
    L = _summed(stack)
    if bands is None:
        return np.maximum(np.linalg.eigvalsh(L.toarray()), 0.0)
    band = np.zeros((bands.width + 1, stack.n))
    band[0] = L.diagonal[bands.order]
    np.subtract.at(band, (bands.lag, bands.lower - bands.lag), L.weights)
    return np.maximum(eigvals_banded(band, lower=True), 0.0)


def _solve(prior: GraphPrior, D: Array, h: Array, start: Array) -> Array:
    pivot = D + prior.rows_diagonal

    def apply(x: Array) -> Array:
        return pivot * x + prior.neighbours(x[:, None])[:, 0]

    found = conjugate_gradient(
        apply,
        h,
        start=start,
        precondition=lambda r: r / pivot,
        residual_tol=MEAN_TOL,
        max_steps=MAX_STEPS,
    )
    return found.told("the mean of the local term", "its scales make an ill-conditioned grid").x
