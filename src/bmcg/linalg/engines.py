"""Four ways to the diagonal of an inverse, behind one door.

=============  ===========================================================================
dense          LAPACK; for small sides, and the truth in tests
banded         banded factors: chains and strips whose components stand alone
sparse         one symbolic analysis per graph, then a Cholesky factor and Takahashi's
               recursion: exact, and near to linear in n for grids and social graphs
monte_carlo    perturb and solve; for graphs whose factor would fill up, and for features
=============  ===========================================================================
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, host
from ..backends.packed import pack, packed_diagonal, unpack
from ..graphs.precision import Precision
from . import dense
from .banded import Bands, find_bands
from .dense import SelectedInverse
from .monte_carlo import MonteCarloEngine
from .prior import GraphPrior, SidePrior, graph_prior
from .sparse import selected_inverse
from .sparse.symbolic import Symbolic, analyse
from .spectrum import Spectrum, pays, spectrum_of
from .spread import Spread
from .system import MeanSystem

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
# Largest dense matrix of a side with features, whose weights are part of it: 800 MB.
DENSE_UNKNOWNS = 10_000
# Draws that the dense engine makes of a side with features, for the strengths to be learned from.
DENSE_DRAWS = 64


class VarianceEngine(Protocol):
    """Diagonals of inverses of τ·blockdiag(G) + K⊗Λ, whole or component by component.

    `draws` are those of the update before, from which an engine that draws may start.
    """

    name: str

    def prepare(self, precision: Precision) -> GraphPrior:
        """The prior with its log-determinant."""

    def prior_spread(self, prior: SidePrior) -> tuple[Array, Array]:
        """Variances under N(0, L⁻¹) of the nodes (n,) and of the edges' differences (n_edges,)."""

    def prior_traces(self, prior: SidePrior, weights: Array) -> tuple[Array, float]:
        """tr(L⁻¹L_g) of graphs of these weights (n_graphs, n_edges), and tr L⁻¹."""

    def columns(self, prior: SidePrior, D: Array, lam: Array, draws: Array | None = None) -> Spread:
        """diag (diag(D_r) + λ_r L)⁻¹ (n, k), its log-determinants (k,), the edges' spread."""

    def blocks(self, system: MeanSystem, draws: Array | None = None) -> Spread:
        """Diagonal blocks (n, k(k+1)/2) of the system's inverse, its log-determinant, edges."""


class ExactEngine:
    """What exact engines share: all but the inverses themselves."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def prior_spread(self, prior: SidePrior) -> tuple[Array, Array]:
        """From the inverse of L."""
        spread = self.columns(prior, np.zeros((prior.precision.n, 1)), np.ones(1))
        assert spread.nodes is not None
        assert spread.edges is not None
        return spread.nodes[:, 0], spread.edges[:, 0]

    def prior_traces(self, prior: SidePrior, weights: Array) -> tuple[Array, float]:
        """From the spread."""
        nodes, edges = self.prior_spread(prior)
        return weights @ edges, float(nodes.sum())

    def columns(self, prior: SidePrior, D: Array, lam: Array, draws: Array | None = None) -> Spread:
        """Of all components."""
        L = prior.precision
        found = self._columns(L, host(D), lam)
        own, cov = found.diagonal, self.backend.array(found.diagonal)
        return Spread(cov, np.asarray(found.logdet), own, _differences(L, own, found.between))

    def blocks(self, system: MeanSystem, draws: Array | None = None) -> Spread:
        """Of all rows together."""
        L = system.prior.precision
        found = self._blocks(L, unpack(host(system.data_blocks)), system.lam)
        cov = pack(found.diagonal)
        own = cov[:, packed_diagonal(len(system.lam))]
        edges = _differences(L, own, found.between)
        return Spread(self.backend.array(cov), np.asarray(found.logdet), own, edges)

    def _columns(self, L: Precision, D: Array, lam: Array) -> SelectedInverse:
        raise NotImplementedError

    def _blocks(self, L: Precision, B: Array, lam: Array) -> SelectedInverse:
        raise NotImplementedError


class DiagonalEngine(ExactEngine):
    """A side without edges: every block stands alone."""

    name = "diagonal"

    def prepare(self, precision: Precision) -> GraphPrior:
        """The prior with its log-determinant."""
        return graph_prior(precision, float(np.log(precision.diagonal).sum()), self.backend)

    def _columns(self, L: Precision, D: Array, lam: Array) -> SelectedInverse:
        pivot = D + L.diagonal[:, None] * lam
        return SelectedInverse(1.0 / pivot, np.log(pivot).sum(axis=0), np.empty((0, len(lam))))

    def blocks(self, system: MeanSystem, draws: Array | None = None) -> Spread:
        """The blocks' own inverses."""
        k = len(system.lam)
        own = system.inverse[:, packed_diagonal(k)]
        return Spread(system.inverse, np.asarray(system.log_det), own, np.empty((0, k)))


