"""Every experiment of the paper, rerun by one command: `bmcg bench`."""

from __future__ import annotations

from .experiments import NAMES
from .methods import OURS
from .running import Request, draw, run_bench
from .workers import Limits

__all__ = ["NAMES", "OURS", "Limits", "Request", "draw", "run_bench"]
