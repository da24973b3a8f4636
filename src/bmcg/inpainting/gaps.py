"""Gaps in a picture: how deep they are, and the same gaps elsewhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import distance_transform_edt, label, maximum

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

# Share of the known pixels on which predictions are judged, where gaps are deep, for those are few,
# and how often the gaps are moved to get as many.
HELD_OUT, HELD_DEEP, TRIES = 0.1, 0.25, 30
# Gaps deeper than this, half a patch, are not judged by single pixels, unless they are so few.
SHALLOW = 4.0
DEEP = 0.01


def depth(known: Bool) -> Array:
    """Distance of every pixel to the nearest known one, at least 1, shape (h, w)."""
    return np.maximum(distance_transform_edt(~known), 1.0)


def independence(known: Bool) -> Array:
    """How much a pixel tells for itself, shape (h, w).

    Errors at depth d go together over about d pixels each way: a pixel of a gap whose deepest
    has depth d counts as 1/d² of one, a square hole as four. In shallow gaps each counts as one.
    """
    number, count = label(~known, structure=np.ones((3, 3)))
    deepest = np.ones(count + 1)
    if count:
        deepest[1:] = maximum(depth(known), number, np.arange(1, count + 1))
    weight = np.where(deepest > SHALLOW, 1.0 / deepest**2, 1.0)
    return np.asarray(weight[number])


def are_deep(known: Bool) -> bool:
    """Whether gaps are deeper than half a patch, more than a hundredth of what is missing."""
    return bool((depth(known) > SHALLOW).sum() > DEEP * (~known).sum())


def moved_gaps(known: Bool, rng: np.random.Generator) -> Bool:
    """The missing pixels moved elsewhere, where they lie on known ones, shape (h, w).

    They stay in one piece where there is room, and go round the picture's edge otherwise.
    """
    shifts = []
    for axis in (0, 1):
        n = known.shape[axis]
        lines = np.flatnonzero((~known).any(axis=1 - axis))
        first, last = (lines[0], lines[-1]) if len(lines) else (0, n - 1)
        room = 2 * (last - first) < n
        shifts.append(rng.integers(-first, n - last) if room else rng.integers(n))
    return known & np.roll(~known, shifts, (0, 1))


def hold_out(known: Bool, rng: np.random.Generator) -> Bool:
    """About a tenth of the known pixels, in gaps of the shape that the real ones have.

    A quarter where gaps are deep, for a hole tells little more than a pixel. What predicts well
    between known neighbours may not do so across a scratch or a hole. Of gaps that take more than
    that, single pixels are enough where they are shallow; deep ones stay whole, or a part of them
    as large as a quarter of the picture where they would leave too little.
    """
    wanted = (HELD_DEEP if are_deep(known) else HELD_OUT) * known.sum()
    held = np.zeros_like(known)
    for _ in range(TRIES):
        held |= moved_gaps(known, rng)
        if held.sum() >= wanted:
            break
    if not held.any():
        held = known & (rng.random(known.shape) < HELD_OUT)
    elif held.sum() > 2 * wanted:
        if not are_deep(known):
            held &= rng.random(known.shape) < wanted / held.sum()
        elif 2 * held.sum() > known.sum():
            held &= _window(known.shape, rng)
    # A few pixels may leave none held out by chance, or hold all.
    if not held.any() or (held >= known).all():
        held = np.zeros_like(known)
        held.flat[np.flatnonzero(known)[0]] = True
    return held


def halves(held: Bool) -> Bool:
    """One half of the held-out gaps, whole gaps where there are several, shape (h, w)."""
    number, count = label(held, structure=np.ones((3, 3)))
    if count > 1:
        return np.asarray(held & (number % 2 == 1))
    # One gap: its first pixels and its last, which lie apart.
    first = np.flatnonzero(held)
    half = np.zeros_like(held)
    half.flat[first[: len(first) // 2]] = True
    return half


def _window(shape: tuple[int, ...], rng: np.random.Generator) -> Bool:
    inside = np.zeros(shape, dtype=bool)
    top, left = (rng.integers(n - n // 2 + 1) for n in shape)
    inside[top : top + shape[0] // 2, left : left + shape[1] // 2] = True
    return inside
