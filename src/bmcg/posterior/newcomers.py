"""What is expected of rows that were not part of a fit, before their entries are seen."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from .explained import explained
from .side import HELD, SidePosterior

Array = NDArray[np.float64]


def expected(
    rows: SidePosterior,
    n: int,
    links: sp.csr_array | None = None,
    features: sp.csr_array | None = None,
) -> tuple[Array, Array]:
    """Prior precisions of n rows, and those times their prior means, (n, k) each.

    Parameters
    ----------
    rows : SidePosterior
        Of the fitted rows.
    n : int
    links : csr_array of shape (n, m), optional
        Weights of their edges to the fitted rows.
    features : csr_array of shape (n, p), optional
        Theirs, coded as those of the fitted rows.
    """
    lam, U = rows.lam, rows.factors.mean
    known = None if features is None else explained(rows, features)
    rest = U if known is None else known.rest
    prior, pull = (np.tile(part, (n, 1)) for part in of_any(rows, rest))
    if links is not None:
        degree = np.asarray(links.sum(axis=1))[:, None]
        linked = degree > 0
        prior = np.where(linked, (degree + rows.precision.ridge) * lam, prior)
        pull = np.where(linked, lam * (links @ rest), pull)
    if known is not None:
        mean = known.expected + pull / prior
        prior = 1.0 / (1.0 / prior + known.doubt[:, None] / lam)
        pull = prior * mean
    if rows.constant >= 0:
        prior[:, rows.constant] = pull[:, rows.constant] = HELD
    return prior, pull


def of_any(rows: SidePosterior, rest: Array | None = None) -> tuple[Array, Array]:
    """Prior precision of a row without edges, and that times its prior mean, (k,) each.

    Without a row graph these are ⟨λ⟩ and zero. With one, a row without edges would be left
    with ridge·⟨λ⟩, next to nothing: mean and spread of the fitted rows stand in for it, or
    of what features leave of them, where the row's own features say the rest.
    """
    L, U = rows.precision, rows.factors
    rest = U.mean if rest is None else rest
    plain = L.ridge == 1.0 and rows.features is None
    if not L.has_edges and (plain or rest is not U.mean):
        return L.ridge * rows.lam, np.zeros(U.rank)
    centre = rest.mean(axis=0)
    spread = ((rest - centre) ** 2 + U.variances).mean(axis=0)
    precision = 1.0 / np.maximum(spread, 1.0 / HELD)
    return precision, precision * centre
