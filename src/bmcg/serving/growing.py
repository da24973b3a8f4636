"""More observations for a fitted model: those it had, those that come, and what is new in them."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..backends import Backend
from ..caller import user_level
from ..graphs.precision import GraphStack, stack_graphs
from ..inference.fit import SideInput
from ..inference.side import Strengths
from ..inference.state import Factors
from ..likelihoods import Noise
from ..observations import Observations, View
from ..observations.labels import Labels, listed
from ..posterior import Posterior
from ..posterior.side import SidePosterior
from .features import pattern_features
from .ranking import Seen

Names = tuple[Labels | None, Labels | None]
Sparse = tuple[sp.csr_array | None, sp.csr_array | None]
WORDS = ("rows", "columns")


def fingerprint(observations: Observations) -> str:
    """A digest of all entries and their places, the same in whatever order they were given."""
    found = hashlib.blake2b(digest_size=16)
    # A zero is a zero, whatever its sign.
    parts = (*observations.by_row[:2], observations.values + 0.0)
    for part in (np.asarray(observations.shape, dtype=np.int64), *parts):
        found.update(np.ascontiguousarray(part).data)
    return found.hexdigest()


def as_fitted(given: Any, names: Names, shape: tuple[int, int]) -> Observations:
    """Observations at the places that a model has for their labels.

    Parameters
    ----------
    given : whatever `Observations.from_any` takes
    names : tuple of Labels or None
        Of the model's rows and columns. Matched by label where both have them, else by
        position.
    shape : (int, int)
        Of the model.
    """
    found = Observations.from_any(given)
    places = []
    for axis, (known, theirs) in enumerate(zip(names, _names(found), strict=True)):
        at: NDArray[Any] = found.row_indices if axis == 0 else found.col_indices
        if known is not None and theirs is not None:
            at = known.positions(theirs.values, "observations")[at]
        elif found.shape[axis] != shape[axis]:
            raise ValueError(
                f"observations has shape {found.shape}, but the model was fitted on {shape}"
            )
        places.append(at)
    return Observations.from_triples(
        places[0],
        places[1],
        found.values,
        shape=shape,
        row_labels=names[0],
        col_labels=names[1],
    )


def check_same(old: Observations, seen: Seen, known: str | None) -> None:
    """Refuse observations that are not those of the fit.

    Parameters
    ----------
    old : Observations
    seen : Seen
        Which entries the fit had.
    known : str or None
        The fingerprint of the fit; None for models of earlier versions, which kept none.
    """
    n, fitted = len(old), len(seen.indices)
    advice = (
        "pass all of what it was fitted on as observations, and what has changed or come as more"
    )
    if n != fitted:
        raise ValueError(
            f"observations has {n} entries, but the model was fitted on {fitted}: {advice}"
        )
    same = np.array_equal(old.by_row.indptr, seen.indptr)
    if not (same and np.array_equal(old.by_row.indices, seen.indices)):
        raise ValueError(
            f"observations has as many entries as the model was fitted on, {n}, but at other "
            f"places: {advice}"
        )
    if known is None:
        warnings.warn(
            "this model was saved by an earlier version, which did not keep a fingerprint of the "
            "values: observations has the right places, its values are taken on trust",
            UserWarning,
            stacklevel=user_level(),
        )
    elif fingerprint(old) != known:
        raise ValueError(
            f"observations has the {n} entries that the model was fitted on, but not all have "
            f"the same values: {advice}"
        )


def merged(old: Observations, more: Any) -> Observations:
    """All observations together; where an entry is given again, the new value counts.

    Rows and columns of `more` that are not among the old ones come after these.

    Parameters
    ----------
    old : Observations
    more : whatever `Observations.from_any` takes
        Matched by label where both have them, else by position.
    """
    found = Observations.from_any(more)
    places, names, shape = [], [], []
    for axis, (known, theirs) in enumerate(zip(_names(old), _names(found), strict=True)):
        at: NDArray[Any] = found.row_indices if axis == 0 else found.col_indices
        if known is not None and theirs is not None:
            where = known.find(theirs.values)
            new = np.flatnonzero(where < 0)
            where[new] = len(known) + np.arange(len(new))
            at, known = where[at], known.extended(theirs.values[new])
            size = len(known)
        else:
            _check_unnamed(known, theirs, found.shape[axis], old.shape[axis], axis)
            size = max(found.shape[axis], old.shape[axis])
        places.append(at)
        names.append(known)
        shape.append(size)
    together = Observations.from_triples(
        np.concatenate((old.row_indices, places[0])),
        np.concatenate((old.col_indices, places[1])),
        np.concatenate((old.values, found.values)),
        shape=(shape[0], shape[1]),
        row_labels=names[0],
        col_labels=names[1],
        duplicates="last",
    )
    return replace(together, backend=old.backend)


def newcomers(together: Observations, shape: tuple[int, int], axis: int) -> Labels | None:
    """Names of the rows (axis 0) or columns beyond a shape, where there are names."""
    names = _names(together)[axis]
    if names is None:
        return None
    return Labels(names.values[shape[axis] :], names.side, names.name)


def grown(
    posterior: Posterior,
    together: Observations,
    shape: tuple[int, int],
    links: Sparse,
    features: Sparse,
    backend: Backend,
) -> Posterior:
    """The posterior with the rows and columns that its fit did not have, folded in.

    Parameters
    ----------
    posterior : Posterior
    together : Observations
        Of all rows and columns, the new ones last.
    shape : (int, int)
        What the fit had.
    links : tuple of csr_array of shape (p, m) or None
        Weights of edges from new rows to fitted ones, and likewise of columns.
    features : tuple of csr_array of shape (p, n_features) or None
        Of new rows and of new columns, coded as those of the fit; patterns are made here.
    backend : Backend
    """
    m, n = shape
    if together.shape[0] > m:
        entries = _later(together.by_row, m, n)
        posterior = _with_more_rows(posterior, entries, links[0], features[0], backend)
    if together.shape[1] > n:
        # All rows are known by now: columns have entries of old and of new ones.
        entries = _later(together.by_col, n, together.shape[0])
        turned = _with_more_rows(posterior.transposed(), entries, links[1], features[1], backend)
        posterior = turned.transposed()
    return posterior


def as_input(side: SidePosterior) -> tuple[SideInput, Strengths]:
    """The prior of a fitted side, its graphs in one with the weights they ended with."""
    L = side.precision
    stack = stack_graphs([], L.n)
    if L.has_edges:
        stack = GraphStack(L.n, L.heads, L.tails, L.weights[None, :], ("graph",))
    strengths = Strengths(np.ones(len(stack.names)), L.ridge, side.beta)
    return SideInput(stack, L.ridge, side.features), strengths


def with_patterns(
    posterior: Posterior, together: Observations, sides: tuple[bool, bool]
) -> Posterior:
    """The posterior with the observation pattern as features of the sides that had it."""
    m, n = together.shape
    rows, cols = posterior.rows, posterior.cols
    if sides[0]:
        rows = replace(rows, features=pattern_features(together.by_row, n))
    if sides[1]:
        cols = replace(cols, features=pattern_features(together.by_col, m))
    return replace(posterior, rows=rows, cols=cols)


def _with_more_rows(
    posterior: Posterior,
    entries: View,
    links: sp.csr_array | None,
    features: sp.csr_array | None,
    backend: Backend,
) -> Posterior:
    new = posterior.fold_in(entries, backend, links, features)
    side, old = posterior.rows, posterior.rows.factors
    F = side.features
    if F is not None and features is not None:
        F = sp.vstack((F, features), format="csr")
    factors = Factors(
        np.concatenate((old.mean, new.mean)),
        old.covariance.followed_by(new.cov),
        old.log_det,
        old.energy,
    )
    m, p = len(old.mean), len(new.mean)
    edges = sp.coo_array((p, m)) if links is None else sp.coo_array(links)
    L = side.precision
    stack = GraphStack(
        m + p,
        np.concatenate((L.heads, edges.col.astype(np.int32))),
        np.concatenate((L.tails, (m + edges.row).astype(np.int32))),
        np.concatenate((L.weights, edges.data))[None, :],
        ("graph",),
    )
    precision = stack.precision([1.0], L.ridge)
    rows = replace(side, factors=factors, precision=precision, features=F)
    noise = posterior.likelihood.joined(Noise(posterior.tau, posterior.own), p)
    return replace(posterior, rows=rows, own=noise.own)


def _later(view: View, first: int, width: int) -> View:
    """Entries of the groups from `first` on, of the other side's first `width` alone."""
    start = view.indptr[first]
    indices, values = view.indices[start:], view.values[start:]
    kept = indices < width
    counts = np.concatenate(([0], np.cumsum(kept)))
    return View(counts[view.indptr[first:] - start], indices[kept], values[kept])


def _names(observations: Observations) -> Names:
    return observations.row_labels, observations.col_labels


def _check_unnamed(
    known: Labels | None, theirs: Labels | None, size: int, fitted: int, axis: int
) -> None:
    """Refuse what can be matched neither by label nor by position."""
    word = WORDS[axis]
    if known is not None and size > fitted:
        raise ValueError(
            f"more has {size} {word} without labels, the model {fitted} with labels such as "
            f"{listed(known.values[:1].tolist())}: give the new ones labels"
        )
    counted = theirs is None or theirs.values.tolist() == list(range(size))
    if size != fitted and not counted:
        assert theirs is not None
        raise ValueError(
            f"more has {size} {word} with labels such as {listed(theirs.values[:1].tolist())}, the "
            f"model {fitted} without: pass an array, or positions by Observations.from_triples"
        )
