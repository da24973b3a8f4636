"""Checks of estimator parameters: each names the argument, the value and the way out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.utils import check_random_state


def check_whole(argument: str, value: Any, least: int = 1) -> None:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{argument}={value!r}: pass a whole number of at least {least}")


def check_number(
    argument: str, value: Any, *, above: float = 0.0, allow_equal: bool = False
) -> None:
    """A finite number above `above`, or equal to it where allowed."""
    good = isinstance(value, Real) and not isinstance(value, bool) and value < float("inf")
    if not good or not (value > above or (allow_equal and value == above)):
        word = "of at least" if allow_equal else "above"
        raise ValueError(f"{argument}={value!r}: pass a number {word} {above:g}")


def check_choice(argument: str, value: Any, choices: Sequence[Any]) -> None:
    """One of some values."""
    if value not in choices:
        raise ValueError(f"{argument}={value!r}: choose one of {', '.join(map(repr, choices))}")


def check_subset(argument: str, value: Any, choices: Sequence[str]) -> tuple[str, ...]:
    """All of some names for True, none for False, or those listed."""
    if isinstance(value, bool):
        return tuple(choices) if value else ()
    listed = isinstance(value, Iterable) and not isinstance(value, str)
    wrong = [name for name in value if name not in choices] if listed else [value]
    if wrong:
        raise ValueError(
            f"{argument}={value!r}: pass True, False or a list of {', '.join(map(repr, choices))}"
        )
    return tuple(value)


def check_range(argument: str, value: Any, low: float, high: float) -> None:
    """None, "auto", "observed", or two numbers that hold values from `low` to `high`."""
    if value is None or (isinstance(value, str) and value in ("auto", "observed")):
        return
    try:
        first, last = (float(end) for end in value)
    except (TypeError, ValueError):
        raise ValueError(
            f'{argument}={value!r}: pass None, "auto", "observed" or two numbers (low, high)'
        ) from None
    if not first < last or low < first or high > last:
        raise ValueError(
            f"{argument}={value!r} must hold every observed value; they run from "
            f"{low:g} to {high:g}"
        )


def is_auto(value: Any) -> bool:
    """Whether a parameter, which may be an array, leaves the choice to the fit."""
    return isinstance(value, str) and value == "auto"


def seed_of(random_state: Any) -> int:
    """A seed from whatever scikit-learn takes for a state."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise ValueError(
            f"random_state={random_state!r}: pass a whole number, a RandomState or None"
        ) from None
