"""Joint draws of entries, and of observations of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..likelihoods import Drawn
from ..likelihoods.predictive import Predictive
from .draws import Draws, batches
from .kept import chosen
from .local import refuse_local
from .posterior import Posterior

Array = NDArray[np.float64]
Index = NDArray[np.intp]


def simulated(
    posterior: Posterior, rows: Index, cols: Index, n_draws: int, seed: int, include_noise: bool
) -> Array:
    """Draws at paired positions, in the data's units, shape (n_draws, n_pairs)."""
    refuse_local(posterior.local, "joint draws cannot be made")
    rng, likelihood = np.random.default_rng([seed, 2]), posterior.likelihood
    at = posterior.places(rows, cols)
    if posterior.draws is None:
        y = _from_q(posterior, rows, cols, n_draws, seed)
        if posterior.ignorance:
            y += posterior.ignorance / posterior.scale * rng.standard_normal(y.shape)
        noise = likelihood.first_draw(posterior.noise)
        if include_noise:
            out = likelihood.simulate(y, noise, at, rng)
        else:
            out = likelihood.entries_of(y, noise, at)
    else:
        kept = posterior.draws
        out = np.empty((n_draws, len(rows)))
        for d, s in enumerate(chosen(kept, n_draws, rng)):
            y = np.einsum("pr,pr->p", kept.rows[s, rows], kept.cols[s, cols]).astype(np.float64)
            # Each draw brings its own noise.
            noise = Drawn(float(kept.tau[s]), {name: part[s] for name, part in kept.own.items()})
            if include_noise:
                out[d] = likelihood.simulate(y, noise, at, rng)
            else:
                out[d] = likelihood.entries_of(y, noise, at)
    if not np.isfinite(posterior.limits).any():
        return out
    found = posterior.predictive(rows, cols, include_noise)
    return found.place(out) if isinstance(found, Predictive) else out


def _from_q(posterior: Posterior, rows: Index, cols: Index, n_draws: int, seed: int) -> Array:
    """Draws of u·v from q, shape (n_draws, n_pairs)."""
    out = np.empty((n_draws, len(rows)))
    draws_u = Draws(posterior.family, posterior.rows, [seed, 0])
    draws_v = Draws(posterior.family, posterior.cols, [seed, 1])
    unknowns = posterior.rows.factors.mean.size + posterior.cols.factors.mean.size
    done = 0
    for count in batches(n_draws, unknowns):
        U, V = draws_u.next(count), draws_v.next(count)
        for d in range(count):
            out[done + d] = np.einsum("pr,pr->p", U[rows, :, d], V[cols, :, d])
        done += count
    return out
