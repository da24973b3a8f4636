"""The command `bmcg`."""

from __future__ import annotations

from . import bench, impute, inpaint, recommend, report
from .app import main

__all__ = ["bench", "impute", "inpaint", "main", "recommend", "report"]
