"""How far a side's graphs, ridge and features are used, in numbers and in a sentence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..inference.fit import FittedSide


class GraphWeight(NamedTuple):
    """How much a graph, the ridge or the features of a side count.

    Attributes
    ----------
    strength : float
        w_g, the ridge ε, or the features' precision β.
    share : float
        Share of the prior's degrees of freedom it determines; NaN for features.
    log_std : float
        Standard error of the logarithm of the strength, from the curvature of the bound
        were every degree of freedom it determines independent; NaN for features.
    sentence : str
        What that means.
    """

    strength: float
    share: float
    log_std: float
    sentence: str


def graph_weights(side: FittedSide) -> dict[str, GraphWeight]:
    """The learned weights of one side by name, the ridge and the features included."""
    stack, k = side.stack, side.n_components
    parts = [*zip(stack.names, side.strengths.graphs, side.graph_shares, strict=True)]
    parts.append(("ridge", side.strengths.ridge, side.ridge_share))
    out = {}
    for name, strength, share in parts:
        count = max(float(share) * stack.n * k, 1e-300)
        used = "not used" if share < 0.01 else f"determines {100 * share:.0f} % of the prior"
        out[name] = GraphWeight(
            float(strength), float(share), float(min(np.sqrt(2.0 / count), 1e3)), f"{name}: {used}"
        )
    if not np.isnan(side.feature_share):
        explained = f"features: explain {100 * side.feature_share:.0f} % of the rows' factors"
        if side.side.prior.features is None:
            explained = "features: not used"
        out["features"] = GraphWeight(
            side.strengths.beta, side.feature_share, float("nan"), explained
        )
    return out
