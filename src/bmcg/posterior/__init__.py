"""What was learned: predictions, their spread, draws."""

from .posterior import Posterior
from .side import SidePosterior

__all__ = ["Posterior", "SidePosterior"]
