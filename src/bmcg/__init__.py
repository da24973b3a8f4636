"""Tuning-free Bayesian matrix completion with graphs on the rows and the columns."""

from __future__ import annotations

from .estimators import BMCG
from .imputer import BMCGImputer
from .loading import load_model
from .observations import Observations

__all__ = ["BMCG", "BMCGImputer", "Observations", "load_model"]
__version__ = "0.1.0"
