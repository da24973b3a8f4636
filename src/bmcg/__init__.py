"""Tuning-free Bayesian matrix completion with graphs on the rows and the columns."""

from __future__ import annotations

from .observations import Observations

__all__ = ["Observations"]
__version__ = "0.1.0"
