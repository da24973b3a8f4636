"""Overlapping patches: what a picture's texture looks like, learned where pixels are known.

Patches come in kinds: edges of one direction, a texture, flat ground. All kinds together have a
high rank, each kind a low one, so every kind is a Gaussian of its own (`gaussians`), and a patch
belongs where its known pixels are most probable. Channels are turned to what varies most, next
most, and so on; there each has Gaussians of its own, and all share their kinds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend
from .gaussians import Gaussians
from .grids import covering_grid, patch_grid

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

# Kinds of patches at most; one is learned from no fewer entries than this many whole patches have.
KINDS, LEAST_PATCHES = 16, 300
# Patches are learned from at most this many of them, and filled this many at a time.
LEARN_FROM, ROWS_AT_ONCE = 16_384, 16_384
# Kinds that a patch is asked of: those of which its guess is most probable. A pixel that is
# guessed counts so much of a known one. One kind that is ahead by so much in log-density is not
# doubted.
ASKED, GUESSED, DOUBTED = 2, 0.5, 10.0
# Variance of a patch's level, in variances of the picture: any level will do.
LEVEL = 10.0
# Shares of those patches that the first step of learning takes, those after it as long as
# held-out pixels are told better and better, and the last; how many steps those are at most.
FIRST, MIDDLE, LAST = 0.25, 0.5, 1.0
MOST_STEPS = 6


@dataclass(frozen=True)
class Texture:
    """What the patches of a picture look like.

    Attributes
    ----------
    basis : ndarray of shape (channels, channels)
    level : ndarray of shape (channels,)
        Means of the channels.
    gaussians : tuple of Gaussians
        Of each turned channel, with the same kinds.
    noise : ndarray of shape (channels, kinds)
        Variance of the noise in each turned channel, texture too fine to tell from it included.
    clean : ndarray of shape (channels, kinds, w, w)
        What the noise contributes to a patch.
    share : ndarray of shape (kinds,)
        Of the patches that were learned from.
    """

    basis: Array
    level: Array
    gaussians: tuple[Gaussians, ...]
    noise: Array
    clean: Array
    share: Array

    @property
    def noise_std(self) -> float:
        """Of a pixel, the root of the mean over channels and patches."""
        return float(np.sqrt((self.noise @ self.share).mean()))

    @property
    def ranks(self) -> tuple[int, ...]:
        """How many components of each kind stand out of the noise, in the first channel."""
        values = np.linalg.eigvalsh(self.gaussians[0].covariance)
        return tuple(int(found) for found in (values > 2 * self.noise[0][:, None]).sum(axis=1))

    def fill(
        self, values: Array, known: Bool, wanted: Bool, guess: Array, pool: Backend
    ) -> tuple[Array, Array]:
        """Every pixel from the patches that hold it, each weighted by its precision.

        Patches lie close where pixels are wanted, and far apart elsewhere.

        Parameters
        ----------
        values, guess : ndarray of shape (channels, h, w)
            A guess of the whole picture tells which kinds come into question.
        known, wanted : ndarray of bool, shape (h, w)
        pool : Backend

        Returns
        -------
        mean, variance : ndarray of shape (channels, h, w)
            The variance is that of a typical patch, not of their mean: patches share pixels, so
            their errors do not average out. Where no patch has a known pixel, the guess.
        """
        grid, flat = covering_grid(known.shape, wanted), known.ravel()
        x, g = (turned(picture, self.basis, self.level) for picture in (values, guess))
        x, g = np.where(flat, x, 0.0), np.where(flat, x, g)
        total, weight, count = (np.zeros(x.shape) for _ in range(3))
        for rows in grid.batches(flat, ROWS_AT_ONCE):
            at = grid.pixels(rows)
            seen = flat[at]
            kind = most_probable(self.gaussians, x[:, at], seen, g[:, at], pool)
            for c, own in enumerate(self.gaussians):
                mean, variance = own.fill(x[c][at], seen, kind, pool)
                mean, variance = self._cleaned(c, mean, variance, seen, kind)
                precision = 1.0 / np.maximum(variance, 1e-12)
                for sums, parts in ((total, precision * mean), (weight, precision), (count, None)):
                    told = None if parts is None else parts.ravel()
                    sums[c] += np.bincount(at.ravel(), told, grid.size)
        some = weight > 0
        weight[~some] = 1.0
        spread = np.array([own.covariance.max() for own in self.gaussians])[:, None]
        mean = np.where(some, total / weight, g)
        variance = np.where(some, count / weight, spread)
        back = self.basis @ mean + self.level[:, None]
        return back.reshape(values.shape), (self.basis**2 @ variance).reshape(values.shape)

    def _cleaned(
        self, channel: int, mean: Array, variance: Array, known: Bool, kind: Index
    ) -> tuple[Array, Array]:
        """Known pixels without their noise: N x of whole patches x, N as `clean` has it."""
        clean, noise = self.clean[channel], self.noise[channel]
        mean, variance = mean.copy(), variance.copy()
        left = noise * (1.0 - np.einsum("kii->k", clean) / clean.shape[1])
        for c in np.unique(kind):
            own = np.flatnonzero(kind == c)
            mean[own] -= np.where(known[own], mean[own] @ clean[c], 0.0)
            variance[own] = np.where(known[own], left[c], variance[own])
        return mean, variance


def learn(
    values: Array, masks: tuple[Bool, Bool], guess: Array, noise: float, seed: int, pool: Backend
) -> tuple[Texture, Array]:
    """Kinds of patches and their Gaussians, by steps of expectation and maximisation.

    Parameters
    ----------
    values, guess : ndarray of shape (channels, h, w)
        The first kinds are told apart in the guess.
    masks : (ndarray of bool, ndarray of bool), shape (h, w) each
        Pixels to learn from, and those held out, which tell when to stop.
    noise : float
        Standard deviation of the noise, about.
    seed : int
    pool : Backend

    Returns
    -------
    Texture
    guess : ndarray of shape (channels, h, w)
        A better one.
    """
    known, held = masks
    basis, level = _principal(values[:, known])
    flat, left = known.ravel(), held.ravel()
    truth, g = turned(values, basis, level), turned(guess, basis, level)
    x, g = np.where(flat, truth, 0.0), np.where(flat, truth, g)
    at = _patches_to_learn_from(flat, known.shape, seed)
    n_kinds = int(np.clip(flat[at].sum() / (LEAST_PATCHES * at.shape[1]), 1, KINDS))
    kind = first_kinds(guess.mean(axis=0), at, n_kinds)
    levels, share = LEVEL * x[:, flat].var(axis=1), np.bincount(kind, minlength=n_kinds)
    filled = np.stack([own[at] for own in g])
    sums = [_squares(own, kind, n_kinds, noise) for own in filled]
    part, number, least = FIRST, 0, np.inf
    while True:
        models = _learned(sums, share, levels)
        some = slice(0, int(np.ceil(part * len(at))))
        patches, seen = x[:, at[some]], flat[at[some]]
        if number:
            kind = most_probable(models, patches, seen, filled[:, some], pool)
        share = np.bincount(kind[some], minlength=n_kinds)
        for c, model in enumerate(models):
            filled[c, some], sums[c] = model.moments(patches[c], seen, kind[some], pool)
        better = _pasted(filled[:, some], at[some], g)
        if part == LAST:
            break
        error = float(np.mean((better - truth)[:, left] ** 2))
        number += 1
        part = MIDDLE if error < least and number < MOST_STEPS else LAST
        least = error
    models = _learned(sums, share, levels)
    noises, clean = (np.stack(found) for found in zip(*map(_noise, models), strict=True))
    texture = Texture(basis, level, models, noises, clean, share / share.sum())
    return texture, (basis @ better + level[:, None]).reshape(guess.shape)


def _learned(sums: list[Array], share: Index, levels: Array) -> tuple[Gaussians, ...]:
    """The Gaussians of each channel."""
    pairs = zip(sums, levels, strict=True)
    return tuple(Gaussians.learned(own, share, spread) for own, spread in pairs)


def turned(picture: Array, basis: Array, level: Array) -> Array:
    """Channels (channels, h, w) in a basis, flat (channels, h * w)."""
    return np.asarray(basis.T @ (picture.reshape(len(level), -1) - level[:, None]))


def most_probable(
    gaussians: tuple[Gaussians, ...], x: Array, known: Bool, guess: Array, pool: Backend
) -> Index:
    """The kinds under which the known pixels and, half as much, the guess are most probable, (n,).

    Only the few kinds are asked under which the guess of the whole patch is most probable. The
    known pixels alone tell little where they are few or noisy, and a guess is not what was seen.

    Parameters
    ----------
    x, guess : ndarray of shape (channels, n, w)
    known : ndarray of bool, shape (n, w)
    """
    whole = np.sum([own.of_whole(part) for own, part in zip(gaussians, guess, strict=True)], axis=0)
    best = np.asarray(whole.argmax(axis=1))
    if whole.shape[1] == 1:
        return best
    among = np.argpartition(-whole, ASKED - 1, axis=1)[:, :ASKED]
    score = np.take_along_axis(whole, among, axis=1)
    rows = np.flatnonzero(np.ptp(score, axis=1) < DOUBTED)
    both = [(own, part[rows]) for own, part in zip(gaussians, x, strict=True)]
    for k in range(ASKED):
        kind = among[rows, k]
        told = np.sum([own.evidence(part, known[rows], kind, pool) for own, part in both], axis=0)
        score[rows, k] += (1.0 - GUESSED) * (told - score[rows, k])
    best[rows] = among[rows, score[rows].argmax(axis=1)]
    return best


def first_kinds(surface: Array, at: Index, n_kinds: int) -> Index:
    """Kinds by the direction, its clarity and the strength of the slopes within a patch.

    These come from the averaged products of slopes, the structure tensor: the direction's double
    angle has no sign, and a clarity of nought makes it irrelevant.
    """
    if n_kinds == 1:
        return np.zeros(len(at), dtype=np.intp)
    from sklearn.cluster import KMeans

    gy, gx = (slope.ravel() for slope in np.gradient(surface))
    xx, yy, xy = (product[at].mean(axis=1) for product in (gx * gx, gy * gy, gx * gy))
    strength = xx + yy + 1e-12
    features = np.stack(
        [(xx - yy) / strength, 2 * xy / strength, 0.7 * np.log1p(np.sqrt(strength))], axis=1
    )
    found = KMeans(n_kinds, n_init=2, random_state=0).fit_predict(features)
    return np.asarray(found, dtype=np.intp)


def _patches_to_learn_from(known: Bool, shape: tuple[int, ...], seed: int) -> Index:
    """Pixels of patches in random order, (n, w); known (h * w,)."""
    grid = patch_grid(shape, 2)
    order = np.random.default_rng(seed).permutation(len(grid.corners))[:LEARN_FROM]
    at = grid.pixels(order)
    # Inside a hole nothing is known, and nothing to learn.
    return at[known[at].any(axis=1)]


def _principal(known: Array) -> tuple[Array, Array]:
    """The axes of colours, strongest first, and their mean: known (channels, n)."""
    level = known.mean(axis=1)
    _, axes = np.linalg.eigh(np.cov(known, bias=True).reshape(len(known), -1))
    return np.asarray(axes[:, ::-1]), level


def _noise(own: Gaussians) -> tuple[Array, Array]:
    """Variance of the noise of each kind, and its part in a whole patch.

    The noise is what the quarter of all directions has in which patches vary least.
    """
    values, vectors = np.linalg.eigh(own.covariance)
    noise = values[:, : max(1, values.shape[1] // 4)].mean(axis=1)
    part = np.minimum(noise[:, None] / values, 1.0)
    return noise, np.einsum("kij,kj,klj->kil", vectors, part, vectors)


def _pasted(patches: Array, at: Index, behind: Array) -> Array:
    """Averages of patches (channels, n, w) where they lie, (channels, h * w)."""
    count = np.bincount(at.ravel(), minlength=behind.shape[1])
    sums = [np.bincount(at.ravel(), own.ravel(), behind.shape[1]) for own in patches]
    return np.where(count > 0, np.stack(sums) / np.maximum(count, 1), behind)


def _squares(patches: Array, kind: Index, n_kinds: int, noise: float) -> Array:
    """Sums of x xᵀ over the patches of each kind, noise added, (kinds, w, w)."""
    parts = [patches[kind == c] for c in range(n_kinds)]
    ridge = noise**2 * np.eye(patches.shape[1])
    return np.stack([own.T @ own + len(own) * ridge for own in parts])
