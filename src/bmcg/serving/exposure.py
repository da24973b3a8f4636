"""Exposures of rows and columns as they are given, in logarithms for likelihoods of counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..likelihoods import Likelihood
from ..likelihoods.exposed import COLS, ROWS, Exposed
from ..observations import Observations
from ..observations.labels import Labels, listed
from ..posterior import Posterior

Array = NDArray[np.float64]


def with_exposures(
    likelihood: Likelihood, observations: Observations, rows: Any, cols: Any
) -> Likelihood:
    """The likelihood that starts from exposures; refused where it has no use for them."""
    given = {
        name: log_exposures(value, name, labels, n)
        for name, value, labels, n in (
            (ROWS, rows, observations.row_labels, observations.shape[0]),
            (COLS, cols, observations.col_labels, observations.shape[1]),
        )
        if value is not None
    }
    if not given:
        return likelihood
    if not isinstance(likelihood, Exposed):
        raise ValueError(
            f"{next(iter(given))} belongs to counts, not to {likelihood.name!r}: use "
            'likelihood="poisson" or "negative_binomial", or leave it out'
        )
    return replace(likelihood, exposures=given)


def exposure_digests(likelihood: Likelihood) -> dict[str, str]:
    """What tells exposures from others, for the identity of a fit."""
    given = likelihood.exposures if isinstance(likelihood, Exposed) else {}
    return {name: sha256(part.tobytes()).hexdigest() for name, part in given.items()}


def exposed_again(posterior: Posterior) -> Likelihood:
    """The likelihood of a fit that goes on, with the exposures of the one before."""
    likelihood = posterior.likelihood
    if not isinstance(likelihood, Exposed):
        return likelihood
    known = {name: posterior.own[name] for name in (ROWS, COLS) if name in posterior.own}
    return replace(likelihood, exposures=known)


def newly_exposed(posterior: Posterior, value: Any, labels: Labels | None, n: int) -> Posterior:
    """The posterior that new rows, with exposures of theirs, can be placed in."""
    likelihood = posterior.likelihood
    if value is None:
        if isinstance(likelihood, Exposed):
            # Those of the fit, or of who came before, are not theirs.
            return replace(posterior, likelihood=replace(likelihood, exposures={}))
        return posterior
    if ROWS not in posterior.own:
        raise ValueError("the model was fitted without such exposures: leave them out")
    assert isinstance(likelihood, Exposed)
    given = {ROWS: log_exposures(value, ROWS, labels, n)}
    return replace(posterior, likelihood=replace(likelihood, exposures=given))


def log_exposures(value: Any, argument: str, labels: Labels | None, n: int) -> Array:
    """Logarithms of exposures, one for each of n rows or columns.

    Parameters
    ----------
    value : array_like of shape (n,), mapping of labels, or Series with labels in its index
    argument : str
        For messages.
    labels : Labels or None
        Those of the data; without any, exposures go by position.
    n : int
    """
    word = "row" if argument == ROWS else "column"
    names, numbers = _pairs(value, labels is not None)
    try:
        found = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{argument} must be numbers, got {value!r:.80}") from None
    if found.ndim != 1:
        raise ValueError(f"{argument} has shape {found.shape}, expected ({n},): one a {word}")
    if names is not None and labels is not None:
        at = labels.find(np.asarray(names, dtype=object))
        # Of what the data does not have nothing has to be known.
        kept = at >= 0
        where, times = np.unique(at[kept], return_counts=True)
        if (times > 1).any():
            twice = listed(labels.values[where[times > 1]].tolist())
            raise ValueError(f"{argument} has several numbers for {word} {twice}: pass one")
        out = np.full(n, np.nan)
        out[at[kept]] = found[kept]
        absent = np.setdiff1d(np.arange(n), at[kept])
        if len(absent):
            raise ValueError(
                f"{argument} has no number for {word} {listed(labels.values[absent].tolist())}"
            )
        found = out
    if len(found) != n:
        raise ValueError(f"{argument} has {len(found)} numbers, expected {n}: one for each {word}")
    wrong = ~(np.isfinite(found) & (found > 0))
    if wrong.any():
        first = int(wrong.argmax())
        label = first if labels is None else labels.values[first]
        raise ValueError(
            f"{argument} is {found[first]:g} for {word} {label!s}: pass finite numbers above zero, "
            "such as hours of observation; leave out what was never observed"
        )
    return np.log(found)


def _pairs(value: Any, labelled: bool) -> tuple[Any, Any]:
    """Names, where there are any, and numbers."""
    if isinstance(value, Mapping):
        if not labelled:
            raise ValueError("exposures by label need data with labels: pass an array in its order")
        return list(value), list(value.values())
    if labelled and hasattr(value, "index") and hasattr(value, "to_numpy"):
        return value.index.tolist(), value.to_numpy()
    return None, value
