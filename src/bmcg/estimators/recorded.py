"""What a fit leaves on its model, and how that is kept in a model file."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from ..inference.diagnostics import Diagnostics
from ..inference.fit import Fit, Kind
from ..inference.selection import Selection
from ..posterior import Posterior
from ..posterior.usage import GraphWeight, graph_weights
from ..serving import ServingModel

Array = NDArray[np.float64]


class RecordedModel(ServingModel):
    """A model with the record of its fit."""

    _fitted_type: ClassVar[type[Any]] = Posterior
    _fitted_numbers: ClassVar[tuple[str, ...]] = (
        "posterior_",
        "converged_",
        "stop_reason_",
        "engines_",
        "biased_",
        "graph_weights_",
        "selection_",
        "diagnostics_",
    )

    fitted_: Posterior
    posterior_: Kind
    elbo_trace_: Array
    rank_trace_: NDArray[np.int64]
    solve_steps_: NDArray[np.int64]
    selection_: Selection
    diagnostics_: Diagnostics | None
    converged_: bool
    stop_reason_: str
    engines_: tuple[str, str]
    biased_: bool
    graph_weights_: dict[str, dict[str, GraphWeight]]

    def _describe(self, fit: Fit, selection: Selection) -> None:
        self.elbo_trace_ = np.asarray(fit.trace)
        self.rank_trace_ = np.asarray(fit.ranks)
        self.solve_steps_ = np.asarray(fit.steps)
        self.selection_ = selection
        self.converged_ = fit.converged
        self.biased_ = fit.state.biased
        self.graph_weights_ = {"rows": graph_weights(fit.rows), "cols": graph_weights(fit.cols)}
        self.diagnostics_ = fit.diagnostics
        self.engines_ = (fit.rows.side.engine.name, fit.cols.side.engine.name)
        ends = ("converged", "interrupted", "stopped")
        self.stop_reason_ = next((end for end in ends if getattr(fit, end)), "max_sweeps")

    def _mean(self, i: NDArray[np.intp], j: NDArray[np.intp], include_noise: bool = True) -> Array:
        return self.fitted_.mean(i, j, include_noise)

    def _complete(self) -> Array:
        return self.fitted_.matrix()

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = super()._state()
        arrays |= {"elbo_trace": self.elbo_trace_, "rank_trace": self.rank_trace_}
        arrays["solve_steps"] = self.solve_steps_
        # Where a fit was made and kept is no part of the model.
        for name in ("checkpoint", "resume", "device"):
            header["parameters"].pop(name, None)
        header["fit"] = {name: getattr(self, name) for name in self._fitted_numbers}
        return arrays, header

    @classmethod
    def _from_state(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Self:
        model = super()._from_state(arrays, header)
        model.elbo_trace_, model.rank_trace_ = arrays["elbo_trace"], arrays["rank_trace"]
        # Files of earlier versions lack both.
        model.solve_steps_ = arrays.get("solve_steps", np.empty(0, np.int64))
        header["fit"].setdefault("selection_", ["not recorded", []])
        header["fit"].setdefault("diagnostics_", None)
        for name in cls._fitted_numbers:
            value = header["fit"][name]
            if name == "selection_":
                value = Selection.from_plain(value)
            if name == "diagnostics_" and value is not None:
                value = Diagnostics.from_plain(value)
            if name == "graph_weights_":
                value = {
                    side: {graph: GraphWeight(*parts) for graph, parts in weights.items()}
                    for side, weights in value.items()
                }
            setattr(model, name, tuple(value) if type(value) is list else value)
        return model
