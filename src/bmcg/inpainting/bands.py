"""What error to expect of a filled pixel: that of pixels really left out, as deep in such gaps.

The deeper a pixel lies in a gap, the less its surroundings say about it, and errors within a gap
go together: a hole tells about as much as one of its pixels. Gaps of the same shape are put
elsewhere until enough of them have been filled; errors are averaged by depth. In shallow gaps they
are then compared with those nearby and with how sure the patches are, in wide ones with what lies
around (`surroundings`), and their bands are as wide as those of the gaps left out had to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dctn, idctn
from scipy.ndimage import gaussian_filter1d

from .gaps import are_deep, depth, hold_out, independence
from .surroundings import Left, Surroundings, wide_gaps

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

# Pixels over which the judgement is averaged, and how many more the overall one counts for.
REACH, STEADY = 12.0, 20.0
# Depths are told apart in this many steps for a factor of e, averaged over `WIDTH` of them.
STEPS, WIDTH = 8, 2.0
# So many independent pixels are wanted of every depth, from no more than so many moves of gaps.
ENOUGH, MOVES = 20.0, 12
# Weight, in independent pixels, of "the combination is no better than the surface".
DOUBT = 3.0


@dataclass(frozen=True)
class Trial:
    """Pixels that were held out, all (h, w).

    Attributes
    ----------
    held, kept : ndarray of bool
        Held out, and known.
    squared : ndarray
        Squared error of the surface through the known ones.
    """

    held: Bool
    kept: Bool
    squared: Array

    @cached_property
    def depth(self) -> Array:
        """Of every pixel, with the held-out ones missing."""
        return depth(self.kept)

    @cached_property
    def told(self) -> Array:
        """How much a pixel tells for itself, zero where it is not held out."""
        return np.where(self.held, independence(self.kept), 0.0)


class Profile:
    """A quantity by depth in a gap.

    Parameters
    ----------
    parts : list of (Trial, ndarray of shape (h, w))
        The quantity, and the trial whose held-out pixels tell it.
    """

    def __init__(self, parts: list[tuple[Trial, Array]]) -> None:
        depths, weight, what = (
            np.concatenate(found)
            for found in zip(
                *((t.depth[t.held], t.told[t.held], part[t.held]) for t, part in parts),
                strict=True,
            )
        )
        step = np.rint(STEPS * np.log(depths)).astype(np.intp)
        size = int(step.max()) + 1
        # A kernel of height one: the sums count independent pixels.
        height = np.sqrt(2 * np.pi) * WIDTH
        count, total = (
            height * gaussian_filter1d(np.bincount(step, w, size), WIDTH, mode="constant")
            for w in (weight, weight * what)
        )
        self.count = count
        self.mean = total / np.maximum(count, 1e-300)

    def __call__(self, depths: Array) -> Array:
        """At some depths, of any shape; beyond the deepest, as a thin plate's error grows, ∝ d²."""
        step = STEPS * np.log(depths)
        last = len(self.mean) - 1
        inside = np.interp(step, np.arange(last + 1), self.mean)
        return np.asarray(inside * np.exp(2.0 * np.maximum(step - last, 0.0) / STEPS))

    def counted(self, depths: Array) -> Array:
        """How many independent pixels tell of some depths."""
        return np.interp(STEPS * np.log(depths), np.arange(len(self.count)), self.count)


def more_trials(
    known: Bool,
    first: Trial,
    squared: Callable[[Bool], Array],
    rng: np.random.Generator,
) -> list[Trial]:
    """Further trials of the surface, until gaps as deep as the real ones were filled often enough.

    None where gaps are shallow: those held out are many.

    Parameters
    ----------
    known : ndarray of bool, shape (h, w)
    first : Trial
    squared : callable
        Squared errors of the surface through the pixels given, shape (h, w).
    rng : Generator
    """
    trials: list[Trial] = []
    deepest = float(depth(known).max())
    if not are_deep(known):
        return trials
    while len(trials) < MOVES and _least_count([first, *trials], deepest) < ENOUGH:
        held = hold_out(known, rng)
        trials.append(Trial(held, known & ~held, squared(known & ~held)))
    return trials


