"""What a fitted model does for its users: recommend, take in newcomers, go on learning."""

from __future__ import annotations

import copy
import warnings
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..backends import open_backend
from ..base import locate
from ..caller import user_level
from ..checks import check_choice, check_number, check_whole
from ..observations.labels import Labels
from ..posterior import Posterior
from .alike import POOL, Similar, directions, most_similar, varied
from .features import pattern_features
from .folding import Which, fold_in, read_newcomers
from .ranking import SCORES, Recommendations, Score, Seen, best_columns
from .updating import UpdatingModel


class ServingModel(UpdatingModel):
    """Base of BMCG: what needs a fitted posterior, but not how it was fitted."""

    def recommend(
        self,
        rows: Any = None,
        n: int = 10,
        exclude_observed: bool = True,
        score: Score = "mean",
        *,
        width: float = 1.0,
        include_noise: bool = False,
        candidates: Any = None,
        exclude: Any = None,
        popularity: float = 0.0,
        diversity: float = 0.0,
    ) -> Recommendations:
        """The columns with the best predictions for some rows.

        Memory grows with the rows asked for, not with the columns.

        Parameters
        ----------
        rows : array_like of positions or labels, or one of them; optional
            All rows by default.
        n : int
            Most columns for each row.
        exclude_observed : bool
            Leave out entries that the model was fitted on.
        score : {"mean", "lower", "ucb"}
            Rank by the mean, by what is surely good (the mean less `width` standard
            deviations of the entry), or by what may be good (the mean plus as much).
        width : float
        include_noise : bool
            Report the standard deviation of a new observation rather than of the entry.
        candidates : array_like of positions or labels, optional
            The columns to choose from; all by default.
        exclude : (rows, cols), two array_likes of positions or labels, optional
            Further entries to leave out, such as what a row has had since the fit.
        popularity : float
            What the column with the most entries gains in score by that, others in proportion to
            the logarithm of their number; a negative number favours what few have.
        diversity : float, from 0 to less than 1
            How much a place in the list goes to what is unlike the places before it, rather than
            to the next best score.

        Returns
        -------
        Recommendations
            Best first; its `to_frame` makes a data frame.
        """
        check_is_fitted(self, "fitted_")
        _check_request(n, score, width)
        _check_lists(popularity, diversity)
        _warn_of_lists(self.fitted_)
        m, n_cols = self.shape_
        i = np.arange(m) if rows is None else locate(rows, self.row_labels_, m, "rows")
        seen = self.seen_.of(i) if exclude_observed else None
        if exclude is not None:
            out = Seen.of_pairs(*self._pairs(*exclude), m).of(i)
            seen = out if seen is None else seen | out
        chosen = candidates
        if chosen is not None:
            chosen = np.unique(locate(chosen, self.col_labels_, n_cols, "candidates"))
        pool = int(n) * (POOL if diversity else 1)
        bonus = self._bonus(popularity) if popularity else None
        with open_backend(self.n_jobs) as backend:
            where, best = best_columns(
                self.fitted_, i, pool, seen, score, width, backend, chosen, bonus
            )
        if diversity:
            where, best = varied(where, best, int(n), directions(self.fitted_), float(diversity))
        at, rank = np.nonzero(where >= 0)
        r, c = i[at], where[at, rank]
        mean = self.fitted_.mean(r, c, include_noise)
        std = np.sqrt(self.fitted_.variance(r, c, include_noise))
        names = _named(r, self.row_labels_), _named(c, self.col_labels_)
        return Recommendations(*names, rank + 1, mean, std, best[at, rank])

    def similar(self, cols: Any, n: int = 10, *, candidates: Any = None) -> Similar:
        """The columns most like some others, in what the model has learned.

        Parameters
        ----------
        cols : array_like of positions or labels, or one of them
        n : int
            Most columns for each.
        candidates : array_like of positions or labels, optional
            The columns to choose from; all by default.

        Returns
        -------
        Similar
            Most alike first; its `to_frame` makes a data frame. The similarity is the correlation,
            over the rows, of the predicted entries without biases.
        """
        check_is_fitted(self, "fitted_")
        check_whole("n", n)
        j = locate(cols, self.col_labels_, self.shape_[1], "cols")
        chosen = candidates
        if chosen is not None:
            chosen = np.unique(locate(chosen, self.col_labels_, self.shape_[1], "candidates"))
            if len(chosen) == 0:
                raise ValueError("candidates is empty: pass the columns to choose from, or None")
        where, best = most_similar(directions(self.fitted_), j, int(n), chosen)
        at, rank = np.nonzero(where >= 0)
        own, others = (_named(part, self.col_labels_) for part in (j[at], where[at, rank]))
        return Similar(own, others, rank + 1, best[at, rank])

    def _bonus(self, popularity: float) -> NDArray[np.float64]:
        """What columns gain by the number of their entries, shape (n,)."""
        counts = np.bincount(self.seen_.indices, minlength=self.shape_[1])
        return popularity * np.log1p(counts) / max(np.log1p(counts.max(initial=0)), 1.0)

    def fold_in(
        self,
        observations: Any = None,
        row_edges: Any = None,
        col_edges: Any = None,
        *,
        side: Which = "rows",
        row_features: Any = None,
        col_features: Any = None,
        row_exposure: Any = None,
        col_exposure: Any = None,
    ) -> Self:
        """A model of rows (or columns) that were not part of the fit, without refitting.

        Their factors follow from their own entries, from their links to fitted rows and from
        their features; everything learned stays as it is. Newcomers of which none of these is
        known get what the model expects of any row.

        Parameters
        ----------
        observations : Observations, ndarray with NaN, sparse matrix or wide frame, optional
            Their entries, shape (p, n) for p rows, (m, q) for q columns. Columns are matched
            by label where the model and the observations have labels, else by position.
        row_edges : sparse or dense matrix (p, m), frame, or lines (new, fitted[, weight]), optional
            Links of new rows to fitted ones, by label or position. A frame may have the fitted
            rows as its columns and the new ones as its lines.
        col_edges : likewise, optional
            For new columns.
        side : {"rows", "cols"}
        row_features : array, sparse matrix, frame or (frame, key), optional
            Of the new rows, with the columns that the fit was given; lines are found by label as
            there. Where the fit took the observation pattern for features, so does this.
        col_features : likewise, optional
            For new columns.
        row_exposure : array_like, mapping of labels or Series, optional
            What each new row was exposed to, where the fit was told of its rows.
        col_exposure : likewise, optional
            For new columns.

        Returns
        -------
        BMCG
            The same model with the newcomers in the place of its rows (or columns):
            `predict`, `predict_interval`, `sample`, `recommend` and `complete` speak of them.
        """
        check_is_fitted(self, "fitted_")
        if side not in ("rows", "cols"):
            raise ValueError(f'side={side!r}: pass "rows" or "cols"')
        given = {
            "rows": (row_edges, row_features, row_exposure),
            "cols": (col_edges, col_features, col_exposure),
        }
        if side == "cols":
            self.fitted_.check_one_unit("new columns have no unit")
        edges, features, exposure = given.pop(side)
        for name, value in zip(("edges", "features", "exposure"), *given.values(), strict=True):
            if value is not None:
                raise ValueError(f"side={side!r} takes {side[:3]}_{name} only")
        labels, shape = (self.row_labels_, self.col_labels_), self.shape_
        if side == "cols":
            labels, shape = labels[::-1], shape[::-1]
        new = read_newcomers(observations, edges, features, side, *labels, shape)
        coded = self._coded(features, side, new.labels, new.n)
        if coded is None and self._has_pattern(side):
            coded = pattern_features(new.entries, shape[1])
        new = new._replace(links=self._as_strong(new.links, side), features=coded)
        with open_backend(self.n_jobs) as backend:
            posterior = fold_in(self.fitted_, new, backend, side, exposure)
        return self._with_newcomers(posterior, new.labels, new.n, Seen(*new.entries[:2]), side)

    def _with_newcomers(
        self, posterior: Posterior, labels: Labels | None, n: int, seen: Seen, side: Which
    ) -> Self:
        model = copy.copy(self)
        model.fitted_, model.observations_ = posterior, None
        model.fingerprint_, model.folded_ = None, True
        if side == "rows":
            model.shape_, model.row_labels_, model.seen_ = (n, self.shape_[1]), labels, seen
        else:
            model.shape_, model.col_labels_ = (self.shape_[0], n), labels
            model.seen_ = seen.transposed(self.shape_[0])
        return model


