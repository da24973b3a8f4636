"""The option `local`: what it goes with, and the lines that it means."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from ..checks import check_choice
from ..inference.fit import SideInput
from ..inference.grid import grid_of, ties
from ..inference.lines import lines_of
from ..inference.local import Ground

LOCALS = ("auto", None, "rows", "cols", "both")
# Cells, and ties between them, up to which "auto" tries both directions at once, which takes far
# longer than one.
MOST_TRIED, MOST_TIES_TRIED = 1 << 17, 1 << 20


def check_local(model: Any) -> None:
    """Raise where options do not go with a local term, before any work."""
    check_choice("local", model.local, LOCALS)
    if model.local is None:
        return
    if model.likelihood not in ("gaussian", "student"):
        raise ValueError(
            f'local={model.local!r} is added to values: it goes with likelihood="gaussian" or '
            f'"student", not {model.likelihood!r}'
        )
    for name, usual in (("missing", "unknown"), ("checkpoint", None), ("resume", False)):
        if getattr(model, name, usual) != usual:
            raise ValueError(
                f"{name}={getattr(model, name)!r} does not go with local={model.local!r}: leave it "
                f"at {usual!r}, or pass local=None"
            )
    if model.device not in ("auto", "cpu"):
        raise ValueError(
            f'device={model.device!r} knows no local term: use "cpu" or "auto", or local=None'
        )


def lines_for(
    local: str | None, sides: tuple[SideInput, SideInput], shape: tuple[int, int]
) -> tuple[Ground, ...]:
    """Where the local term is smooth; for "auto", all that the graphs allow.

    None of them without a term, or where "auto" finds no graph that serves.
    """
    rows, cols = sides[0].stack, sides[1].stack
    make: dict[str, Callable[[], Ground]] = {
        "cols": lambda: lines_of("cols", cols, shape),
        "rows": lambda: lines_of("rows", rows, shape),
        "both": lambda: grid_of(rows, cols, shape),
    }
    if local is None:
        return ()
    if local != "auto":
        return (make[local](),)
    found = []
    for name, way in make.items():
        large = shape[0] * shape[1] > MOST_TRIED or ties(rows, cols) > MOST_TIES_TRIED
        if name == "both" and large:
            continue
        with contextlib.suppress(ValueError):
            found.append(way())
    return tuple(found)
