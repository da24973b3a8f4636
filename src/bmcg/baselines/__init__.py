"""The methods BMCG is compared with, each an estimator of the same kind.

`METHODS` maps the names used in the paper to the classes; every class can stand in for
`bmcg.BMCG` in one line.
"""

from __future__ import annotations

from ..base import MatrixCompleter
from .factor_model import DenseModel, FactorModel

METHODS: dict[str, type[MatrixCompleter]] = {}

__all__ = ["METHODS", "DenseModel", "FactorModel"]
