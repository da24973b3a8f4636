"""Checks of estimator parameters: each names the argument, the value and the way out."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any


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