def _named(at: NDArray[np.intp], labels: Labels | None) -> NDArray[Any]:
    return at if labels is None else labels.values[at]


def _warn_of_lists(fitted: Posterior) -> None:
    """Where an order would mean little."""
    said = []
    if fitted.ignorance:
        said.append(
            "the model was fitted on values that are all equal: its lists are in no order; fit "
            'with missing="weak-zero" (bmcg fit --implicit), or on values that differ'
        )
    if fitted.units is not None:
        said.append(
            "columns of this model have units of their own: its lists compare numbers of "
            "different units, unless all candidates have one"
        )
    for words in said:
        warnings.warn(words, UserWarning, stacklevel=user_level())


def _check_request(n: Any, score: Any, width: Any) -> None:
    check_whole("n", n)
    check_choice("score", score, SCORES)
    check_number("width", width, allow_equal=True)


def _check_lists(popularity: Any, diversity: Any) -> None:
    number = isinstance(popularity, Real) and not isinstance(popularity, bool)
    if not number or not -np.inf < popularity < np.inf:
        raise ValueError(f"popularity={popularity!r}: pass a number, such as 0.5 or -0.5")
    check_number("diversity", diversity, allow_equal=True)
    if diversity >= 1.0:
        raise ValueError(f"diversity={diversity!r}: pass a number from 0 to less than 1")
