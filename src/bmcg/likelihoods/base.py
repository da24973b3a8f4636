"""What inference asks of a likelihood: a Gaussian that stands for it at every observed entry.

ln p(x_ij | y_ij) is bounded from below, or augmented, by −½ τ w_ij (t_ij − y_ij)² and a constant.
Whatever makes the bound tight, or is drawn, is a function of the moments of y at the entries, so
nothing of it has to be kept: updates of the factors see weights w and targets t, no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..backends import SparseRows
from ..backends.base import Random
from .gamma import Gamma
from .outcomes import Distribution

Array = NDArray[np.float64]
Index = NDArray[np.integer[Any]]
# What a likelihood has learned of itself besides τ, by name: degrees of freedom, thresholds.
Own = Mapping[str, Array]
# A plain dict, because models can be pickled; a Mapping, because nobody writes to it.
NOTHING: Own = {}


class Noise(NamedTuple):
    """What q says of a likelihood's own parameters.

    Attributes
    ----------
    tau : Gamma
        Precision that the entries have in common; one where there is none.
    own : mapping of str to ndarray
        The others.
    """

    tau: Gamma
    own: Own = NOTHING


class Drawn(NamedTuple):
    """A draw of a likelihood's own parameters."""

    tau: float
    own: Own = NOTHING


class Weighting(NamedTuple):
    """The entries as the updates of the factors see them: targets t_ij with precision τ w_ij.

    Attributes
    ----------
    tau : float
        What all entries have in common.
    weights : ndarray of shape (n_observed,) or None
        w, in row order; None where all are one.
    targets : ndarray of shape (n_observed,) or None
        t, in row order; None for the observed values.
    zeros : float
        Weight of a zero that stands at every pair of a row and a column, observed or not.
    lines : (ndarray or None, ndarray or None)
        Weights of rows (m,) and of columns (n,) whose products `weights` are, where they are such.
    """

    tau: float
    weights: Array | None = None
    targets: Array | None = None
    zeros: float = 0.0
    lines: tuple[Array | None, Array | None] = (None, None)


@dataclass
class Match:
    """How q, or a draw, matches the observed entries; moments are computed only if asked for.

    Attributes
    ----------
    entries : SparseRows
        In row order, values in the units of the fit.
    squared_error : float
        Σ ⟨(x_ij − y_ij)²⟩; NaN unless the likelihood is plain.
    moments : callable
        Gives mean and variance of the entries, (n_observed,) each; of a draw, itself and zero.
    memo : dict
        What a likelihood has made of these, to be asked for again.
    """

    entries: SparseRows
    squared_error: float = np.nan
    moments: Callable[[], tuple[Array, Array]] = field(default=lambda: (_none(), _none()))
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def _found(self) -> tuple[Array, Array]:
        return self.moments()

    @property
    def values(self) -> Array:
        """The observed values, in the units of the fit."""
        return self.entries.values

    @property
    def mean(self) -> Array:
        """⟨y_ij⟩, shape (n_observed,)."""
        return self._found[0]

    @property
    def variance(self) -> Array:
        """Var(y_ij), shape (n_observed,)."""
        return self._found[1]

    @property
    def squares(self) -> Array:
        """⟨(x_ij − y_ij)²⟩, shape (n_observed,)."""
        return (self.values - self.mean) ** 2 + self.variance


def _none() -> Array:
    raise AssertionError("moments of the entries are asked for, but nobody gives them")


class Places(NamedTuple):
    """Where predictions are asked for: paired positions, and the units of the fit.

    Attributes
    ----------
    rows, cols : ndarray of shape (n,)
    offset, scale : float or ndarray of shape (n,)
        A value is offset + scale · y, where y is in the units of the fit.
    """

    rows: Index
    cols: Index
    offset: float | Array = 0.0
    scale: float | Array = 1.0


class Likelihood(Protocol):
    """p(x_ij | y_ij) of an observed value given the entry of the matrix.

    Arrays have one element for each observed entry, in row order.
    """

    name: str
    is_plain: bool
    """Whether weights and targets are none: nothing is asked about single entries."""
    is_linear: bool
    """Whether the expected observation is the entry, in other units."""

    @property
    def title(self) -> str:
        """What `likelihood_of` makes it from again."""

    def units(self, values: Array, biased: bool) -> tuple[float, float]:
        """What is taken from the values, and what they are then divided by, for a fit."""

    def start(self, entries: SparseRows, n_cols: int) -> Noise:
        """Own parameters that a fit starts from."""

    # Variational: with whatever makes the bound tight at its optimum.
    def weighting(self, noise: Noise, match: Match) -> Weighting:
        """Weights and targets of the entries."""

    def update(self, noise: Noise, match: Match) -> Noise:
        """Own parameters; the bound does not fall."""

    def bound(self, noise: Noise, match: Match) -> float:
        """The bound's terms ⟨ln p(x | y)⟩ − KL(q(own) ‖ p(own)), every constant included."""

    def cautious(self, noise: Noise) -> Noise | None:
        """For a sweep after which the bound was lower: steeper weights; None where none are."""

    def bold(self, noise: Noise) -> Noise:
        """Without the care that was taken so far; itself where none was."""

    # Sampling, given a draw of the entries.
    def draw_weighting(self, noise: Drawn, match: Match, rng: Random) -> Weighting:
        """Weights and targets, from a draw of the augmentation given all else."""

    def draw(self, noise: Drawn, match: Match, seen: Weighting, rng: Random) -> Drawn:
        """Own parameters given all else; `seen` is what the entries were drawn with."""

    def log_density(self, noise: Drawn, match: Match) -> float:
        """ln p(x | y), the augmentation integrated out."""

    def spread(self, noise: Drawn, match: Match) -> float:
        """How far values lie from their entries, or, without such noise, the entries from zero."""

    def first_draw(self, noise: Noise) -> Drawn:
        """Where a chain starts whose own parameters are known as `noise` says."""

    def levelled(self, own: Own) -> tuple[Array | None, Own]:
        """What each of s draws adds to all of its entries, (s,), and `own` without that.

        The level of all entries is known together with their biases only: moments of entries are
        to have it. None where entries have no level besides.
        """

    def summary(self, tau: Array, own: Own) -> Noise:
        """What s draws say: tau (s,), every part of `own` with s as its first axis."""

    # Predictions, from mean and variance of entries in the units of the fit.
    def observed(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """Distributions of new observations, in the data's units."""

    def entry(self, mean: Array, variance: Array, noise: Noise, at: Places) -> Distribution:
        """Distributions of what is expected of an observation, in the data's units."""

    def simulate(self, y: Array, noise: Drawn, at: Places, rng: np.random.Generator) -> Array:
        """Observations of drawn entries y (..., n), in the data's units."""

    def entries_of(self, y: Array, noise: Drawn, at: Places) -> Array:
        """What is expected of observations of drawn entries y (..., n), in the data's units."""

    def words(self, noise: Noise, scale: float) -> str:
        """The noise in words, for data in units of `scale`."""

    def newcomers(self, noise: Noise, n: int) -> Noise:
        """Own parameters for n rows that come after the fit, in the place of its rows."""

    def joined(self, noise: Noise, n: int) -> Noise:
        """Own parameters with n more rows after those of the fit."""

    def transposed(self) -> Likelihood:
        """The same with rows and columns in each other's place."""
