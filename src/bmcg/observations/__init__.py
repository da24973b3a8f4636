"""What was observed: entries, their labels, and the frames they come from."""

from .entries import Observations
from .view import View

__all__ = ["Observations", "View"]
