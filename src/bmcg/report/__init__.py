"""One self-contained page about a fitted model: numbers first, then pictures and settings."""

from __future__ import annotations

from .findings import Entries, Findings, find
from .page import render

__all__ = ["Entries", "Findings", "find", "render"]