def expected_error(
    values: Array,
    known: Bool,
    first: Trial,
    tried: Array,
    more: list[Trial],
    variances: tuple[Array, Array],
) -> Array:
    """Expected squared error of every pixel, shape (channels, h, w).

    Parameters
    ----------
    values : ndarray of shape (channels, h, w)
    known : ndarray of bool, shape (h, w)
    first : Trial
    tried : ndarray of shape (h, w)
        Squared errors of the combination in the first trial.
    more : list of Trial
        Trials of the surface alone.
    variances : (ndarray of shape (h, w), ndarray of shape (channels, h, w))
        Of the patches, without the held-out pixels and with them: where they are less sure than
        around, errors are larger.
    """
    at = depth(known)
    surface = Profile([(trial, trial.squared) for trial in (first, *more)])
    alone, both, sure = (Profile([(first, what)]) for what in (first.squared, tried, variances[0]))
    # Gaps that were tried on the surface alone would be filled that much better by all together;
    # in logarithms, for a combination can be a thousand times better where lines repeat.
    doubt = DOUBT if more else 0.0
    ratio = np.maximum(both.mean, 1e-12) / np.maximum(alone.mean, 1e-12)
    ratio **= both.count / (both.count + doubt)

    def usual(depths: Array) -> Array:
        gain = np.interp(STEPS * np.log(depths), np.arange(len(ratio)), ratio)
        return np.asarray(surface(depths) * gain)

    nearby = _locally([(first, tried, both), *((t, t.squared, surface) for t in more)])
    relative = variances[1] / np.maximum(sure(at) * _locally([(first, variances[0], sure)]), 1e-12)
    special = nearby * np.clip(relative, 0.1, 10.0)
    wide = wide_gaps(values, known)
    if wide.number.any():
        # Patches that reach into a wide gap from one side do not know what lies beyond.
        parts = [_left(values, first, tried, usual)]
        parts += [_left(values, trial, trial.squared, surface) for trial in more]
        around = Surroundings(parts)
        special = np.where(wide.number > 0, around(wide), special)
    # A variance known from n independent errors: that of Student's t is larger by about 2/n.
    few = 1.0 + 2.0 / np.maximum(surface.counted(at), 1.0)
    return np.asarray(few * usual(at) * special)


def _left(values: Array, trial: Trial, squared: Array, expected: Callable[[Array], Array]) -> Left:
    """The wide gaps of a trial, against the errors expected at their depths."""
    ratio = squared / np.maximum(expected(trial.depth), 1e-12)
    return Left(wide_gaps(values, trial.kept), trial.told, ratio)


def _locally(parts: list[tuple[Trial, Array, Profile]]) -> Array:
    """How much larger a quantity is nearby than elsewhere at its depth, shape (h, w)."""
    weight, total = (np.zeros(parts[0][1].shape) for _ in range(2))
    for trial, what, profile in parts:
        weight += trial.told
        total += trial.told * what / np.maximum(profile(trial.depth), 1e-12)
    return local_average(total / np.maximum(weight, 1e-300), weight, 1.0)


def local_average(what: Array, weight: Array, overall: float) -> Array:
    """Average over pixels nearby by their weights, shape (h, w)."""
    both = np.stack((weight, np.where(weight > 0, weight * what, 0.0)))
    # A Gaussian around each pixel, the picture mirrored at its edges, is one of cosines.
    turned = dctn(both, axes=(1, 2), norm="ortho")
    for axis, n in enumerate(weight.shape):
        wave = np.exp(-0.5 * (REACH * np.pi * np.arange(n) / n) ** 2)
        turned *= wave[:, None] if axis == 0 else wave
    count, total = idctn(turned, axes=(1, 2), norm="ortho")
    count = np.maximum(count, 0.0)
    # Some pixels' worth of the overall average settles places with few pixels to go by.
    prior = STEADY / (2 * np.pi * REACH**2)
    return np.asarray((total + prior * overall) / (count + prior))


def _least_count(trials: list[Trial], deepest: float) -> float:
    """Independent pixels in the deeper half of the gaps, the fewest at any depth."""
    count = Profile([(trial, trial.squared) for trial in trials]).count
    first = int(STEPS * np.log(max(deepest / 2, 1.0)))
    last = int(STEPS * np.log(deepest)) + 1
    wanted = count[first:last]
    return float(wanted.min()) if len(wanted) else 0.0
