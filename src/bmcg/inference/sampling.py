"""One draw of each unknown of the model given all the others; together they are a Gibbs sweep.

The factors of a side given the rest are Gaussian with precision Q = τ·blockdiag(G_i) + K⊗Λ: the
system that the variational means solve, at the other side's draw instead of its moments. Without
ties between rows each row is drawn from its own block. With them the right-hand side is perturbed
by N(0, Q) and the system solved from where the chain stands. λ and τ are Gamma. A likelihood that
is not Gaussian is augmented by a draw that makes it so. Strengths of graphs, ridge and features
take Metropolis steps in their logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from ..backends.base import Random, host
from ..backends.packed import contiguous, pack, packed_rank
from ..likelihoods import Drawn, Likelihood, Match, Own, Weighting
from ..linalg.cg import Solution, conjugate_gradient
from ..linalg.factored import factored_draw
from ..linalg.prior import NodesPrior
from ..linalg.system import mean_system
from .design import all_squares, less_bias, own_rows, partner_rows
from .side import Prior, Side, Strengths
from .strengths import shares

Array = NDArray[np.float64]

# Relative residual at which a perturbed solve ends: its error is as small beside the noise.
RESIDUAL = 1e-3
MAX_STEPS = 300
# A standard normal number costs as much as so many products.
NORMAL = 20
# A priori the logarithms of strengths are N(0, SPAN²): known to within their units, no more.
SPAN = 5.0
SMALLEST = 1e-10
# Cells up to which weights of single entries cost no more than those of their lines.
FEW_CELLS = 1 << 16


@dataclass(frozen=True)
class Point:
    """All unknowns at one place of a chain.

    Attributes
    ----------
    rows, cols : ndarray of shape (n_nodes, K)
        Factors, with the weights of features below them and the bias as last component.
    lam : ndarray of shape (k,)
        Precisions of the shared components.
    biases : ndarray of shape (2,) or (0,)
        Precisions of the rows' and of the columns' biases.
    tau : float
    squared_error : float
        Of these factors.
    own : mapping of str to ndarray
        What the likelihood has drawn besides τ.
    density : float
        ln p of the values in the units of the fit.
    spread : float
        How far values lie from their entries, or, where they have no such noise, the entries from
        zero: what tells whether a chain has settled.
    steps, unsolved : int
        Steps of conjugate gradients in the sweep that led here, and solves that ran out of them.
    """

    rows: Array
    cols: Array
    lam: Array
    biases: Array
    tau: float
    squared_error: float
    own: Own = field(default_factory=dict)
    density: float = np.nan
    spread: float = np.nan
    steps: int = 0
    unsolved: int = 0

    @property
    def noise(self) -> Drawn:
        """All that the likelihood has drawn of itself."""
        return Drawn(self.tau, self.own)

    @property
    def biased(self) -> bool:
        """Whether the model has biases."""
        return len(self.biases) > 0

    def side_lam(self, which: int) -> Array:
        """Precisions of every component of the rows (0) or columns (1), shape (K,)."""
        return np.append(self.lam, self.biases[which : which + 1])


Sides = tuple[Side, Side]


def sweep(sides: Sides, prior: Prior, point: Point, rng: Random, tol: float = RESIDUAL) -> Point:
    """What the likelihood augments, U, V, λ, and what the likelihood has of its own, each once."""
    likelihood = prior.likelihood
    # What the last sweep ended with; only what is asked about single entries needs more.
    before = Match(sides[0].entries, point.squared_error)
    if not likelihood.is_plain:
        before = match_of(likelihood, sides, point)
    seen = likelihood.draw_weighting(point.noise, before, rng)
    rows = draw_factors(sides, 0, point, seen, rng, tol)
    point = replace(point, rows=rows.x)
    cols = draw_factors(sides, 1, point, seen, rng, tol)
    unsolved = (not rows.converged) + (not cols.converged)
    point = replace(point, cols=cols.x, steps=rows.steps + cols.steps, unsolved=unsolved)
    point = draw_precisions(sides, prior, point, rng)
    match = match_of(likelihood, sides, point, seen)
    noise = likelihood.draw(point.noise, match, seen, rng)
    return replace(
        point,
        tau=noise.tau,
        own=noise.own,
        squared_error=match.squared_error,
        density=likelihood.log_density(noise, match),
        spread=likelihood.spread(noise, match),
    )


def match_of(
    likelihood: Likelihood, sides: Sides, point: Point, seen: Weighting | None = None
) -> Match:
    """How a point matches the observed entries, weighted as they were seen."""
    rows, at = sides[0].entries, ends(sides, point)
    if likelihood.is_plain:
        return Match(rows, np.nan if seen is None else squared_error(sides, point, seen))

    def moments() -> tuple[Array, Array]:
        y = rows.backend.entry_products(rows, *at)
        return y, np.zeros_like(y)

    return Match(rows, moments=moments)


def squared_error(sides: Sides, point: Point, seen: Weighting) -> float:
    """‖Ω∘(M − UVᵀ)‖², entries weighted, zeros included."""
    (entries, weights), at = sides[0].seen(seen), ends(sides, point)
    found = entries.backend.squared_error(entries, *at, weights)
    return found + (seen.zeros * all_squares(*at) if seen.zeros else 0.0)


def draw_factors(
    sides: Sides, which: int, point: Point, seen: Weighting, rng: Random, tol: float
) -> Solution:
    """A side given the other one: N(Q⁻¹ τh, Q⁻¹), shape (n_nodes, K), and how the solve ended."""
    side, n, lam = sides[which], sides[which].entries.n, point.side_lam(which)
    own, other = (point.rows, point.cols) if which == 0 else (point.cols, point.rows)
    other = other[: sides[1 - which].entries.n]
    prior, backend, tau = side.prior, side.backend, seen.tau
    if prior.is_diagonal:
        x = _draw_untied(side, other, point.biased, seen, lam, rng.standard_normal((n, len(lam))))
        return Solution(x, 0, 0.0, 0.0, True)
    G, h = _sums(side, other, point.biased, seen)
    system = mean_system(G, tau, lam, prior)
    exact = factored_draw(system, tau * h, rng.standard_normal((n, len(lam))))
    if exact is not None:
        return Solution(exact, 1, 0.0, 0.0, True)
    rhs = np.sqrt(lam) * prior.noise(rng, len(lam))
    rhs[:n] += tau * h
    rhs[:n] += _data_noise(side, G, partner_rows(other, point.biased), seen, rng)
    return conjugate_gradient(
        system.apply,
        rhs,
        backend=backend,
        start=own,
        precondition=system.precondition,
        remainder=system.remainder,
        residual_tol=tol,
        max_steps=MAX_STEPS,
    )


def _data_noise(side: Side, G: Array, partner: Array, seen: Weighting, rng: Random) -> Array:
    """N(0, τG_i) of every row, (n, K): by noise of each entry, or by a root of each block.

    √τ Σ_j √w_ij ε_ij f_j, where that is less work than all roots.
    """
    n, k = side.entries.n, packed_rank(G.shape[1])
    entries, weights = side.seen(seen)
    work = 2 * len(entries.values) * (k + NORMAL)
    if seen.zeros or not isinstance(G, np.ndarray) or work > n * k**3 // 6:
        root = side.backend.cholesky_blocks(seen.tau * G)
        z = rng.standard_normal((n, k, 1))
        return side.backend.lower_products(root, z)[:, :, 0]
    noise = rng.standard_normal(len(entries.values)) * np.sqrt(seen.tau)
    if weights is not None:
        noise *= np.sqrt(weights)
    free = contiguous(partner[:, :k])
    return side.backend.weighted_sums(entries, free, noise)


def _draw_untied(
    side: Side, other: Array, biased: bool, seen: Weighting, lam: Array, z: Array
) -> Array:
    tau, own = seen.tau, side.prior.rows_diagonal
    if seen.zeros:
        return side.backend.draw_posterior(*_sums(side, other, biased, seen), tau, own, lam, z)
    entries, weights = side.seen(seen)
    mine, others = _lines(side, seen)
    if mine is not None and others is None:
        # With P_i = w_i P'_i the draw is that of P'_i, whose sums have no weights, from z_i/√w_i.
        own, z, weights = own / mine, z / np.sqrt(mine)[:, None], None
    elif others is not None and side.entries.n * len(other) > FEW_CELLS:
        return side.backend.draw_posterior(*_sums(side, other, biased, seen), tau, own, lam, z)
    return side.backend.draw_untied(entries, contiguous(other), biased, tau, own, lam, z, weights)


def _lines(side: Side, seen: Weighting) -> tuple[Array | None, Array | None]:
    """Weights of a side's own lines, and of those that they meet."""
    rows, cols = seen.lines
    return (rows, cols) if side.order is None else (cols, rows)


