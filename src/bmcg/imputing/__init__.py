"""Files with missing values in, the same files filled out: tables, genotypes, AnnData."""

from __future__ import annotations

from .annotated import denoise_anndata, impute_anndata
from .denoising import denoise
from .matrix import Filled, fill
from .series import fill_series

__all__ = ["Filled", "denoise", "denoise_anndata", "fill", "fill_series", "impute_anndata"]