class DenseEngine(ExactEngine):
    """LAPACK on the whole matrix of a small side."""

    name = "dense"

    def __init__(self, backend: Backend, seed: int = 0) -> None:
        super().__init__(backend)
        self.seed = seed

    def prepare(self, precision: Precision) -> GraphPrior:
        """The prior with its log-determinant."""
        root = np.linalg.cholesky(precision.toarray())
        return graph_prior(precision, 2.0 * float(np.log(np.diag(root)).sum()), self.backend)

    def blocks(self, system: MeanSystem, draws: Array | None = None) -> Spread:
        """One inverse of size nk; with features, of size (n + p)k."""
        prior, lam = system.prior, system.lam
        if isinstance(prior, GraphPrior):
            return super().blocks(system)
        size = prior.n_nodes * len(lam)
        if size > DENSE_UNKNOWNS:
            raise ValueError(
                f'engine="dense" would invert a matrix of {size} unknowns, more than '
                f'{DENSE_UNKNOWNS}: use engine="auto" or lower rank'
            )
        noise = self.backend.random([self.seed, 1]).standard_normal((size, DENSE_DRAWS))
        on, B = self.backend.array, unpack(host(system.data_blocks))
        K = host(prior.product(on(np.eye(prior.n_nodes))))
        found = dense.invert_blocks(K, B, lam)
        z = dense.draw_joint(K, B, lam, host(noise))
        return Spread(on(pack(found.diagonal)), np.asarray(found.logdet), None, None, on(z))

    def _columns(self, L: Precision, D: Array, lam: Array) -> SelectedInverse:
        return dense.invert_columns(L.toarray(), D, lam, (L.heads, L.tails))

    def _blocks(self, L: Precision, B: Array, lam: Array) -> SelectedInverse:
        return dense.invert_blocks(L.toarray(), B, lam, (L.heads, L.tails))


class BandedEngine(ExactEngine):
    """Banded factors of chains and strips; for posteriors without blocks."""

    name = "banded"

    def __init__(self, bands: Bands, backend: Backend) -> None:
        super().__init__(backend)
        self.bands = bands

    def prepare(self, precision: Precision) -> GraphPrior:
        """The prior with its log-determinant."""
        found = self._columns(precision, np.zeros((precision.n, 1)), np.ones(1))
        return graph_prior(precision, float(np.sum(found.logdet)), self.backend)

    def _columns(self, L: Precision, D: Array, lam: Array) -> SelectedInverse:
        return self.bands.inverse(L, D, lam, self.backend.map)


class SparseEngine(ExactEngine):
    """Cholesky factor and Takahashi's recursion on a pattern analysed once.

    With a spectrum, what the prior alone tells of one graph comes from that.
    """

    name = "sparse"

    def __init__(
        self, symbolic: Symbolic, backend: Backend, spectrum: Spectrum | None = None
    ) -> None:
        super().__init__(backend)
        self.symbolic, self.spectrum = symbolic, spectrum

    def prepare(self, precision: Precision) -> GraphPrior:
        """The prior with its log-determinant."""
        values = None if self.spectrum is None else self.spectrum.of(precision)
        if values is not None:
            return graph_prior(precision, float(np.log(values).sum()), self.backend)
        log_det = selected_inverse.logdet_precision(self.symbolic, precision.data)
        return graph_prior(precision, log_det, self.backend)

    def prior_traces(self, prior: SidePrior, weights: Array) -> tuple[Array, float]:
        """Of one graph from its spectrum: tr(L⁻¹ wG) is what the ridge leaves of n."""
        L = prior.precision
        values = None if self.spectrum is None else self.spectrum.of(L)
        at = int(np.argmax(L.weights)) if L.has_edges else 0
        if values is None or len(weights) != 1 or not L.weights[at]:
            return super().prior_traces(prior, weights)
        nodes = float((1.0 / values).sum())
        graph = float(((values - L.ridge) / values).sum()) * weights[0, at] / L.weights[at]
        return np.array([graph]), nodes

    def _columns(self, L: Precision, D: Array, lam: Array) -> SelectedInverse:
        at, spread_out = edge_positions(L), self.backend.map
        return selected_inverse.inverse_columns(self.symbolic, L.data, D, lam, at, spread_out)

    def _blocks(self, L: Precision, B: Array, lam: Array) -> SelectedInverse:
        at = edge_positions(L)
        return selected_inverse.inverse_blocks(self.symbolic, L.data, B, lam, at)