def _line_sums(side: Side, other: Array, biased: bool, seen: Weighting) -> tuple[Array, Array]:
    """`_sums` under weights of lines: their roots go to the factors, and no entry has a weight."""
    (mine, others), (entries, _) = _lines(side, seen), side.seen(seen)
    partner = partner_rows(other, biased)
    if others is not None:
        root = np.sqrt(others)
        partner = partner * root[:, None]
        entries = replace(entries, values=entries.values * root[entries.indices])
    G, h = side.backend.gram_and_sums(entries, contiguous(partner))
    if mine is not None:
        G *= mine[:, None]
        h *= mine[:, None]
    if biased:
        G, h, _ = less_bias(G, h, 0.0)
    return G, h


def _sums(side: Side, other: Array, biased: bool, seen: Weighting) -> tuple[Array, Array]:
    """Gram matrices and targets of the rows' unknowns, packed (n, K(K+1)/2) and (n, K)."""
    if not seen.zeros and any(line is not None for line in seen.lines):
        return _line_sums(side, other, biased, seen)
    entries, weights = side.seen(seen)
    if not seen.zeros:
        sums = side.backend.biased_sums if biased else side.backend.gram_and_sums
        return sums(entries, contiguous(other), weights)
    partner = partner_rows(other, biased)
    G, h = side.backend.gram_and_sums(entries, partner, weights)
    G += seen.zeros * pack((partner.T @ partner)[None])[0]
    if biased:
        G, h, _ = less_bias(G, h, 0.0)
    return G, h


