"""What was seen among weak zeros: which values and options that goes with."""

from __future__ import annotations

from typing import Any

from ..checks import check_choice, is_auto
from ..observations import Observations
from .values import refuse

MISSING = ("unknown", "weak-zero")


def is_implicit(model: Any) -> bool:
    """Whether a model takes what is missing for zeros of small weight."""
    return getattr(model, "missing", MISSING[0]) == MISSING[1]


def check_missing(model: Any, observations: Observations) -> None:
    """Raise where options or values do not go with weak zeros, before any work."""
    check_choice("missing", model.missing, MISSING)
    if not is_implicit(model):
        return
    for name, usual, why in (
        ("likelihood", "gaussian", "what was seen is a one, all else a zero"),
        ("noise", "auto", "weights say what an entry is worth"),
    ):
        if getattr(model, name) != usual:
            raise ValueError(
                f'{name}={getattr(model, name)!r} does not go with missing="weak-zero": {why}; '
                f"leave it at {usual!r}"
            )
    if model.posterior in ("auto", "sampled") and (model.checkpoint is not None or model.resume):
        raise ValueError(
            f'checkpoint={model.checkpoint!r} does not go with missing="weak-zero", whose fits are '
            'short: leave it out, or use posterior="variational"'
        )
    if model.posterior == "column":
        raise ValueError(
            'posterior="column" does not go with missing="weak-zero": use "auto", "row", "joint" '
            'or "sampled"'
        )
    if not (model.value_range is None or is_auto(model.value_range)):
        raise ValueError(
            f'value_range={model.value_range!r} does not go with missing="weak-zero", whose '
            'entries only order a list; leave it at "auto"'
        )
    why = 'missing="weak-zero" takes counts, or ones, of what was seen; leave out what was not'
    refuse(observations, observations.values <= 0.0, why)