class Analyses:
    """Analyses of the graphs of one fit and its trials: one for each, whoever asks."""

    def __init__(self) -> None:
        self._found: dict[Any, Symbolic | None] = {}
        self._spectra: dict[Any, Spectrum] = {}

    def of(self, precision: Precision, max_fill: int | None = None) -> Symbolic | None:
        """The analysis of a precision's pattern; None where its factor would hold more."""
        key = hash(precision.indptr.tobytes()), hash(precision.indices.tobytes())
        if key not in self._found or (self._found[key] is None and max_fill is None):
            self._found[key] = analyse(precision.indptr, precision.indices, max_fill)
        return self._found[key]

    def spectrum(self, precision: Precision, symbolic: Symbolic) -> Spectrum | None:
        """Of a graph whose factor takes long; None where it does not."""
        if not pays(precision.n, symbolic.flops):
            return None
        parts = precision.heads, precision.tails, precision.weights
        key = precision.n, *(hash(part.tobytes()) for part in parts)
        if key not in self._spectra:
            self._spectra[key] = spectrum_of(precision)
        return self._spectra[key]


def _differences(L: Precision, own: Array, between: Array) -> Array:
    """Variances of the differences over the edges, (n_edges, k)."""
    return own[L.heads] + own[L.tails] - 2 * between


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
    backend: Backend,
    seed: int,
    n_samples: int = 16,
    features: int = 0,
    learn: bool = False,
    analyses: Analyses | None = None,
) -> VarianceEngine:
    """The engine asked for, or the one that promises to be fastest.

    Parameters
    ----------
    name : {"auto", "dense", "sparse", "monte_carlo"}
    precision : Precision
    family : {"column", "row", "joint"}
        `row` needs the prior's log-determinant alone.
    rank : int
        Components expected, which weigh a factor of blocks against draws.
    backend : Backend
    seed : int
    n_samples : int
    features : int
        Entries of the side's features, whose joint variances need draws or a dense matrix; zero
        without.
    learn : bool
        Whether strengths are learned, which needs the prior's variances every sweep.
    analyses : Analyses, optional
        Those of the fit.
    """
    analyses = analyses or Analyses()
    tied = features > 0 and family != "row"
    if tied and name == "sparse":
        raise ValueError(
            'engine="sparse" cannot hold features, which tie all rows: use "auto", "dense" or '
            '"monte_carlo"'
        )
    exact = partial(_exact_engine, precision, rank, backend, n_samples, analyses, learn)
    if tied and name != "dense":
        # Features tie all rows: solves are long, and what is learned are sums over all nodes.
        draws = min(max(FEATURE_WORK // features, 2), FEATURE_DRAWS)
        return MonteCarloEngine(backend, seed, draws, tol=1e-2, n_probes=2, exact=exact("row"))
    if not precision.has_edges and not tied:
        return DiagonalEngine(backend)
    if name == "auto" and family != "joint" and precision.n > DENSE_NODES:
        bands = find_bands(precision)
        if bands is not None:
            return BandedEngine(bands, backend)
    if name == "dense" or (name == "auto" and _is_small(precision.n, family, rank, learn)):
        return DenseEngine(backend, seed)
    if name == "sparse":
        symbolic = analyses.of(precision)
        assert symbolic is not None
        return SparseEngine(symbolic, backend)
    engine = exact(family) if name == "auto" else None
    return engine or MonteCarloEngine(backend, seed, n_samples, exact=exact("row"))


def _is_small(n: int, family: str, rank: int, learn: bool) -> bool:
    if family == "joint":
        return n * rank <= DENSE_BLOCKS
    if family == "row" and not learn:
        return n <= DENSE_DETERMINANT
    return n <= DENSE_NODES


def _exact_engine(
    precision: Precision,
    rank: int,
    backend: Backend,
    n_samples: int,
    analyses: Analyses,
    learn: bool,
    family: str,
) -> VarianceEngine | None:
    if not precision.has_edges:
        return DiagonalEngine(backend)
    bands = None if family == "joint" else find_bands(precision)
    if bands is not None:
        return BandedEngine(bands, backend)
    symbolic = analyses.of(precision, MAX_FILL)
    if symbolic is None or not _exact_pays(symbolic, precision, family, rank, n_samples):
        return None
    spectrum = analyses.spectrum(precision, symbolic) if learn else None
    return SparseEngine(symbolic, backend, spectrum)


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
