"""What was learned: predictions, their spread, draws."""

from .posterior import Posterior
from .predictive import Predictive
from .side import SidePosterior

__all__ = ["Posterior", "Predictive", "SidePosterior"]
