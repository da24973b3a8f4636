"""A fit that kept few of its columns answers to one of biases alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .inference.families import Family
from .inference.fit import Fit, Settings, SideInput
from .inference.run import FIRST_RANK, run
from .kernels.threads import Workers
from .observations import Observations
from .posterior import Posterior

# Leverages are estimates: an entry that seems to determine its own prediction still counts.
LARGEST_LEVERAGE = 0.95


def settled(
    observations: Observations,
    sides: tuple[SideInput, SideInput],
    settings: Settings,
    fit: Fit,
    pool: Workers,
) -> Fit:
    """The fit, or one of biases alone where that predicts left-out entries better.

    Columns are dropped one by one, on their own merits; the last ones can hold each other up.
    Asked only of a finished fit with biases that has dropped some of its first columns and kept
    others: one that needed more is beyond doubt.

    Parameters
    ----------
    observations : Observations
    sides : tuple of SideInput
    settings : Settings
        Of the fit.
    fit : Fit
    pool : Workers
    """
    few = 0 < fit.state.rank < min(settings.rank, FIRST_RANK)
    if not (settings.bias and fit.converged and few):
        return fit
    try:
        alone = run(observations, *sides, replace(settings, rank=0), pool=pool)
    except KeyboardInterrupt:
        # The question is interrupted, not the fit, which is finished.
        return fit
    if not alone.converged:
        return fit
    family = settings.family
    errors = [left_out_error(observations, one, family) for one in (fit, alone)]
    return fit if errors[0] <= errors[1] else alone


def left_out_error(observations: Observations, fit: Fit, family: Family) -> float:
    """Root mean square of e/(1 − h), what observed entries would be missed by if left out.

    The leverage h of an entry is the variance of its prediction over that of the noise.
    """
    posterior = Posterior.from_fit(fit, family)
    at = observations.row_indices.astype(np.intp), observations.col_indices.astype(np.intp)
    leverage = posterior.variance(*at, include_noise=False) / posterior.noise_variance
    missed = (observations.values - posterior.mean(*at)) / (
        1.0 - np.minimum(leverage, LARGEST_LEVERAGE)
    )
    return float(np.sqrt(np.mean(missed**2)))
