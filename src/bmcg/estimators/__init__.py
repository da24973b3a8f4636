"""The estimators: parameters and manners, no mathematics."""

from .bmcg import BMCG
from .imputer import BMCGImputer

__all__ = ["BMCG", "BMCGImputer"]
