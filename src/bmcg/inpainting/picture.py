"""Filling a picture: fields, patches and lines, each trusted where it predicts better."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

from .. import memory
from ..backends import open_backend
from ..graphs import chain_graph
from ..observations.checking import LARGEST
from .bands import Trial, expected_error, local_average, more_trials
from .fits import fit_whole, interrupts_heard
from .gaps import halves, hold_out, independence
from .grids import SIDE
from .patches import Texture, learn
from .surfaces import Later, Surfaces

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

# Fewer known pixels than this teach nothing about texture.
LEAST_KNOWN = 100
# How many standard errors another prediction must gain to come in.
SURE = 1.0
# Sweeps of the picture as one matrix: first, where its squared error is then at most so many times
# that of the best other prediction, and where it is itself the best.
FEW_SWEEPS, MORE_SWEEPS, MANY_SWEEPS, NEAR = 4, 16, 40, 2.0
# No question is asked of a fit: pixels that are kept back judge all predictions together.
PARAMETERS = {
    "posterior": "row",
    "bias": True,
    "max_sweeps": 12,
    "tol": 1e-4,
    "selection": False,
}


@dataclass(frozen=True)
class Inpainted:
    """A filled picture.

    Attributes
    ----------
    mean : ndarray of shape (h, w) or (h, w, channels)
        Estimate of every pixel, known ones included.
    std : ndarray of the same shape
        Standard deviation of the pixel as it would have been seen, noise included.
    noise_std : float
        What was inferred of the noise on the known pixels, texture too fine for patches
        included; NaN where too few pixels are known to tell.
    ranks : tuple of int
        Components of each kind of patches that stand out of the noise; empty likewise.
    """

    mean: Array
    std: Array
    noise_std: float
    ranks: tuple[int, ...]


def inpaint(
    picture: Array, known: Bool, *, random_state: int = 0, n_jobs: int | None = None, **more: Any
) -> Inpainted:
    """Fill the missing pixels of a picture.

    Predictions of every pixel are made in several ways. Three are Gaussian fields through the
    known pixels: a plate, a membrane, and one that bends least along the edges of the picture.
    Another comes from overlapping patches, each of a few kinds a low-rank model whose factors are
    integrated out: ranks and noise are learned, and a patch belongs where it is most probable.
    The last is `BMCG` on the picture itself, its lines and columns on chain
    graphs. A tenth of the known pixels is kept back, in gaps of the shape of the missing ones,
    to see how well each does in which part of the picture; the answer is their best
    combination there, where fields and patches are made again with all known pixels.

    Parameters
    ----------
    picture : ndarray of shape (h, w) or (h, w, channels)
        Anything where not known.
    known : ndarray of bool, shape (h, w)
    random_state : int
    n_jobs : int, optional
    **more
        Parameters of `BMCG`, for the picture as one matrix.

    Returns
    -------
    Inpainted
    """
    values = np.moveaxis(np.atleast_3d(np.asarray(picture, dtype=np.float64)), 2, 0)
    seen = np.asarray(known)
    if seen.dtype != np.bool_ or seen.shape != values.shape[1:]:
        raise ValueError(
            f"known has shape {seen.shape} and type {seen.dtype}, expected "
            f"{values.shape[1:]} and bool, as the picture has"
        )
    if not seen.any():
        raise ValueError("no pixel is known: there is nothing to fill the picture from")
    if not (np.abs(values[:, seen]) <= LARGEST).all():
        raise ValueError(f"picture must be finite where it is known, and not above {LARGEST:g}")
    memory.require(
        memory.picture(float(values.size)),
        f"a picture of {seen.shape[1]} x {seen.shape[0]} pixels",
        "fill it in parts, or make it smaller",
    )
    values = np.where(seen, values, 0.0)
    level = values[:, seen].min(axis=1)
    if (level == values[:, seen].max(axis=1)).all():
        mean = np.broadcast_to(level, (*seen.shape, len(level))).reshape(np.shape(picture)).copy()
        return Inpainted(mean, np.zeros_like(mean), 0.0, ())
    parameters = PARAMETERS | more | {"random_state": random_state, "n_jobs": n_jobs}
    with interrupts_heard():
        found = _fill(values, seen, parameters)
    mean, std = (np.moveaxis(part, 0, 2) for part in (found.mean, found.std))
    if np.ndim(picture) == 2:
        mean, std = mean[:, :, 0], std[:, :, 0]
    return Inpainted(mean, std, found.noise_std, found.ranks)


def _fill(values: Array, known: Bool, parameters: dict[str, Any]) -> Inpainted:
    """The same for (channels, h, w)."""
    if known.sum() < LEAST_KNOWN:
        surface = Surfaces.usual(len(values)).plate(values, known)
        spread = float(values[:, known].std())
        return Inpainted(surface, np.full(values.shape, spread), np.nan, ())
    rng = np.random.default_rng([int(parameters["random_state"]), 1])
    held = hold_out(known, rng)
    kept = known & ~held
    fields = Surfaces.chosen(values, kept, held)
    trials = fields.all(values, kept)
    finals = fields.again(values, known, trials)
    surface = trials[0]
    # Smoothing takes a share h of the noise out of what it has seen, and of what it has not seen
    # it misses the noise by 1/(1 - h): between the two is the noise itself.
    noise = (_loss(surface - values, kept) * _loss(surface - values, held)) ** 0.25
    patches, texture = _patches(values, (known, held), trials[2], noise, parameters)
    # Patches know better than the plate where edges run.
    trials[2] = fields.steered(values, kept, patches[0][0], 1)
    trials.append(patches[0][0])
    finals.append(partial(fields.steered, values, known, patches[1][0], 1))
    finals.append(lambda: patches[1][0])
    best = min(_loss(found - values, held) for found in trials)
    lines = _lines(values, kept, held, best, parameters)
    trials, finals = trials + lines, finals + [lambda: lines[0]] * len(lines)
    tried, mean = _combine(values, known, held, trials, finals)
    first = Trial(held, kept, _squared(surface - values))

    def errors_of_surface(seen: Bool) -> Array:
        return _squared(fields.plate(values, seen) - values)

    more = more_trials(known, first, errors_of_surface, rng)
    variances = patches[0][1].mean(axis=0), patches[1][1]
    error = expected_error(values, known, first, _squared(tried - values), more, variances)
    return Inpainted(mean, np.sqrt(error), texture.noise_std, texture.ranks)


def _loss(error: Array, held: Bool) -> float:
    return float(np.mean(error[:, held] ** 2))


def _squared(error: Array) -> Array:
    """Mean over the channels, (h, w)."""
    return np.asarray((error**2).mean(axis=0))


def _patches(
    values: Array,
    masks: tuple[Bool, Bool],
    surface: Array,
    noise: float,
    parameters: dict[str, Any],
) -> tuple[list[tuple[Array, Array]], Texture]:
    """Means and variances from patches without the held-out pixels, and with them.

    What is learned is learned without them. `masks` are the known pixels and the held-out ones.
    """
    known, held = masks
    kept, seed = known & ~held, int(parameters["random_state"])
    # One thread in sums of floating-point numbers, for the same ones whatever the machine.
    with open_backend(parameters["n_jobs"]) as pool, threadpool_limits(1):
        texture, guess = learn(values, (kept, held), surface, noise, seed, pool)
        tried = texture.fill(values, kept, held, guess, pool)
        found = texture.fill(values, known, ~known, tried[0], pool)
    return [tried, found], texture


def _lines(
    values: Array, known: Bool, held: Bool, best: float, parameters: dict[str, Any]
) -> list[Array]:
    """The picture as one low-rank matrix, lines and columns on chains: [(channels, h, w)] or [].

    Channels stand side by side: they share what the lines have in common. None where a few sweeps
    leave held-out pixels `NEAR` times the error of the best other prediction.
    """
    channels, h, w = values.shape
    if min(h, w) < SIDE:
        return []
    wide = np.where(known, values, np.nan).transpose(1, 0, 2).reshape(h, channels * w)
    chains = sp.csr_array(sp.kron(sp.eye_array(channels), chain_graph(w)))

    def found(sweeps: int) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = fit_whole(parameters | {"max_sweeps": sweeps}, wide, chain_graph(h), chains)
        return model.complete().reshape(h, channels, w).transpose(1, 0, 2)

    loss = _loss(found(FEW_SWEEPS) - values, held)
    if loss > NEAR * best:
        return []
    return [found(MANY_SWEEPS if loss <= best else MORE_SWEEPS)]


def _combine(
    values: Array, known: Bool, held: Bool, trials: list[Array], finals: list[Later]
) -> tuple[Array, Array]:
    """The combination of least error around each pixel, without the held-out pixels and with them.

    First one for the whole picture, or a prediction by itself. Then predictions come in one by
    one, where they are better than elsewhere: with errors a of what there is and b of the next,
    w = ⟨a(a − b)⟩ / ⟨(a − b)²⟩ is the best weight of the next.

    Parameters
    ----------
    values : ndarray of shape (channels, h, w)
    known, held : ndarray of bool, shape (h, w)
    trials : list of ndarray of shape (channels, h, w)
        Predictions without the held-out pixels.
    finals : list of callable
        What gives them with those pixels; called for what comes in.
    """
    # Errors go together within a gap: a weight fitted to a gap says nothing about its error
    # there, so each half of the gaps is combined as the other half would have it.
    half, told = halves(held), float(independence(known & ~held)[held].sum())
    tried, mean = _overall(values, held, half, trials, finals)
    for trial, final in zip(trials, finals, strict=True):
        a, b = tried - values, trial - values
        crossed = np.where(half, _weight(a, b, held & ~half), _weight(a, b, held & half))
        both = (1 - crossed) * tried + crossed * trial
        gain = (_squared(a) - _squared(both - values))[held]
        if gain.mean() <= SURE * gain.std() / np.sqrt(told):
            continue
        weight = _weight(a, b, held)
        tried, mean = both, (1 - weight) * mean + weight * final()
    return tried, mean


def _overall(
    values: Array, held: Bool, half: Bool, trials: list[Array], finals: list[Later]
) -> tuple[Array, Array]:
    """One combination for the whole picture, or the best prediction where that is as good."""
    errors = np.stack([trial - values for trial in trials])
    parts = [_shares(errors[:, :, at]) for at in (held & ~half, held & half)]
    crossed = np.where(half, *(np.einsum("k,kchw->chw", own, errors) for own in parts))
    losses = [_loss(own, held) for own in errors]
    best = int(np.argmin(losses))
    if _loss(crossed, held) >= losses[best]:
        return trials[best], finals[best]()
    shares = _shares(errors[:, :, held])
    mean = sum(own * final() for own, final in zip(shares, finals, strict=True) if own > 0)
    return values + crossed, np.asarray(mean)


def _shares(errors: Array) -> Array:
    """Weights of least squared error, none below zero, one in all: errors (k, channels, n)."""
    flat = errors.reshape(len(errors), -1)
    if not flat.size:
        return np.full(len(errors), 1.0 / len(errors))
    products = flat @ flat.T
    size = float(np.trace(products))
    if size == 0.0:
        return np.full(len(errors), 1.0 / len(errors))
    # Σw = 1 as one more equation, of far more weight than the rest.
    root = np.linalg.cholesky(products / size + 1e-9 * np.eye(len(products))).T
    sure, known = np.full((1, len(root)), 1e3), np.append(np.zeros(len(root)), 1e3)
    found, _ = nnls(np.vstack((root, sure)), known)
    return np.asarray(found / found.sum())


def _weight(a: Array, b: Array, held: Bool) -> Array:
    """The best weight of a prediction with errors b next to one with errors a, (1, h, w)."""
    gap = _around((a - b) ** 2, held)
    return np.clip(_around(a * (a - b), held) / np.maximum(gap, 1e-12), 0.0, 1.0)


def _around(what: Array, held: Bool) -> Array:
    """Average of `what` over held-out pixels nearby, all channels together, (1, h, w)."""
    mean = what.mean(axis=0)
    overall = float(mean[held].mean()) if held.any() else 0.0
    return local_average(mean, held.astype(np.float64), overall)[None]
