"""Prior precisions of a side as operators: of graphs alone, and with features in two ways.

A side may have features: U = F B + P with P under the graph prior and B ~ N(0, (βλ_r)⁻¹ I).
"""

from __future__ import annotations

import scipy.sparse as sp

from .features import FeatureMap, feature_map
from .graph import GraphPrior, graph_prior, off_diagonal
from .integrated import IntegratedPrior, integrated_prior
from .nodes import NodesPrior, nodes_prior

__all__ = [
    "FeatureMap",
    "GraphPrior",
    "IntegratedPrior",
    "NodesPrior",
    "SidePrior",
    "feature_map",
    "graph_prior",
    "off_diagonal",
    "with_features",
]

SidePrior = GraphPrior | IntegratedPrior | NodesPrior

# Most features whose weights are integrated out by a dense factor, and most entries of L F then.
DENSE_FEATURES = 8192
DENSE_ENTRIES = 5e7


def with_features(
    graph: GraphPrior, features: FeatureMap, beta: float, integrate: bool = True
) -> IntegratedPrior | NodesPrior:
    """The prior with features at the given strength.

    Their weights are integrated out if asked to, and if they are few enough for it.
    """
    LF = sp.csr_array(graph.precision.to_csr() @ features.matrix)
    few = features.p <= DENSE_FEATURES and features.p * graph.n_nodes <= DENSE_ENTRIES
    make = integrated_prior if integrate and few else nodes_prior
    return make(graph, features, beta, LF)
