"""The methods BMCG is compared with, each an estimator of the same kind.

`METHODS` maps the names used in the paper to the classes; every class can stand in for
`bmcg.BMCG` in one line.
"""

from __future__ import annotations

from ..base import MatrixCompleter
from ..estimators import BMCG
from .factor_model import DenseModel, FactorModel
from .gpmf import GPMF
from .grals import GRALS
from .kpmf import KPMF
from .mc_on_graphs import MCOnGraphs
from .tune import TuneResult, default_grid, tune

METHODS: dict[str, type[MatrixCompleter]] = {
    "BMCG": BMCG,
    "MC on Graphs": MCOnGraphs,
    "GRALS": GRALS,
    "GPMF": GPMF,
    "KPMF": KPMF,
}

__all__ = [
    "GPMF",
    "GRALS",
    "KPMF",
    "METHODS",
    "DenseModel",
    "FactorModel",
    "MCOnGraphs",
    "TuneResult",
    "default_grid",
    "tune",
]
