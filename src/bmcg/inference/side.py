"""One side of the matrix during a fit: its entries, and its prior at the strengths that stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends import Backend, SparseRows
from ..graphs.precision import GraphStack
from ..likelihoods import Gaussian, Likelihood, Weighting
from ..linalg.engines import VarianceEngine
from ..linalg.prior import Explained, FeatureMap, SidePrior, with_features
from ..observations import Observations

Array = NDArray[np.float64]

# Ridge of a graph that is not learned, unless given.
FIXED_RIDGE = 1e-6
# Where a ridge that is learned starts, unless given: under a tiny one, nodes without edges have
# no prior to speak of and fit noise before the ridge has grown.
FIRST_RIDGE = 0.1


@dataclass(frozen=True)
class Prior:
    """What is believed of the components' precisions, and the likelihood with its own.

    Attributes
    ----------
    c0, d0 : float
        Gamma shape and rate of a precision.
    likelihood : Likelihood
    pooled : bool
        Whether the components of a fit that samples have one precision, not one each.
    """

    c0: float = 1e-6
    d0: float = 1e-6
    likelihood: Likelihood = field(default_factory=Gaussian)
    pooled: bool = False


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
class SideInput:
    """What is known of one side besides its observations.

    Attributes
    ----------
    stack : GraphStack
        Its graphs; none is an identity prior.
    ridge : float or None
        Where the ridge starts, if strengths are learned, or stays. None leaves it to the fit.
    features : csr_array of shape (n, p) or None
    remake : callable or None
        The same of other observations, where something of it was made of the observations.
    """

    stack: GraphStack
    ridge: float | None
    features: sp.csr_array | None = None
    remake: Callable[[Observations], SideInput] | None = None

    def of(self, observations: Observations) -> SideInput:
        """What would be known if these were all observations."""
        return self if self.remake is None else self.remake(observations)

    def first_strengths(self, learn: bool) -> Strengths:
        """Where a fit starts."""
        usual = FIRST_RIDGE if learn else FIXED_RIDGE
        ridge = usual if self.ridge is None else self.ridge
        return Strengths(np.ones(len(self.stack.weights)), ridge, 1.0)


@dataclass(frozen=True)
class Side:
    """All that the updates of one side need.

    Attributes
    ----------
    entries : SparseRows
        Its observed entries.
    prior : SidePrior
        K, at `strengths`.
    engine : VarianceEngine
    stack : GraphStack or None
        The graphs of the prior; None where strengths are not learned.
    features : FeatureMap or None
    strengths : Strengths
    integrate : bool
        Whether the features' weights are integrated out where they are few; a `joint` posterior
        keeps their correlation with the factors and has them as nodes, which is far cheaper.
    explained : Explained or None
        What the features are to the graphs, whatever the strengths; made anew at each without it.
    order : callable or None
        Gives the place of each entry in row order, shape (n_observed,), where that is asked for;
        None for the rows, whose order that is.
    """

    entries: SparseRows
    prior: SidePrior
    engine: VarianceEngine
    stack: GraphStack | None = None
    features: FeatureMap | None = None
    strengths: Strengths = field(default_factory=lambda: Strengths(np.ones(1), 1.0, 1.0))
    integrate: bool = True
    explained: Explained | None = None
    order: Callable[[], NDArray[Any]] | None = None

    @property
    def backend(self) -> Backend:
        """Where the arithmetic is done."""
        return self.entries.backend

    @property
    def n_observed(self) -> int:
        """Observed entries."""
        return len(self.entries.values)

    @property
    def can_learn(self) -> bool:
        """Whether it has strengths: without edges and features the ridge is only λ's scale."""
        return self.stack is not None and (len(self.stack.heads) > 0 or self.features is not None)

    def at(self, strengths: Strengths) -> Side:
        """The side with its prior at other strengths."""
        assert self.stack is not None
        graph = self.engine.prepare(self.stack.precision(strengths.graphs, strengths.ridge))
        prior: SidePrior = graph
        if self.features is not None:
            own, near, parts = None, None, self.explained
            if parts is not None:
                own = np.append(strengths.graphs, strengths.ridge) @ parts.diagonals
                near = parts.basis
            given = self.features, strengths.beta, self.integrate
            prior = with_features(graph, *given, own, near)
        return replace(self, prior=prior, strengths=strengths)

    def seen(self, weighting: Weighting) -> tuple[SparseRows, Array | None]:
        """The entries with their targets, and their weights, in this side's order."""
        weights, targets = (
            part if part is None or self.order is None else part[self.order()]
            for part in (weighting.weights, weighting.targets)
        )
        entries = self.entries if targets is None else replace(self.entries, values=targets)
        return entries, weights
