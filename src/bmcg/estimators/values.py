"""Which likelihood goes with which values and options."""

from __future__ import annotations

from typing import Any

from ..checks import check_choice, is_auto
from ..likelihoods import LIKELIHOODS

NOISES = ("shared", "rows", "cols")


def check_likelihood(likelihood: Any, noise: Any, value_range: Any) -> None:
    """Raise where parameters make no sense together, before any work."""
    check_choice("likelihood", likelihood, LIKELIHOODS)
    check_choice("noise", noise, NOISES)
    if likelihood == "gaussian":
        return
    if noise != "shared":
        raise ValueError(
            f'noise={noise!r} is for Gaussian noise: leave it at "shared", or use '
            'likelihood="gaussian"'
        )
    if not (value_range is None or is_auto(value_range)):
        raise ValueError(
            f"value_range={value_range!r} is for Gaussian noise: the values of "
            f'likelihood={likelihood!r} have the range that they have; leave it at "auto"'
        )
