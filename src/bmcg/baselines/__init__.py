"""The methods BMCG is compared with, each an estimator of the same kind.

`METHODS` maps the names used in the paper to the classes; every class can stand in for
`bmcg.BMCG` in one line.
"""

from __future__ import annotations

from ..base import MatrixCompleter
from ..estimators import BMCG
from .bpmf import BPMF
from .factor_model import DenseModel, FactorModel
from .gamp import BMCGPGAMP
from .gpmf import GPMF
from .grals import GRALS
from .kpmf import KPMF
from .l1mc import L1MC
from .lmafit import LMaFit
from .mc_on_graphs import MCOnGraphs
from .tune import TuneResult, default_grid, tune
from .vbmc import VBMC

METHODS: dict[str, type[MatrixCompleter]] = {
    "BMCG": BMCG,
    "MC on Graphs": MCOnGraphs,
    "L1MC": L1MC,
    "LMaFit": LMaFit,
    "GRALS": GRALS,
    "GPMF": GPMF,
    "BMC-GP-GAMP": BMCGPGAMP,
    "KPMF": KPMF,
    "BPMF": BPMF,
    "VBMC": VBMC,
}

__all__ = [
    "BMCGPGAMP",
    "BPMF",
    "GPMF",
    "GRALS",
    "KPMF",
    "L1MC",
    "METHODS",
    "VBMC",
    "DenseModel",
    "FactorModel",
    "LMaFit",
    "MCOnGraphs",
    "TuneResult",
    "default_grid",
    "tune",
]