def draw_precisions(sides: Sides, prior: Prior, point: Point, rng: Random) -> Point:
    """λ given the factors: Gamma, as in equations (40) and (41); each bias has its own."""
    k, nodes = len(point.lam), (len(point.rows), len(point.cols))
    energies = [
        np.einsum("ir,ir->r", X, side.prior.product(X))
        for side, X in zip(sides, (point.rows, point.cols), strict=True)
    ]
    energy = (energies[0][:k] + energies[1][:k]) / 2
    if prior.pooled and k:
        # One draw for all: the terms of the components add up.
        one = rng.standard_gamma(prior.c0 + k * sum(nodes) / 2) / (prior.d0 + float(energy.sum()))
        lam = np.full(k, one)
    else:
        lam = rng.standard_gamma(np.full(k, prior.c0 + sum(nodes) / 2)) / (prior.d0 + energy)
    if not point.biased:
        return replace(point, lam=lam)
    shapes = prior.c0 + np.asarray(nodes) / 2
    rates = prior.d0 + np.array([energies[0][k], energies[1][k]]) / 2
    return replace(point, lam=lam, biases=rng.standard_gamma(shapes) / rates)


def ends(sides: Sides, point: Point) -> tuple[Array, Array]:
    """What multiplies at an entry: U and V, or (U, b, 1) and (V, 1, c); (m, w) and (n, w)."""
    U, V = point.rows[: sides[0].entries.n], point.cols[: sides[1].entries.n]
    return own_rows(U, point.biased), partner_rows(V, point.biased)


