"""What was observed: entries, their labels, and the frames they come from."""

from .entries import Observations, View

__all__ = ["Observations", "View"]
