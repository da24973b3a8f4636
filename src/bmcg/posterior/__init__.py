"""What was learned: predictions, their spread, draws."""

from .posterior import Posterior

__all__ = ["Posterior"]
