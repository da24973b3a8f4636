"""What was learned: predictions, their spread, draws."""

from ..likelihoods.outcomes import Distribution
from ..likelihoods.predictive import Predictive
from .posterior import Posterior
from .side import SidePosterior
from .simulated import simulated
from .units import Units

__all__ = ["Distribution", "Posterior", "Predictive", "SidePosterior", "Units", "simulated"]
