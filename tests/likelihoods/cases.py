"""Small matrices of every kind of value, and entries on their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bmcg.backends import NumbaBackend, SparseRows
from bmcg.inference.side import Prior
from bmcg.likelihoods import Match, Noise, likelihood_of
from bmcg.likelihoods.gamma import Gamma

LEVELS = "ordinal 1.0 2.0 3.0 4.0"
TITLES = (
    "student",
    "gaussian rows",
    "gaussian cols",
    "bernoulli",
    LEVELS,
    "poisson",
    "negative_binomial",
)
THRESHOLDS = np.array([-1.0, 0.1, 0.9])
# τ known all but exactly: q of it is then no part of what is tested.
SURE = 1e8


def values_of(title, y, rng, **own):
    """Values around entries y (m, n)."""
    if title == "student":
        return y + own.get("size", 0.3) * rng.standard_t(own.get("freedom", 4.0), y.shape)
    if title == "gaussian rows":
        return y + own.get("sizes", np.full(len(y), 0.3))[:, None] * rng.normal(size=y.shape)
    if title == "gaussian cols":
        return values_of("gaussian rows", y.T, rng, **own).T
    if title == "bernoulli":
        return (rng.random(y.shape) < 1 / (1 + np.exp(-y + 0.5))).astype(float)
    if title == LEVELS:
        z = y + rng.normal(size=y.shape)
        return 1.0 + np.searchsorted(own.get("thresholds", THRESHOLDS), z)
    if title == "poisson":
        z = 0.5 + y + own.get("size", 0.4) * rng.normal(size=y.shape)
        return rng.poisson(np.exp(z)).astype(float)
    if title == "negative_binomial":
        r = own.get("r", 2.0)
        return rng.poisson(np.exp(0.5 + y) * rng.gamma(r, size=y.shape) / r).astype(float)
    raise AssertionError(title)


def low_rank(rng, m, n, k=2):
    """Entries of a matrix of rank k, of unit variance."""
    return rng.normal(size=(m, k)) @ rng.normal(size=(k, n)) / np.sqrt(k)


def some_entries(title, rng, n=40):
    """One row of n entries: values, and the places they are at."""
    values = values_of(title, rng.normal(size=(1, n)), rng)[0]
    return SparseRows(np.array([0, n]), np.arange(n, dtype=np.int32), values, NumbaBackend(1))


def sure_noise(title, entries):
    """Own parameters where a fit starts, τ known."""
    likelihood = likelihood_of(title)
    noise = likelihood.start(entries, len(entries.values))
    own = dict(noise.own)
    if "shape" in own:
        own = {name: SURE * part for name, part in own.items()}
    return likelihood, Noise(Gamma(SURE * noise.tau.shape, SURE * noise.tau.rate), own)


def match_at(entries, mean, variance):
    """How entries of these moments match."""
    return Match(entries, moments=lambda: (mean, variance))


def prior_of(title):
    return replace(Prior(), likelihood=likelihood_of(title))
