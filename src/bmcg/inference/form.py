"""What of the given graphs and features a model uses, as plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..graphs.precision import GraphStack
from .fit import SideInput

Sides = tuple[SideInput, SideInput]

AS_GIVEN = 0
# A graph that joins more than this share of all pairs says how alike all nodes are, not who is
# next to whom: its Laplacian draws all to one mean, as biases do, at a cost of all pairs a step.
# The nearest of each node may say more.
DENSE_SHARE = 0.1
NEAREST = (10, 5)


@dataclass(frozen=True)
class Form:
    """What is used of the rows (first) and of the columns.

    Attributes
    ----------
    graphs : tuple of (int or None)
        None where the graphs are left out, 0 as given, or how many nearest neighbours are kept.
    features : tuple of bool
    """

    graphs: tuple[int | None, int | None] = (AS_GIVEN, AS_GIVEN)
    features: tuple[bool, bool] = (True, True)

    def of(self, sides: Sides) -> Sides:
        """Those of both sides."""
        rows, cols = (
            _formed(side, graphs, features)
            for side, graphs, features in zip(sides, self.graphs, self.features, strict=True)
        )
        return rows, cols

    def with_graphs(self, which: int, count: int | None) -> Form:
        """With the graphs of one side in another form."""
        rows, cols = self.graphs
        return replace(self, graphs=(count, cols) if which == 0 else (rows, count))


def _formed(side: SideInput, graphs: int | None, features: bool) -> SideInput:
    remake = side.remake
    if remake is not None:
        # What is made anew of other observations keeps the form.
        side = replace(side, remake=lambda seen: _formed(remake(seen), graphs, features))
    if graphs is None and side.stack.names:
        none = np.empty(0, dtype=np.int32)
        bare = GraphStack(side.stack.n, none, none, np.empty((0, 0)), ())
        side = replace(side, stack=bare, ridge=1.0)
    elif graphs:
        side = replace(side, stack=side.stack.nearest(graphs))
    return side if features else replace(side, features=None)


def forms_of(stack: GraphStack) -> tuple[int, ...]:
    """Forms that the graphs of a side are tried in: as given or, where all are joined, sparse."""
    pairs = stack.n * (stack.n - 1) / 2
    dense = max(NEAREST) < DENSE_SHARE * stack.n and len(stack.heads) > DENSE_SHARE * pairs
    return NEAREST if dense else (AS_GIVEN,)
