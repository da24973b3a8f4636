"""How far to trust each graph, the ridge and the features: learned from the evidence.

The prior precision of a side is L = Σ_g w_g L_g + ε I (and β for features). Given q, the bound
depends on the strengths through

    (k/2) log|L| − ½ (Σ_g w_g E_g + ε E_0),      E_g = Σ_r λ_r ⟨p_rᵀ L_g p_r⟩,

which is concave. The multiplicative step w_g ← w_g · k tr(L⁻¹L_g) / E_g maximises a minorant
of it (Jensen's inequality for the log-determinant), so the bound never falls, strengths stay
positive, and a graph that does not help shrinks towards nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..graphs.precision import GraphStack
from ..linalg.engines import VarianceEngine
from ..linalg.system import FeatureMap, SidePrior
from .updates import FactorUpdate, Half

Array = NDArray[np.float64]

# Inner steps on the concave problem for one posterior: each needs the prior's variances.
STEPS = 2
SMALLEST = 1e-10


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
    """

    stack: GraphStack
    features: FeatureMap | None
    engine: VarianceEngine

    def prior(self, strengths: Strengths) -> SidePrior:
        """The prior precision at these strengths."""
        bare = self.engine.prepare(self.stack.precision(strengths.graphs, strengths.ridge))
        if self.features is None:
            return bare
        diagonal = self.features.quadratic_diagonal(bare.precision.to_csr())
        return replace(
            bare,
            log_det=bare.log_det + self.features.p * float(np.log(strengths.beta)),
            features=self.features,
            beta=strengths.beta,
            feature_diagonal=diagonal + strengths.beta,
        )


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
    energies, ridge_energy, map_energy = part_energies(model, half, update, lam)
    k, prior = len(lam), half.prior
    for _ in range(STEPS):
        nodes, edges = model.engine.prior_spread(prior)
        graphs = strengths.graphs * k * (model.stack.weights @ edges) / energies
        ridge = strengths.ridge * k * float(nodes.sum()) / ridge_energy
        beta = strengths.beta
        if model.features is not None:
            beta = k * model.features.p / map_energy
        strengths = Strengths(np.maximum(graphs, SMALLEST), max(ridge, SMALLEST), beta)
        prior = model.prior(strengths)
    return strengths, replace(half, prior=prior)


def part_energies(
    model: SideModel, half: Half, update: FactorUpdate, lam: Array
) -> tuple[Array, float, float]:
    """E_g of every graph (n_graphs,), of the ridge, and of the features' weights."""
    X, spread, stack = update.factors.mean, update.spread, model.stack
    P = half.prior.residual(X)
    steps = (P[stack.heads] - P[stack.tails]) ** 2 + spread.edges
    graphs = stack.weights @ (steps @ lam)
    ridge = float(((P**2 + spread.nodes) @ lam).sum())
    weights = 0.0
    if model.features is not None:
        assert spread.features is not None
        weights = float(((X[len(P) :] ** 2 + spread.features) @ lam).sum())
    return np.maximum(graphs, np.finfo(float).tiny), ridge, weights


def shares(model: SideModel, strengths: Strengths, prior: SidePrior) -> tuple[Array, float]:
    """Share of the prior's degrees of freedom that each graph, and the ridge, determines.

    They sum to one; a graph with a share near zero is not used.
    """
    nodes, edges = model.engine.prior_spread(prior)
    graphs = strengths.graphs * (model.stack.weights @ edges) / model.stack.n
    return graphs, strengths.ridge * float(nodes.sum()) / model.stack.n
