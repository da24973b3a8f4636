"""How well left-out entries are predicted, and by how much a model is too sure of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..likelihoods.outcomes import Distribution

Array = NDArray[np.float64]

# Standard errors of a gain that leave no doubt.
CLEAR = 3.0
# How a model has to compare with the one that stands: be better; be better by more than the
# standard error, because it knows more, and by a share of the error besides, because it takes
# several times as long; be as good, because it knows less; or be as good in its errors and tell
# their sizes better beyond doubt.
OTHER, MORE, DEAR, LESS, SURER = 0, 1, 2, -1, 3
WORTH = 0.005
# Share of the expected squared error that a model may be off by.
SLIGHT = 0.05
NO_LOGS = np.empty(0)


class Confidence(NamedTuple):
    """What a model expects of its squared errors, and what they are, part by part.

    Attributes
    ----------
    errors : tuple of ndarray
        Squared errors of each part that was left out, before any range of values.
    expected, noise : tuple of float
        What the model expected of them on average, and how much of that is noise.
    """

    errors: tuple[Array, ...] = ()
    expected: tuple[float, ...] = ()
    noise: tuple[float, ...] = ()

    def of(self, found: Distribution, values: Array, noise: float) -> Confidence:
        """With one part more."""
        return Confidence(
            (*self.errors, (values - found.mean) ** 2),
            (*self.expected, float(found.variance.mean())),
            (*self.noise, noise),
        )

    @property
    def own(self) -> float:
        """Variance of the noise that the model has; nought if it was not asked."""
        return float(np.mean(self.noise)) if self.noise else 0.0

    @property
    def untold(self) -> float:
        """Variance that errors have beyond what is expected; nought if that may be chance.

        Negative where too much is expected.
        """
        if not self.errors:
            return 0.0
        errors, expected = np.concatenate(self.errors), float(np.mean(self.expected))
        beyond = float(errors.mean()) - expected
        chance = float(errors.std(ddof=1)) / np.sqrt(len(errors))
        return beyond if abs(beyond) > max(chance, SLIGHT * expected) else 0.0


class Early(NamedTuple):
    """What the first of several chains loses on left-out entries.

    Attributes
    ----------
    losses : tuple of ndarray
        As it is, and within the observed range if that is a question, (n_left_out,) each.
    logs : ndarray of shape (n_left_out,)
        −ln p of each, where that is a question besides; else empty.
    """

    losses: tuple[Array, ...]
    logs: Array = NO_LOGS


class Score(NamedTuple):
    """How well left-out entries are predicted.

    Attributes
    ----------
    losses : ndarray of shape (n_left_out,)
        Of all folds: squared errors, less what a longer chain would be without, or −ln p.
    clipped : bool
        Whether these are within the observed range.
    squared : bool
    confidence : Confidence
    logs : ndarray of shape (n_left_out,)
        −ln p of each, where that is a question besides squared errors; else empty.
    early : Early or None
        Of the first chain, where a trial has several.
    """

    losses: Array
    clipped: bool
    squared: bool = True
    confidence: Confidence = Confidence()
    logs: Array = NO_LOGS
    early: Early | None = None

    @property
    def error(self) -> float:
        """Root mean squared error, or mean of −ln p."""
        mean = float(self.losses.mean())
        return float(np.sqrt(max(mean, 0.0))) if self.squared else mean

    @property
    def measure(self) -> str:
        """What the error is."""
        return "left-out error" if self.squared else "left-out log loss"

    def is_as_good_as(self, other: Score) -> bool:
        """Whether the other's gain is within one standard error of nothing."""
        return not _shows(self.losses - other.losses)

    def tells_more_than(self, other: Score) -> bool:
        """Whether the densities of what was left out are higher beyond doubt."""
        return len(self.logs) == len(other.logs) > 0 and _shows(other.logs - self.logs, CLEAR)

    def first(self, count: int) -> Score:
        """On the first entries alone."""
        return self._replace(losses=self.losses[:count], logs=self.logs[:count])

    def trails(self, other: Score) -> bool:
        """Whether the other's gain is beyond doubt."""
        return _shows(self.losses - other.losses, CLEAR)

    def cannot_replace(self, standing: Score, rule: int) -> bool:
        """Whether it is beyond doubt, after some parts, that it will not replace what stands.

        Of n entries c = f·n were left out so far, with a mean gain g of standard error s. That of
        all is to be expected within g ± s√(1 − f), and has to be more than so many times s√f.
        """
        seen = len(self.losses)
        share, bar = seen / len(standing.losses), standing.first(seen)
        if share >= 1.0:
            return False
        return _lost((self.losses, self.logs), (bar.losses, bar.logs), rule, share, 1.0 - share)

    def is_out_of_reach(self, early: Early, rule: int) -> bool:
        """Whether it is beyond doubt, after the first of several chains, that others lose to this.

        First chains are compared with each other. How much those that follow change a gain is not
        known: it is taken to be within as many standard errors as leave no doubt.
        """
        if self.early is None:
            return False
        stands = self.early.losses[min(int(self.clipped), len(self.early.losses) - 1)]
        return all(
            _lost((losses, early.logs), (stands, self.early.logs), rule, 1.0, 1.0)
            for losses in early.losses
        )

    def replaces(self, standing: Score, rule: int) -> bool:
        """Whether it does for its model to take the place of the one that stands."""
        if rule == DEAR and self.squared and self.error > (1.0 - WORTH) * standing.error:
            return False
        if rule == SURER:
            return self.is_as_good_as(standing) and self.tells_more_than(standing)
        if rule in (MORE, DEAR):
            return not standing.is_as_good_as(self)
        return self.error < standing.error or (rule == LESS and self.is_as_good_as(standing))


def _lost(
    found: tuple[Array, Array], bar: tuple[Array, Array], rule: int, share: float, open_: float
) -> bool:
    """Whether losses, or −ln p where they decide, will hardly do for a model to be taken."""
    needed = {MORE: 1.0, DEAR: 1.0, LESS: -1.0, SURER: -1.0}.get(rule, 0.0)
    if _hardly(bar[0] - found[0], share, open_, needed):
        return True
    both = len(found[1]) == len(bar[1]) > 0
    return rule == SURER and both and _hardly(bar[1] - found[1], share, open_, CLEAR)


def _hardly(gain: Array, share: float, open_: float, needed: float) -> bool:
    """Whether a mean gain will hardly be so many of its standard errors once all is known.

    Standard errors are then smaller by the root of `share`; what is `open_` is a share of the
    variance of the mean that is known.
    """
    error = float(gain.std(ddof=1)) / np.sqrt(len(gain))
    most = float(gain.mean()) + CLEAR * error * np.sqrt(open_)
    return bool(most < needed * error * np.sqrt(share))


def _shows(gain: Array, errors: float = 1.0) -> bool:
    """Whether a mean gain, of shape (n_left_out,), is more than so many standard errors."""
    return bool(gain.mean() > errors * gain.std(ddof=1) / np.sqrt(len(gain)))
