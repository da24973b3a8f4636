"""What work needs, known from its shapes, against what is left: told before the work is begun."""

from __future__ import annotations

from .here import GIB, Left, left
from .needs import (
    alike,
    cells,
    copied,
    fit,
    lists,
    matrix,
    model,
    pairs,
    picture,
    require,
    size,
    table,
)
from .work import Work

__all__ = [
    "GIB",
    "Left",
    "Work",
    "alike",
    "cells",
    "copied",
    "fit",
    "left",
    "lists",
    "matrix",
    "model",
    "pairs",
    "picture",
    "require",
    "size",
    "table",
]
