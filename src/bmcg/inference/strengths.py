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
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graphs.precision import GraphStack
from ..kernels import passes
from ..kernels.reference import packed_diagonal
from ..linalg.engines import VarianceEngine
from ..linalg.system import FeatureMap, SidePrior, with_features
from .updates import FactorUpdate, Half

Array = NDArray[np.float64]

# The minorant's step is safe but short: a longer one is tried first and kept if it gains.
BOLD = 4.0
LEAP = 6.0
SMALLEST = 1e-10
# Draws of a side with features; sums over all rows and columns need few.
DRAWS = 4


@dataclass(frozen=True)
class Strengths:
    """The learned scale of every part of a side's prior.

    Attributes
    ----------
    graphs : ndarray of shape (n_graphs,)
    ridge : float
    beta : float
        Precision of the features' weights, in units of λ; large means unused.
    """

    graphs: Array
    ridge: float
    beta: float


@dataclass(frozen=True)
class SideModel:
    """The parts a side's prior is made of, with the engine that works on their union.

    Attributes
    ----------
    stack : GraphStack
    features : FeatureMap or None
    engine : VarianceEngine
    integrate : bool
        Whether the features' weights are integrated out where they are few; a `joint` posterior
        keeps their correlation with the factors and has them as nodes, which is far cheaper.
    """

    stack: GraphStack
    features: FeatureMap | None
    engine: VarianceEngine
    integrate: bool = True

    def prior(self, strengths: Strengths) -> SidePrior:
        """The prior precision at these strengths."""
        bare = self.engine.prepare(self.stack.precision(strengths.graphs, strengths.ridge))
        if self.features is None:
            return bare
        return with_features(bare, self.features, strengths.beta, self.integrate)


def learn_strengths(
    model: SideModel, strengths: Strengths, half: Half, update: FactorUpdate, lam: Array
) -> tuple[Strengths, Half]:
    """Strengths raised to what the posterior of one side says, and the side with them.

    Parameters
    ----------
    model : SideModel
    strengths : Strengths
    half : Half
    update : FactorUpdate
        The side's latest.
    lam : ndarray of shape (k,)
        ⟨λ⟩ of the side's columns.
    """
    energies = part_energies(model, half, update, lam)
    now = _value(model, half.prior, strengths, energies, lam)
    safe = _minorant_step(model, strengths, half.prior, energies, len(lam))
    for candidate in (_extrapolated(strengths, safe), safe):
        prior = model.prior(candidate)
        if _value(model, prior, candidate, energies, lam) >= now:
            return candidate, replace(half, prior=prior)
    # Neither gains: an estimate from draws may disagree in its last digits.
    return strengths, half


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


def _minorant_step(
    model: SideModel, old: Strengths, prior: SidePrior, energies: Energies, k: int
) -> Strengths:
    nodes, edges = model.engine.prior_spread(prior)
    graphs = old.graphs * k * (model.stack.weights @ edges) / energies.graphs
    ridge = old.ridge * k * float(nodes.sum()) / energies.ridge
    beta = old.beta
    if model.features is not None:
        beta = k * model.features.p / energies.features
    return Strengths(np.maximum(graphs, SMALLEST), max(ridge, SMALLEST), beta)


def _extrapolated(old: Strengths, new: Strengths) -> Strengths:
    """A step `BOLD` times as long in the logarithms, at most a factor `LEAP` each."""

    def far(a: Any, b: Any) -> Any:
        return np.maximum(a * np.clip((b / a) ** BOLD, 1.0 / LEAP, LEAP), SMALLEST)

    return Strengths(
        far(old.graphs, new.graphs),
        float(far(old.ridge, new.ridge)),
        float(far(old.beta, new.beta)),
    )


def _value(
    model: SideModel, prior: SidePrior, strengths: Strengths, energies: Energies, lam: Array
) -> float:
    """The part of the bound that depends on the strengths."""
    if model.features is None:
        quadratic = strengths.graphs @ energies.graphs + strengths.ridge * energies.ridge
    else:
        quadratic = np.mean(
            [np.einsum("ir,ir,r->", U, prior.product(U), lam) for U in energies.draws]
        )
    return 0.5 * (len(lam) * prior.log_det - float(quadratic))


def part_energies(model: SideModel, half: Half, update: FactorUpdate, lam: Array) -> Energies:
    """E_g of every graph, of the ridge, and of the features' weights."""
    stack, U = model.stack, update.factors.mean
    if model.features is not None:
        return _drawn_energies(model, half, update, lam)
    between, nodes = update.spread.edges, update.spread.nodes
    if nodes is None:
        nodes = update.spread.cov[:, packed_diagonal(len(lam))]
    if between is None:
        between = nodes[stack.heads] + nodes[stack.tails]
    steps = (U[stack.heads] - U[stack.tails]) ** 2 + between
    ridge = float(((U**2 + nodes) @ lam).sum())
    return Energies(_positive(stack.weights @ (steps @ lam)), ridge, 0.0, ())


def _drawn_energies(model: SideModel, half: Half, update: FactorUpdate, lam: Array) -> Energies:
    """The same with features: U from q, B given U, P = U − FB, averaged over draws."""
    stack = model.stack
    assert model.features is not None
    parts, draws = [], []
    for U, noise in _draws(model, half, update, lam):
        B = half.prior.feature_weights(U, noise)
        P = U[: stack.n] - model.features.forward(np.ascontiguousarray(B))
        graphs = stack.weights @ (((P[stack.heads] - P[stack.tails]) ** 2) @ lam)
        parts.append((graphs, float(((P**2) @ lam).sum()), float(((B**2) @ lam).sum())))
        draws.append(U)
    graphs, ridge, weights = (np.mean(part, axis=0) for part in zip(*parts, strict=True))
    return Energies(_positive(graphs), float(ridge), float(weights), tuple(draws))


def _draws(
    model: SideModel, half: Half, update: FactorUpdate, lam: Array
) -> Iterator[tuple[Array, Array]]:
    """Draws of a side's nodes from q, with the noise of B given U; the same noise every time."""
    assert model.features is not None
    rng = np.random.default_rng(0)
    mean, n, k = update.factors.mean, model.stack.n, len(lam)
    drawn = getattr(model.engine, "draws", None)
    root = passes.cholesky_blocks(half.side.pool, update.factors.cov) if drawn is None else None
    for d in range(DRAWS if drawn is None else min(DRAWS, drawn.shape[2])):
        U = mean.copy()
        if drawn is not None:
            U += drawn[:, :, d]
        else:
            own = rng.standard_normal((n, k, 1))
            U[:n] += passes.lower_products(half.side.pool, root, own)[:, :, 0]  # type: ignore[arg-type]
            if len(U) > n:
                assert half.prior.feature_diagonal is not None
                scale = np.sqrt(half.prior.feature_diagonal[:, None] * lam)
                U[n:] += rng.standard_normal((len(U) - n, k)) / scale
        yield U, rng.standard_normal((model.features.p, k)) / np.sqrt(lam)


def _positive(energies: Array) -> Array:
    return np.maximum(energies, np.finfo(float).tiny)


def shares(model: SideModel, strengths: Strengths, prior: SidePrior) -> tuple[Array, float]:
    """Share of the prior's degrees of freedom that each graph, and the ridge, determines.

    They sum to one; a graph with a share near zero is not used.
    """
    nodes, edges = model.engine.prior_spread(prior)
    graphs = strengths.graphs * (model.stack.weights @ edges) / model.stack.n
    return graphs, strengths.ridge * float(nodes.sum()) / model.stack.n
