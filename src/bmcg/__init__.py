"""Tuning-free Bayesian matrix completion with graphs on the rows and the columns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .estimators import BMCG, BMCGImputer
    from .files.loading import load_model
    from .observations import Observations

__all__ = ["BMCG", "BMCGImputer", "Observations", "load_model"]
__version__ = "0.1.0"

# Looked up on first use: the command line answers `--help` without loading Numba and SciPy.
_HOMES = {
    "BMCG": "estimators",
    "BMCGImputer": "estimators",
    "Observations": "observations",
    "load_model": "files.loading",
}
_ROOMS = ("baselines", "datasets", "graphs", "metrics", "plotting")


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f".{_HOMES[name]}", __name__), name)
    if name in _ROOMS:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_ROOMS])
