"""How observed values come from the matrix: one file for each distribution."""

from .base import Likelihood, Weighting
from .gaussian import Gaussian

__all__ = ["Gaussian", "Likelihood", "Weighting"]
