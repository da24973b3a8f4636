"""How far to trust each graph, the ridge and the features: learned from the evidence.

The prior precision of a side is L = Σ_g w_g L_g + ε I (and β for features). Given q, the bound
depends on the strengths through

    (k/2) log|L| − ½ (Σ_g w_g E_g + ε E_0),      E_g = Σ_r λ_r ⟨p_rᵀ L_g p_r⟩,

which is concave. The multiplicative step w_g ← w_g · k tr(L⁻¹L_g) / E_g maximises a minorant
of it (Jensen's inequality for the log-determinant), so the bound never falls, strengths stay
positive, and a graph that does not help shrinks towards nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends import host
from ..backends.packed import contiguous
from ..linalg.prior import GraphPrior
from .side import Side, Strengths
from .updates import FactorUpdate

Array = NDArray[np.float64]

# The minorant's step is safe but short: a longer one is tried first and kept if it gains.
STRETCH = 4.0
LARGEST_STEP = 6.0
SMALLEST = 1e-10
# Draws of a side with features; sums over all rows and columns need few.
DRAWS = 4


def learn_strengths(side: Side, update: FactorUpdate, lam: Array) -> Side:
    """The side at strengths raised to what its posterior says.

    Parameters
    ----------
    side : Side
    update : FactorUpdate
        The side's latest.
    lam : ndarray of shape (k,)
        ⟨λ⟩ of the side's components.
    """
    energies = part_energies(side, update, lam)
    now = _value(side, energies, lam)
    safe = _minorant_step(side, energies, len(lam))
    for strengths in (_extrapolated(side.strengths, safe), safe):
        candidate = side.at(strengths)
        if _value(candidate, energies, lam) >= now:
            return candidate
    # Neither gains: an estimate from draws may disagree in its last digits.
    return side


class Energies(NamedTuple):
    """What q says of the parts of a side's prior.

    Attributes
    ----------
    graphs : ndarray of shape (n_graphs,)
        E_g.
    ridge : float
        E_0.
    features : float
        Σ_r λ_r ⟨‖b_r‖²⟩.
    draws : tuple of ndarray of shape (n_nodes, k)
        Draws of the side where it has features.
    """

    graphs: Array
    ridge: float
    features: float
    draws: tuple[Array, ...]


def _minorant_step(side: Side, energies: Energies, k: int) -> Strengths:
    assert side.stack is not None
    old = side.strengths
    edges, nodes = side.engine.prior_traces(side.prior, side.stack.weights)
    graphs = old.graphs * k * edges / energies.graphs
    ridge = old.ridge * k * nodes / energies.ridge
    beta = old.beta
    if side.features is not None:
        beta = k * side.features.p / energies.features
    return Strengths(np.maximum(graphs, SMALLEST), max(ridge, SMALLEST), beta)


def _extrapolated(old: Strengths, new: Strengths) -> Strengths:
    """A step `STRETCH` times as long in the logarithms, each at most by `LARGEST_STEP`."""

    def far(a: Any, b: Any) -> Any:
        return np.maximum(
            a * np.clip((b / a) ** STRETCH, 1.0 / LARGEST_STEP, LARGEST_STEP), SMALLEST
        )

    return Strengths(
        far(old.graphs, new.graphs),
        float(far(old.ridge, new.ridge)),
        float(far(old.beta, new.beta)),
    )


def _value(side: Side, energies: Energies, lam: Array) -> float:
    """The part of the bound that depends on the strengths."""
    prior, strengths = side.prior, side.strengths
    if side.features is None:
        quadratic = strengths.graphs @ energies.graphs + strengths.ridge * energies.ridge
    else:
        quadratic = np.mean(
            [np.einsum("ir,ir,r->", U, prior.product(U), lam) for U in energies.draws]
        )
    return 0.5 * (len(lam) * prior.log_det - float(quadratic))


def part_energies(side: Side, update: FactorUpdate, lam: Array) -> Energies:
    """E_g of every graph, of the ridge, and of the features' weights."""
    stack, U = side.stack, update.factors.mean
    assert stack is not None
    if side.features is not None:
        return _drawn_energies(side, update, lam)
    between, nodes = update.spread.edges, update.spread.nodes
    if nodes is None:
        nodes = update.factors.variances
    if between is None:
        between = nodes[stack.heads] + nodes[stack.tails]
    steps = (U[stack.heads] - U[stack.tails]) ** 2 + between
    ridge = float(((U**2 + nodes) @ lam).sum())
    return Energies(_positive(stack.weights @ host(steps @ lam)), ridge, 0.0, ())


def _drawn_energies(side: Side, update: FactorUpdate, lam: Array) -> Energies:
    """The same with features: U from q, B given U, P = U − FB, averaged over draws."""
    stack, prior = side.stack, side.prior
    assert stack is not None
    assert not isinstance(prior, GraphPrior)
    parts, draws = [], []
    for U, noise in _draws(side, update, lam):
        B = prior.feature_weights(U, noise)
        P = U[: stack.n] - prior.features.forward(contiguous(B))
        graphs = stack.weights @ host(((P[stack.heads] - P[stack.tails]) ** 2) @ lam)
        parts.append((graphs, float(((P**2) @ lam).sum()), float(((B**2) @ lam).sum())))
        draws.append(U)
    graphs, ridge, weights = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
    return Energies(_positive(graphs), float(ridge), float(weights), tuple(draws))


def _draws(side: Side, update: FactorUpdate, lam: Array) -> Iterator[tuple[Array, Array]]:
    """Draws of a side's nodes from q, with the noise of B given U; the same noise every time."""
    assert side.features is not None
    rng, backend = side.backend.random([0]), side.backend
    factors, n, k = update.factors, side.entries.n, len(lam)
    mean, drawn = factors.mean, factors.draws
    root = factors.covariance.root(backend) if drawn is None else None
    count = DRAWS if drawn is None else drawn.shape[2]
    # Draws by solves are kept few; those of a dense factor cost nothing.
    for d in range(min(DRAWS, count) if update.spread.solution is not None else count):
        U = mean.copy()
        if drawn is not None:
            U += drawn[:, :, d]
        elif root is not None:
            U[:n] += root(rng.standard_normal((n, k, 1)))[:, :, 0]
            scale = np.sqrt(side.prior.node_diagonal[:, None] * lam)
            U[n:] += rng.standard_normal((len(U) - n, k)) / scale
        yield U, rng.standard_normal((side.features.p, k)) / np.sqrt(lam)


def _positive(energies: Array) -> Array:
    return np.maximum(energies, np.finfo(float).tiny)


def shares(side: Side) -> tuple[Array, float]:
    """Share of the prior's degrees of freedom that each graph, and the ridge, determines.

    They sum to one; a graph with a share near zero is not used.
    """
    stack, strengths = side.stack, side.strengths
    assert stack is not None
    edges, nodes = side.engine.prior_traces(side.prior, stack.weights)
    return strengths.graphs * edges / stack.n, strengths.ridge * nodes / stack.n
