"""Whether calls are copied from neighbours or come from one low-rank matrix: left-out calls say."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from .genotypes import Bools, FilledGenotypes, Genotypes
from .linkage import Along, fill_along
from .linkage.filling import without

# Sites and samples that are asked, and the share of their calls that is left out.
ASKED = (128, 128)
LEFT_OUT = 0.1
# With fewer calls the answer would be chance.
LEAST_CALLS = 100
# No probability is taken for less than what is written.
LEAST = 1e-4


def copying_wins(
    genotypes: Genotypes,
    along: Along,
    low_rank: Callable[[Genotypes], FilledGenotypes],
    n_jobs: int | None = None,
) -> bool:
    """Compare both on a stretch of sites and some samples.

    Parameters
    ----------
    genotypes : Genotypes
    along : Along
    low_rank : callable
        Fills genotypes by one low-rank matrix.
    n_jobs : int or None

    Returns
    -------
    bool
        Whether copied calls are more probable by more than the standard error of the gain.
    """
    order = np.lexsort((along.centimorgans, along.chromosome.astype(str)))
    start = max(0, (len(order) - ASKED[0]) // 2)
    sites = np.sort(order[start : start + ASKED[0]])
    n = genotypes.copies.shape[1]
    samples = np.unique(np.linspace(0, n - 1, min(n, ASKED[1])).astype(np.intp))
    part, here = genotypes.some(sites, samples), along.some(sites)
    known: Bools = np.isfinite(part.copies)
    hidden = known & (np.random.default_rng(0).random(known.shape) < LEFT_OUT)
    # A site or sample that would be left with nothing stays whole.
    rest = known & ~hidden
    hidden &= rest.any(axis=1, keepdims=True) & rest.any(axis=0)
    if hidden.sum() < LEAST_CALLS:
        return False
    given = without(part, hidden)
    truth = np.where(hidden, part.copies * part.ploidy / 2.0, np.nan)
    copied, _ = fill_along(given, here, hidden, n_jobs=n_jobs)
    with warnings.catch_warnings():
        # What this short fit warns of is not what the user asked for.
        warnings.simplefilter("ignore")
        fitted = low_rank(given)
    gain = _log_scores(copied, truth) - _log_scores(fitted, truth)
    gain = gain[hidden]
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def _log_scores(filled: FilledGenotypes, truth: np.ndarray) -> np.ndarray:
    """Log-probability of each true number of copies, (m, n), zero where nothing was hidden."""
    out = np.zeros(truth.shape)
    known = np.isfinite(truth[filled.rows, filled.cols])
    rows, cols = filled.rows[known], filled.cols[known]
    copies = truth[rows, cols].astype(np.intp)
    chance = filled.chances[known][np.arange(len(rows)), copies]
    out[rows, cols] = np.log(np.maximum(chance, LEAST))
    return out
