"""Tables of series: rows are times, columns sensors; several ways to fill them, weighed by gaps."""

from __future__ import annotations

from .blend import Blend, fill_series

__all__ = ["Blend", "fill_series"]
