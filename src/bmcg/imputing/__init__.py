"""Files with missing values in, the same files filled out: tables, genotypes, AnnData."""

from __future__ import annotations

from .annotated import denoise_anndata, impute_anndata
from .denoising import denoise
from .matrix import Filled, fill

__all__ = ["Filled", "denoise", "denoise_anndata", "fill", "impute_anndata"]
