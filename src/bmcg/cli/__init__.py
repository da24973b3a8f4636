"""The command `bmcg`."""

from __future__ import annotations

from . import bench, impute, inpaint, recommend
from .app import main

__all__ = ["bench", "impute", "inpaint", "main", "recommend"]
