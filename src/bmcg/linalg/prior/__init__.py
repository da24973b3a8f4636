"""Prior precisions of a side as operators: of graphs alone, and with features in two ways.

A side may have features: U = F B + P with P under the graph prior and B ~ N(0, (βλ_r)⁻¹ I).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .features import FeatureMap, feature_map
from .graph import GraphPrior, graph_prior, off_diagonal
from .integrated import IntegratedPrior, integrated_prior
from .nodes import Explained, NodesPrior, explained_by, nodes_prior

__all__ = [
    "Explained",
    "FeatureMap",
    "GraphPrior",
    "IntegratedPrior",
    "NodesPrior",
    "SidePrior",
    "explained_by",
    "feature_map",
    "graph_prior",
    "off_diagonal",
    "with_features",
]

Array = NDArray[np.float64]
SidePrior = GraphPrior | IntegratedPrior | NodesPrior

# Most features whose weights are integrated out by a dense factor, and most entries of L F then.
DENSE_FEATURES = 8192
DENSE_ENTRIES = 5e7


def with_features(
    graph: GraphPrior,
    features: FeatureMap,
    beta: float,
    integrate: bool = True,
    own: Array | None = None,
    near: Array | None = None,
) -> IntegratedPrior | NodesPrior:
    """The prior with features at the given strength.

    Their weights are integrated out if asked to, and if they are few enough for it; else `own`
    and `near` are what `nodes_prior` may know already.
    """
    few = features.p <= DENSE_FEATURES and features.p * graph.n_nodes <= DENSE_ENTRIES
    if integrate and few:
        LF = sp.csr_array(graph.precision.to_csr() @ features.matrix)
        return integrated_prior(graph, features, beta, LF)
    return nodes_prior(graph, features, beta, own, near)
