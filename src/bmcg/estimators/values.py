"""Which likelihood goes with which values and options, checked before any work."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..caller import user_level
from ..checks import check_choice, is_auto
from ..likelihoods import LIKELIHOODS, Likelihood, Uneven, WeakZero, likelihood_of
from ..likelihoods.exposed import Exposed
from ..observations import Observations

Array = NDArray[np.float64]

NOISES = ("auto", "shared", "rows", "cols")
# What is one size for all unless left-out entries speak against it, and what is in any case.
SHARED = ("auto", "shared")
# More levels than this are no levels; so many that follow each other evenly are proposed as such.
MOST_LEVELS = 100
FEW_LEVELS = 12
# In steps: how far a level may lie off, as tenths do that are no binary fractions.
LEVEL_TOLERANCE = 1e-4


def check_likelihood(likelihood: Any, noise: Any, value_range: Any) -> None:
    """Raise where parameters make no sense together."""
    check_choice("likelihood", likelihood, ("auto", *LIKELIHOODS))
    check_choice("noise", noise, NOISES)
    if likelihood == "gaussian":
        return
    if noise not in SHARED:
        raise ValueError(
            f'noise={noise!r} is for Gaussian noise: leave it at "auto", or use '
            'likelihood="gaussian"'
        )
    if not (value_range is None or is_auto(value_range)):
        raise ValueError(
            f"value_range={value_range!r} is for Gaussian noise: the values of "
            f'likelihood={likelihood!r} have the range that they have; leave it at "auto"'
        )


def chosen_likelihood(likelihood: str, noise: str, observations: Observations) -> Likelihood:
    """What values are taken for; said, where it was left open."""
    title, why = title_of(likelihood, noise, observations)
    if why:
        warnings.warn(
            f'likelihood="auto" takes {title.split(" ")[0]!r}: {why}; pass it, or another, to '
            "decide yourself",
            UserWarning,
            stacklevel=user_level(),
        )
    return likelihood_of(title)


def may_be_uneven(likelihood: Likelihood, x: Array) -> bool:
    """Whether noise may have a size each; of two values the mean says all that they scatter."""
    return likelihood.is_plain and bool(((x != x.min()) & (x != x.max())).any())


def device_for(device: str, likelihood: Likelihood) -> str:
    """Where a fit runs; what rows and columns have each of their own is the host's."""
    exposed = isinstance(likelihood, Exposed) and bool(likelihood.exposures)
    if not (exposed or isinstance(likelihood, (Uneven, WeakZero))):
        return device
    if device not in ("auto", "cpu"):
        what = "weak zeros" if isinstance(likelihood, WeakZero) else "noise of rows or columns"
        what = "exposures" if exposed else what
        raise ValueError(
            f'device={device!r} knows no {what}: such a fit runs on the processor, device="cpu" '
            'or "auto"'
        )
    return "cpu"


def title_of(likelihood: str, noise: str, observations: Observations) -> tuple[str, str]:
    """What `likelihood_of` makes the likelihood from, and why, where that was to be proposed.

    Values that it cannot have are refused, the first one named.
    """
    x, why = observations.values, ""
    if likelihood == "auto":
        likelihood, why = proposed(x)
    if likelihood == "ordinal":
        return _ordinal(observations), why
    if likelihood == "bernoulli":
        _refuse(
            observations,
            (x != 0) & (x != 1),
            "bernoulli",
            'holds zeros and ones: code the values so, or use "ordinal" for levels and '
            '"gaussian" for numbers',
        )
        if x.min() == x.max():
            raise ValueError(
                f'likelihood="bernoulli": all {len(x)} values are {x[0]:g}; zeros and ones are '
                "needed. Of clicks alone, which entries are there is what is known"
            )
    if likelihood in ("poisson", "negative_binomial"):
        _refuse(
            observations,
            (x < 0) | (x != np.floor(x)),
            likelihood,
            'holds counts, whole numbers from zero: use "gaussian" for other numbers, of their '
            "logarithms if they are rates",
        )
        if not x.any():
            raise ValueError(f'likelihood="{likelihood}": all {len(x)} values are zero')
    return (likelihood if noise in SHARED else f"{likelihood} {noise}"), why


def proposed(x: Array) -> tuple[str, str]:
    """The likelihood that values look like, and why."""
    if not (x == np.floor(2 * x) / 2).all() or x.min() == x.max():
        return "gaussian", "values are numbers with fractions, or all equal"
    found = np.unique(x)
    if found.tolist() == [0.0, 1.0]:
        return "bernoulli", "all values are 0 or 1"
    steps = np.diff(found)
    low, high = found[0], found[-1]
    if len(found) <= FEW_LEVELS and steps.min() == steps.max() and steps[0] <= 1.0:
        return "ordinal", f"values are {len(found)} levels from {low:g} to {high:g}"
    if low >= 0 and (x == np.floor(x)).all():
        return "negative_binomial", f"values are whole numbers from {low:g} to {high:g}"
    return "gaussian", f"values are numbers from {low:g} to {high:g}"


def _ordinal(observations: Observations) -> str:
    levels = np.unique(observations.values)
    if len(levels) < 2:
        raise ValueError(
            f'likelihood="ordinal": all values are {levels[0]:g}; two levels at least are needed'
        )
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f'likelihood="ordinal": there are {len(levels)} different values, such as '
            f"{levels[0]:g} and {levels[1]:g}; more than {MOST_LEVELS} are no levels: use "
            '"gaussian"'
        )
    step = level_step(levels)
    _refuse(
        observations,
        ~_on_steps(observations.values, levels[0], step),
        "ordinal",
        f"has levels from {levels[0]:g} in steps of {step:g}: if it is a level, write levels as "
        '1, 2, 3 and so on, in their order; if not, mend it; "gaussian" is for numbers',
    )
    return " ".join(("ordinal", *(repr(float(level)) for level in levels)))


def level_step(levels: Array) -> float:
    """The distance that most neighbouring levels have; the least of those that are as frequent."""
    gaps = [float(f"{gap:.6g}") for gap in np.diff(levels)]
    return max(sorted(set(gaps)), key=gaps.count)


def _on_steps(x: Array, low: float, step: float) -> NDArray[np.bool_]:
    """Which values lie whole steps above the lowest one."""
    steps = (x - low) / step
    return np.abs(steps - np.round(steps)) < LEVEL_TOLERANCE


def _refuse(observations: Observations, wrong: NDArray[np.bool_], name: str, way: str) -> None:
    refuse(observations, wrong, f'likelihood="{name}" {way}')


def refuse(observations: Observations, wrong: NDArray[np.bool_], why: str) -> None:
    """Raise where some values are wrong; the first of them is named, with its place."""
    if not wrong.any():
        return
    at = int(wrong.argmax())
    place = []
    for labels, index, word in (
        (observations.row_labels, observations.row_indices, "row"),
        (observations.col_labels, observations.col_indices, "column"),
    ):
        label = index[at] if labels is None else labels.values[index[at]]
        place.append(f"{word} {label!s}")
    raise ValueError(
        f"{observations.values[at]:g} in {', '.join(place)} ({int(wrong.sum())} such values): {why}"
    )


def check_known(likelihood: Likelihood, observations: Observations) -> None:
    """Refuse values that a fitted likelihood cannot have."""
    name, *rest = likelihood.title.split(" ")
    if name != "ordinal":
        title_of(name, "shared", observations)
        return
    wrong = ~np.isin(observations.values, np.array(rest, dtype=np.float64))
    known = ", ".join(f"{float(level):g}" for level in rest)
    _refuse(observations, wrong, name, f"was fitted on the levels {known}: fit all values again")
