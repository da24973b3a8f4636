"""What a fitted model does for its users: recommend, take in newcomers, go on learning."""

from __future__ import annotations

import copy
import numbers
from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..base import MatrixCompleter, locate
from ..inference.fit import SideInput, Start
from ..inference.weights import GraphWeight
from ..kernels.threads import workers
from ..observations import Observations
from ..observations.labels import Labels
from ..posterior import Posterior
from .folding import Which, fold_in, read_links, read_newcomers
from .growing import (
    WORDS,
    as_fitted,
    as_input,
    check_same,
    fingerprint,
    grown,
    merged,
    newcomers,
)
from .ranking import SCORES, Recommendations, Score, Seen, best_columns


class ServingModel(MatrixCompleter):
    """Base of BMCG: what needs a fitted posterior, but not how it was fitted.

    The observations of the fit stay in memory for `update`. A model file keeps only which
    entries were observed, not their values: `recommend` leaves those out, and `update` asks
    for the observations.
    """

    fitted_: Posterior
    n_jobs: int | None
    graph_weights_: dict[str, dict[str, GraphWeight]]
    observations_: Observations | None
    seen_: Seen
    joined_: dict[str, str]
    fingerprint_: str | None
    folded_: bool

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

        Returns
        -------
        Recommendations
            Best first; its `to_frame` makes a data frame.
        """
        check_is_fitted(self, "fitted_")
        _check_request(n, score, width)
        m, n_cols = self.shape_
        i = np.arange(m) if rows is None else locate(rows, self.row_labels_, m, "rows")
        seen = self.seen_.of(i) if exclude_observed else None
        if exclude is not None:
            out = Seen.of_pairs(*self._pairs(*exclude), m).of(i)
            seen = out if seen is None else seen | out
        chosen = candidates
        if chosen is not None:
            chosen = np.unique(locate(chosen, self.col_labels_, n_cols, "candidates"))
        with workers(self.n_jobs) as pool:
            where, best = best_columns(self.fitted_, i, int(n), seen, score, width, pool, chosen)
        at, rank = np.nonzero(where >= 0)
        r, c = i[at], where[at, rank]
        std = np.sqrt(self.fitted_.variance(r, c, include_noise))
        return Recommendations(
            _named(r, self.row_labels_),
            _named(c, self.col_labels_),
            rank + 1,
            self.fitted_.mean(r, c, include_noise),
            std,
            best[at, rank],
        )

    def fold_in(
        self,
        observations: Any = None,
        row_edges: Any = None,
        col_edges: Any = None,
        *,
        side: Which = "rows",
    ) -> Self:
        """A model of rows (or columns) that were not part of the fit, without refitting.

        Their factors follow from their own entries and from their links to fitted rows;
        everything learned stays as it is. Newcomers without entries and links get what the
        model expects of any row.

        Parameters
        ----------
        observations : Observations, ndarray with NaN, sparse matrix or wide frame, optional
            Their entries, shape (p, n) for p rows, (m, q) for q columns. Columns are matched
            by label where the model and the observations have labels, else by position.
        row_edges : sparse or dense matrix (p, m), or lines (new, fitted[, weight]), optional
            Links of new rows to fitted ones, by label or position.
        col_edges : likewise, optional
            For new columns.
        side : {"rows", "cols"}

        Returns
        -------
        BMCG
            The same model with the newcomers in the place of its rows (or columns):
            `predict`, `predict_interval`, `sample`, `recommend` and `complete` speak of them.
        """
        check_is_fitted(self, "fitted_")
        if side not in ("rows", "cols"):
            raise ValueError(f'side={side!r}: pass "rows" or "cols"')
        edges, others = (row_edges, col_edges) if side == "rows" else (col_edges, row_edges)
        if others is not None:
            raise ValueError(f"side={side!r} takes {'row' if side == 'rows' else 'col'}_edges only")
        labels, shape = (self.row_labels_, self.col_labels_), self.shape_
        if side == "cols":
            labels, shape = labels[::-1], shape[::-1]
        new = read_newcomers(observations, edges, side, *labels, shape)
        if new.links is not None:
            new = new._replace(links=self._as_strong(new.links, side))
        with workers(self.n_jobs) as pool:
            posterior = fold_in(self.fitted_, new, pool, side)
        return self._with_newcomers(posterior, new.labels, new.n, Seen(*new.entries[:2]), side)

    def update(
        self, more: Any, *, observations: Any = None, row_edges: Any = None, col_edges: Any = None
    ) -> Self:
        """Go on learning from where the fit stands, with more observations.

        The rank may fall but not rise, and graphs keep the weights they have; when the data
        has grown much, fit again. An update with nothing new changes nothing.

        Parameters
        ----------
        more : Observations, ndarray with NaN, sparse matrix or wide frame
            New entries; a value given again replaces the old one. Rows and columns are matched
            by label where the model and `more` have labels, else by position; those that the
            model does not know are added after its own.
        observations : likewise, optional
            All that the model was fitted on. A model in memory has it; one that was loaded from
            a file has not, but knows a fingerprint of it and refuses anything else.
        row_edges : sparse or dense matrix (p, m), or lines (new, fitted[, weight]), optional
            Links of the new rows to fitted ones, by label or position (counted from the first
            new row).
        col_edges : likewise, optional
            For new columns.

        Returns
        -------
        self
            `n_sweeps_` and the traces are those of the update.
        """
        check_is_fitted(self, "fitted_")
        if any("features" in weights for weights in self.graph_weights_.values()):
            raise NotImplementedError(
                "update cannot go on from a fit with features yet: fit all observations again"
            )
        old = self._fitted_observations(observations)
        together = merged(old, more)
        self._check_parameters(together)
        links = self._new_links(together, {"rows": row_edges, "cols": col_edges})
        if together.shape == old.shape and fingerprint(together) == fingerprint(old):
            return self
        with workers(self.n_jobs) as pool:
            posterior = grown(self.fitted_, together, old.shape, links, pool)
        inputs = [as_input(side.precision) for side in (posterior.rows, posterior.cols)]
        self.fitted_ = self._resume(together, inputs[0], inputs[1], posterior.start())
        self._remember(together)
        return self

    def _fitted_observations(self, given: Any) -> Observations:
        """What the fit had: kept, or given again and compared with what is known of it."""
        if self.folded_:
            raise ValueError(
                "this model came from fold_in and speaks of newcomers alone: update the model "
                "that they were folded into"
            )
        if given is None:
            if self.observations_ is None:
                raise ValueError(
                    "this model does not hold the observations it was fitted on (a model file "
                    "keeps none): pass them too, update(more, observations=...)"
                )
            return self.observations_
        old = as_fitted(given, (self.row_labels_, self.col_labels_), self.shape_)
        check_same(old, self.seen_, self._fingerprint())
        return replace(old, backend=self.frame_backend_)

    def _fingerprint(self) -> str | None:
        """Of the fit's observations, computed only when it is asked for."""
        if self.observations_ is not None:
            self.fingerprint_ = fingerprint(self.observations_)
        return self.fingerprint_

    def _new_links(
        self, together: Observations, edges: dict[Which, Any]
    ) -> tuple[sp.csr_array | None, sp.csr_array | None]:
        """Edges from new rows, and from new columns, in the strength of the fit's own."""
        found: list[sp.csr_array | None] = []
        for axis, side in enumerate(edges):
            argument, m = f"{side[:3]}_edges", self.shape_[axis]
            p = together.shape[axis] - m
            if edges[side] is None:
                found.append(None)
                continue
            if p == 0:
                raise ValueError(f"{argument}: more has no new {WORDS[axis]} to link")
            names, own = newcomers(together, self.shape_, axis), self._labels(side)
            links = read_links(edges[side], names, p, own, m, argument)
            found.append(self._as_strong(links, side))
        return found[0], found[1]

    def _labels(self, side: Which) -> Labels | None:
        return self.row_labels_ if side == "rows" else self.col_labels_

    def _as_strong(self, links: sp.csr_array, side: Which) -> sp.csr_array | None:
        strength = self._graph_strength(side)
        return links * strength if strength else None

    def _graph_strength(self, side: Which) -> float:
        """What the fit multiplied the weights of a side's graphs with, those used on average."""
        weights = self.graph_weights_[side]
        graphs = [w.strength for name, w in weights.items() if name not in ("ridge", "features")]
        used = [strength for strength in graphs if strength > 0]
        return float(np.mean(used)) if used else float(not graphs)

    def _resume(
        self, observations: Observations, rows: SideInput, cols: SideInput, start: Start
    ) -> Posterior:
        raise NotImplementedError

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

    def _remember(self, observations: Observations) -> None:
        super()._remember(observations)
        self.observations_, self.fingerprint_, self.folded_ = observations, None, False
        self.seen_ = Seen(*observations.by_row[:2])

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = super()._state()
        arrays |= {"seen_indptr": self.seen_.indptr, "seen_indices": self.seen_.indices}
        header |= {
            "joined": self.joined_,
            "fingerprint": self._fingerprint(),
            "folded": self.folded_,
        }
        return arrays, header

    @classmethod
    def _from_state(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Self:
        model = super()._from_state(arrays, header)
        model.observations_ = None
        # Files of earlier versions say none of these.
        model.joined_ = header.get("joined", {})
        model.fingerprint_ = header.get("fingerprint")
        model.folded_ = header.get("folded", False)
        model.seen_ = Seen(arrays["seen_indptr"], arrays["seen_indices"])
        return model


def _named(at: NDArray[np.intp], labels: Labels | None) -> NDArray[Any]:
    return at if labels is None else labels.values[at]


def _check_request(n: Any, score: Any, width: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 1:
        raise ValueError(f"n={n!r}: pass a whole number of at least 1")
    if score not in SCORES:
        raise ValueError(f"score={score!r}: choose one of {', '.join(map(repr, SCORES))}")
    if not (isinstance(width, numbers.Real) and np.isfinite(float(width)) and float(width) >= 0):
        raise ValueError(f"width={width!r}: pass a number of at least 0")
