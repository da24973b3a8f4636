"""Pictures with missing pixels, filled."""

from __future__ import annotations

from .picture import Inpainted, inpaint

__all__ = ["Inpainted", "inpaint"]
