"""The option `local`: what it goes with, and the lines that it means."""

from __future__ import annotations

from typing import Any

from ..checks import check_choice
from ..inference.fit import SideInput
from ..inference.local import Lines, lines_of

LOCALS = ("auto", None, "rows", "cols")


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
) -> Lines | None:
    """Where the local term is smooth; "auto" takes the columns' graph, else that of the rows.

    None where there is none, or where "auto" finds no graph along a line.
    """
    if local is None:
        return None
    rows, cols = sides[0].stack, sides[1].stack
    if local == "rows":
        return lines_of("rows", rows, shape)
    if local == "cols":
        return lines_of("cols", cols, shape)
    for which, stack in (("cols", cols), ("rows", rows)):
        try:
            return lines_of("cols" if which == "cols" else "rows", stack, shape)
        except ValueError:
            continue
    return None
