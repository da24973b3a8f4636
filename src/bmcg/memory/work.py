"""A fit by its shapes, from which what it needs is known before it begins."""

from __future__ import annotations

from typing import NamedTuple


class Work(NamedTuple):
    """A fit by its shapes.

    Attributes
    ----------
    rows, cols, entries : int
    components : int
        Most of them, biases included.
    kind : {"column", "row", "joint", "sampled"}
    nodes : int
        Edges of graphs and entries of features, both sides together.
    moments : bool
        Whether the likelihood asks about single entries.
    draws : int
        That are kept.
    """

    rows: int
    cols: int
    entries: int
    components: int
    kind: str
    nodes: int = 0
    moments: bool = False
    draws: int = 0

    def share(self, size: int) -> Work:
        """Of one of so many processes, if rows and entries are shared alike."""
        return self._replace(entries=-(-self.entries // size))
