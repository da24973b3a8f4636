"""Files with missing values in, the same files filled out: tables, genotypes, AnnData."""

from __future__ import annotations

from .annotated import impute_anndata
from .matrix import Filled, fill

__all__ = ["Filled", "fill", "impute_anndata"]