def energies(side: Side, X: Array, lam: Array) -> tuple[Array, float, float]:
    """Σ_r λ_r pᵀL_g p of every graph, of the ridge, and Σ_r λ_r ‖b‖² of the features' weights."""
    stack = side.stack
    assert stack is not None
    P, B = X[: stack.n], X[stack.n :]
    if side.features is not None:
        P = P - side.features.forward(contiguous(B))
    steps = (P[stack.heads] - P[stack.tails]) ** 2 @ lam
    return stack.weights @ host(steps), float((P**2 @ lam).sum()), float((B**2 @ lam).sum())


def log_density(side: Side, parts: tuple[Array, float, float], k: int) -> float:
    """ln p(X, strengths | λ) as far as it depends on the strengths."""
    s = side.strengths
    quadratic = float(s.graphs @ parts[0]) + s.ridge * parts[1] + s.beta * parts[2]
    logs = np.log(np.append(s.graphs, (s.ridge, s.beta)))
    return 0.5 * (k * side.prior.log_det - quadratic) - 0.5 * float(logs @ logs) / SPAN**2


def draw_strengths(side: Side, X: Array, lam: Array, steps: Array, rng: Random) -> Side:
    """The side after a Metropolis step of all its strengths together.

    Every proposal costs the log-determinant of the prior, which has to be exact.
    """
    parts = energies(side, X, lam)
    jump = np.exp(steps * rng.standard_normal(len(steps)))
    old = side.strengths
    graphs, ridge, beta = old.graphs * jump[:-2], old.ridge * jump[-2], old.beta * jump[-1]
    proposed = moved(side, Strengths(graphs, float(ridge), float(beta)))
    gain = log_density(proposed, parts, len(lam)) - log_density(side, parts, len(lam))
    return proposed if np.log(rng.random(())) < gain else side


def step_sizes(side: Side, k: int) -> Array:
    """How far `draw_strengths` jumps: graphs, ridge, features, shape (n_graphs + 2,).

    2.4/√d standard deviations. The logarithm of a strength that determines a share s of a
    prior of n nodes has about the information ½kns²; what is not there is left as it is.
    """
    assert side.stack is not None
    graphs, ridge = shares(side)
    p = 0 if side.features is None else side.features.p
    degrees = np.append(side.stack.n * np.append(graphs, ridge) ** 2, p)
    there = np.append(side.stack.weights.any(axis=1), (True, p > 0))
    information = 0.5 * k * degrees + 1.0 / SPAN**2
    return np.where(there, 2.4 / np.sqrt(max(there.sum(), 1) * information), 0.0)


def moved(side: Side, strengths: Strengths) -> Side:
    """The side at other strengths, with the preconditioner of its features as it was.

    Only a solve's length depends on that, and it costs many products to make.
    """
    old = side.prior
    if not isinstance(old, NodesPrior):
        return side.at(strengths)
    assert side.stack is not None
    graph = side.engine.prepare(side.stack.precision(strengths.graphs, strengths.ridge))
    log_det = graph.log_det + old.features.p * float(np.log(strengths.beta))
    prior = replace(old, graph=graph, beta=strengths.beta, log_det=log_det)
    return replace(side, prior=prior, strengths=strengths)


def fit_strengths(side: Side, X: Array, lam: Array, damping: float = 0.5) -> Side:
    """Strengths moved towards those that a draw agrees with, while a chain still travels.

    The fixed point of w_g = k tr(L⁻¹L_g) / E_g, half the way in the logarithms.
    """
    stack, old, k = side.stack, side.strengths, len(lam)
    assert stack is not None
    parts = energies(side, X, lam)
    edges, nodes = side.engine.prior_traces(side.prior, stack.weights)
    tiny = np.finfo(float).tiny
    graphs = old.graphs * (k * edges / np.maximum(parts[0], tiny)) ** damping
    ridge = old.ridge * (k * nodes / max(parts[1], tiny)) ** damping
    beta = old.beta
    if side.features is not None:
        beta *= (k * side.features.p / max(parts[2], tiny) / beta) ** damping
    return side.at(Strengths(np.maximum(graphs, SMALLEST), max(ridge, SMALLEST), float(beta)))
