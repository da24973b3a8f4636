"""A fitted model that goes on learning, and the memory of what it learned from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..backends import open_backend
from ..base import MatrixCompleter
from ..inference.fit import SideInput, Start
from ..observations import Observations
from ..observations.labels import Labels, listed
from ..posterior import Posterior
from ..posterior.side import SidePosterior
from ..posterior.usage import GraphWeight
from .features import FeatureCode, in_order
from .folding import Which, read_links
from .growing import (
    WORDS,
    as_fitted,
    as_input,
    check_same,
    fingerprint,
    grown,
    merged,
    newcomers,
    with_patterns,
)
from .ranking import Seen


class UpdatingModel(MatrixCompleter):
    """What a fit was made of, as far as it is kept, and how it goes on with more.

    The observations of the fit stay in memory. A model file keeps only which entries were
    observed and a fingerprint of their values: `update` asks for the observations.
    """

    fitted_: Posterior
    n_jobs: int | None
    graph_weights_: dict[str, dict[str, GraphWeight]]
    observations_: Observations | None
    seen_: Seen
    joined_: dict[str, str]
    feature_codes_: dict[str, FeatureCode]
    fingerprint_: str | None
    folded_: bool

    def update(
        self,
        more: Any,
        *,
        observations: Any = None,
        row_edges: Any = None,
        col_edges: Any = None,
        row_features: Any = None,
        col_features: Any = None,
    ) -> Self:
        """Go on learning from where the fit stands, with more observations.

        The rank may fall but not rise, and graphs and features keep the weights they have; when
        the data has grown much, fit again. An update with nothing new changes nothing.

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
        row_features : array, sparse matrix, frame or (frame, key), optional
            Of the new rows, with the columns that the fit was given; asked for where the model
            uses features of the rows. Those of the fitted rows are known; lines for them are
            left out where lines have labels. A pattern is taken from the observations.
        col_features : likewise, optional
            For new columns.

        Returns
        -------
        self
            `n_sweeps_` and the traces are those of the update.
        """
        check_is_fitted(self, "fitted_")
        self.fitted_.check_one_unit("update does not know the units of more")
        old = self._fitted_observations(observations)
        together = merged(old, more)
        self._check_parameters(together)
        links = self._new_links(together, {"rows": row_edges, "cols": col_edges})
        features = self._new_features(together, {"rows": row_features, "cols": col_features})
        if together.shape == old.shape and fingerprint(together) == fingerprint(old):
            return self
        with open_backend(self.n_jobs) as backend:
            posterior = grown(self.fitted_, together, old.shape, links, features, backend)
        patterns = self._has_pattern("rows"), self._has_pattern("cols")
        posterior = with_patterns(posterior, together, patterns)
        (rows, row_strengths), (cols, col_strengths) = map(
            as_input, (posterior.rows, posterior.cols)
        )
        start = replace(posterior.start(), strengths=(row_strengths, col_strengths))
        self._go_on(together, rows, cols, start)
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

    def _new_features(
        self, together: Observations, given: dict[Which, Any]
    ) -> tuple[sp.csr_array | None, sp.csr_array | None]:
        """Features of new rows, and of new columns, coded as the fit's own."""
        found: list[sp.csr_array | None] = []
        for axis, side in enumerate(given):
            argument, p = f"{side[:3]}_features", together.shape[axis] - self.shape_[axis]
            weight = self.graph_weights_[side].get("features")
            used = self._side(side).features is not None
            if weight is not None and weight.share > 0 and not used:
                raise ValueError(
                    "this model was saved by an earlier version, which did not keep the features "
                    "it was fitted with: fit all observations again"
                )
            names = newcomers(together, self.shape_, axis)
            if p == 0 and given[side] is not None:
                raise ValueError(f"{argument}: more has no new {WORDS[axis]} to describe")
            if p and used and given[side] is None and not self._has_pattern(side):
                who = "" if names is None else f", {listed(names.values.tolist())}"
                raise ValueError(
                    f"{argument}: the model uses features of its {WORDS[axis]}: pass those of the "
                    f"{p} new {WORDS[axis]}{who}"
                )
            found.append(self._coded(given[side], side, names, p) if p else None)
        return found[0], found[1]

    def _coded(
        self, features: Any, side: Which, labels: Labels | None, n: int
    ) -> sp.csr_array | None:
        """Features of n newcomers as the fit coded its own; None where it makes no use of any."""
        if features is None:
            return None
        argument, code = f"{side[:3]}_features", self.feature_codes_.get(side)
        if code is None or code.kind == "pattern":
            had = "none" if code is None else "the observation pattern, which needs no telling"
            raise ValueError(f"{argument}: the features of the fit were {had}; leave it out")
        coded = code.encode(in_order(features, labels, n, argument)[0], argument)
        return coded if self._side(side).features is not None else None

    def _has_pattern(self, side: Which) -> bool:
        """Whether the observation pattern serves as features of a side."""
        code = self.feature_codes_.get(side)
        used = self._side(side).features is not None
        return used and code is not None and code.kind == "pattern"

    def _side(self, side: Which) -> SidePosterior:
        return self.fitted_.rows if side == "rows" else self.fitted_.cols

    def _labels(self, side: Which) -> Labels | None:
        return self.row_labels_ if side == "rows" else self.col_labels_

    def _as_strong(self, links: sp.csr_array | None, side: Which) -> sp.csr_array | None:
        strength = self._graph_strength(side)
        return links * strength if links is not None and strength else None

    def _graph_strength(self, side: Which) -> float:
        """What the fit multiplied the weights of a side's graphs with, those used on average."""
        weights = self.graph_weights_[side]
        graphs = [w.strength for name, w in weights.items() if name not in ("ridge", "features")]
        used = [strength for strength in graphs if strength > 0]
        return float(np.mean(used)) if used else float(not graphs)

    def _go_on(
        self, observations: Observations, rows: SideInput, cols: SideInput, start: Start
    ) -> None:
        """Become the model of a fit that goes on from a start."""
        raise NotImplementedError

    def _remember(self, observations: Observations) -> None:
        super()._remember(observations)
        self.observations_, self.fingerprint_, self.folded_ = observations, None, False
        if getattr(observations, "group", None) is not None:
            # All processes are here now: later, one alone saves the model, and asks nobody.
            every = observations.of_rows(np.arange(observations.shape[0]))
            observations = Observations.from_triples(*every, shape=observations.shape)
            self.fingerprint_, self.observations_ = fingerprint(observations), None
        self.seen_ = Seen(*observations.by_row[:2])

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = super()._state()
        arrays |= {"seen_indptr": self.seen_.indptr, "seen_indices": self.seen_.indices}
        header |= {
            "joined": self.joined_,
            "features": {side: code.to_json() for side, code in self.feature_codes_.items()},
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
        codes = header.get("features", {})
        model.feature_codes_ = {side: FeatureCode.from_json(codes[side]) for side in codes}
        model.fingerprint_ = header.get("fingerprint")
        model.folded_ = header.get("folded", False)
        model.seen_ = Seen(arrays["seen_indptr"], arrays["seen_indices"])
        return model
