"""One self-contained page about a fitted model: numbers first, then pictures and settings."""

from __future__ import annotations

from .findings import Findings, find
from .held_out import Entries, held_out
from .page import render

__all__ = ["Entries", "Findings", "find", "held_out", "render"]
