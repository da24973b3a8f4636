"""What goes into a fit and what comes out of it, frozen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..graphs.precision import GraphStack
from ..likelihoods import Gaussian, Likelihood
from ..linalg.engines import EngineName
from ..linalg.prior import SidePrior
from .diagnostics import Diagnostics
from .draws import Draws
from .families import Family
from .local import Ground
from .place import ChainPlace, Origin
from .side import Prior, Side, SideInput, Strengths
from .snapshot import Snapshot
from .state import State

__all__ = ["Fit", "FittedSide", "Kind", "Progress", "Settings", "SideInput", "Start"]

Array = NDArray[np.float64]
Kind = Family | Literal["sampled"]

# Components a fit starts with; more are added while all of them earn their keep.
FIRST_RANK = 16


@dataclass(frozen=True)
class Settings:
    """What a fit is asked to do.

    Attributes
    ----------
    family : {"column", "row", "joint"}
    rank : int
        Most components.
    max_sweeps : int
    tol : float
        Stop when a sweep's relative gain of the bound falls below this.
    engine : {"auto", "dense", "sparse", "monte_carlo"}
    seed : int
    bias : bool or None
        None leaves it to `selection`.
    learn : bool
        Whether strengths of graphs, ridge and features are learned.
    prior : Prior
    limits : (float, float) or None
        Range of a value, which judges of predictions know of; None leaves it to `selection`.
    first_rank : int
        Components a variational fit starts with.
    draws : int
        Kept by a fit that samples; zero for a variational one.
    either : bool
        Whether a variational fit may take the place of one that samples, if it predicts better.
    chains : int
        Of a fit that samples; zero for as many as its sweeps are enough for.
    burn_in : int
        Most sweeps of a chain before its draws count.
    single : bool
        Whether second moments are stored in float32 while they are summed, for half the memory
        and traffic of the `row` and `joint` families; all sums stay in float64.
    least_noise : float
        Standard deviation that Gaussian noise has at the least in a fit that samples, in the
        unit of the values.
    open_noise : bool
        Whether noise of each row, or of each column, is a question where noise is Gaussian and one
        for all.
    local : Lines, Grid or None
        Where the local term of a variational fit is smooth; None without one.
    local_open : tuple of Lines or Grid
        Among which it has to be asked if any stays; empty where it is given.
    """

    family: Family = "row"
    rank: int = 100
    max_sweeps: int = 200
    tol: float = 1e-5
    engine: EngineName = "auto"
    seed: int = 0
    bias: bool | None = False
    learn: bool = False
    prior: Prior = field(default_factory=Prior)
    single: bool = False
    limits: tuple[float, float] | None = (-np.inf, np.inf)
    first_rank: int = FIRST_RANK
    draws: int = 0
    either: bool = False
    chains: int = 0
    burn_in: int = 120
    least_noise: float = 0.0
    open_noise: bool = False
    local: Ground | None = None
    local_open: tuple[Ground, ...] = ()

    def with_likelihood(self, likelihood: Likelihood) -> Settings:
        """With values that come from their entries in another way."""
        return replace(self, prior=replace(self.prior, likelihood=likelihood))


@dataclass(frozen=True)
class Start:
    """An earlier fit to go on from.

    Attributes
    ----------
    state : State
    offset, scale : float
        What its units are.
    strengths : tuple of Strengths, optional
        Of both sides, where the priors are to start from theirs.
    """

    state: State
    offset: float
    scale: float
    strengths: tuple[Strengths, Strengths] | None = None


@dataclass(frozen=True)
class Progress:
    """Where a running fit stands after a sweep; it ends when the gain is below `target`.

    `fit` makes what the fit would leave behind if it ended here; good until the callback returns.
    `most` are the sweeps after which it ends at the latest, `ended` the chains that are over.
    """

    sweep: int
    elbo: float
    gain: float
    target: float
    rank: int
    noise_std: float
    seconds: float
    fit: Callable[[], Fit]
    most: int
    ended: int = 0


@dataclass(frozen=True)
class FittedSide:
    """One side at the end of a fit.

    Attributes
    ----------
    side : Side
        With its prior at the strengths that were learned.
    stack : GraphStack
        The graphs it was given.
    strengths : Strengths
        Of those graphs; zero where a graph was left out.
    n_components : int
        Its bias included.
    graph_shares : ndarray of shape (n_graphs,)
        Share of the prior that each graph determines.
    ridge_share : float
    feature_share : float
        Share of the rows' energy that the features explain; NaN without features, 0 where they
        were given but not used.
    feature_weights : ndarray of shape (p, k)
        ⟨B⟩; empty without features.
    data_precision : ndarray
        What the observations add to the prior precision, as the family keeps it:
        τ·diag(G_i) (n, k) for `column`, τ·G_i packed for `joint`, nothing for `row`.
    prior : SidePrior
    lam : ndarray of shape (k,)
        K and ⟨λ⟩ that the covariance was made from: with `data_precision` they are the precision
        of q. `side` has the prior as it was learned last.
    """

    side: Side
    stack: GraphStack
    strengths: Strengths
    n_components: int
    graph_shares: Array
    ridge_share: float
    feature_share: float
    feature_weights: Array
    data_precision: Array
    prior: SidePrior
    lam: Array


@dataclass(frozen=True)
class Fit:
    """How a fit ended.

    Attributes
    ----------
    state : State
        Of the data less its offset, in units of its root mean square.
    offset, scale : float
    trace : tuple of float
        The bound after every sweep, in the data's units.
    ranks : tuple of int
        Components after every sweep.
    steps : tuple of int
        Steps of conjugate gradients in every sweep, all solves together.
    unsolved : int
        Solves of the last sweep that ran out of steps.
    converged : bool
    interrupted : bool
        Whether Ctrl-C ended it.
    stopped : bool
        Whether the callback ended it.
    rows, cols : FittedSide
    snapshot : Snapshot, ChainPlace or None
        Where a fit that did not converge can be taken up again.
    draws : Draws or None
        Of a fit by sampling, whose trace is of its log density.
    diagnostics : Diagnostics or None
        What its chains say of themselves.
    limits : (float, float) or None
        Range of a value, where that was a question and this the answer.
    kind : {"column", "row", "joint", "sampled"}
    likelihood : Likelihood
    ends : tuple of Origin
        Where its chains stand, if it has any.
    """

    state: State
    offset: float
    scale: float
    trace: tuple[float, ...]
    ranks: tuple[int, ...]
    converged: bool
    interrupted: bool
    stopped: bool
    rows: FittedSide
    cols: FittedSide
    snapshot: Snapshot | ChainPlace | None
    steps: tuple[int, ...] = ()
    unsolved: int = 0
    draws: Draws | None = None
    diagnostics: Diagnostics | None = None
    limits: tuple[float, float] | None = None
    kind: Kind = "row"
    likelihood: Likelihood = field(default_factory=Gaussian)
    ends: tuple[Origin, ...] = ()
