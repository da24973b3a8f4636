"""A fitted model at work: lists of the best, new rows, new entries."""

from .model import ServingModel

__all__ = ["ServingModel"]
