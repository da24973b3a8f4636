"""Columns in different units: tables are scaled as `BMCGImputer` scales them."""

from __future__ import annotations

from ..estimators.scaling import ColumnScale, Scale, column_scale

__all__ = ["ColumnScale", "Scale", "column_scale"]
