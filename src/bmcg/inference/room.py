"""Whether there is memory for a fit, told before it is made, or made larger."""

from __future__ import annotations

from .. import memory
from ..memory import Work
from .side import Side


def check_room(
    sides: tuple[Side, Side],
    kind: str,
    components: int,
    *,
    draws: int = 0,
    before: int = 0,
    plain: bool = True,
) -> None:
    """Raise where a fit does not fit here; one on a device, or of many processes, is told there.

    Parameters
    ----------
    sides : tuple of Side
    kind : {"column", "row", "joint", "sampled"}
    components : int
        With biases.
    draws : int
        That are kept.
    before : int
        Components of the fit under way, whose arrays make room for half of the larger ones.
    plain : bool
        Whether the likelihood asks nothing of single entries.
    """
    rows, cols = sides
    if not rows.backend.on_host:
        return
    edges = sum(0 if side.stack is None else len(side.stack.heads) for side in sides)
    m, n = rows.prior.n_nodes, cols.prior.n_nodes
    work = Work(m, n, rows.n_observed, components, kind, edges, not plain, draws)
    held = memory.fit(work._replace(components=before)) / 2 if before else 0.0
    memory.require(
        memory.fit(work) - held,
        f"a {kind} fit of {rows.entries.n} x {cols.entries.n} with {components} components",
        _advice(kind, draws),
    )


def _advice(kind: str, draws: int) -> str:
    if kind == "sampled":
        return f"lower rank, or n_draws={draws}"
    if kind == "column":
        return "lower rank"
    return 'lower rank, or use posterior="column", which keeps no blocks'
