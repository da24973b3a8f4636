"""The command `bmcg`."""

from __future__ import annotations

# In the order in which `bmcg --help` lists them.
from . import (
    bench,
    evaluate,
    fit,
    fold_in,
    impute,
    info,
    inpaint,
    predict,
    recommend,
    report,
    update,
)
from .app import main

__all__ = [
    "bench",
    "evaluate",
    "fit",
    "fold_in",
    "impute",
    "info",
    "inpaint",
    "main",
    "predict",
    "recommend",
    "report",
    "update",
]
