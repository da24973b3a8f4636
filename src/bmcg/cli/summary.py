"""A fitted model in words and numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..base import MatrixCompleter
from ..estimators import BMCG
from ..estimators.equal import ADVICE as EQUAL
from ..estimators.implicit import is_implicit
from ..observations.labels import Labels
from ..posterior import Posterior, SidePosterior
from ..posterior.usage import GraphWeight


def describe(model: MatrixCompleter, path: Path) -> str:
    """What a model holds, one fact a line."""
    m, n = model.shape_
    lines = [
        ("model", f"{type(model).__name__} in {path}"),
        ("matrix", f"{m} x {n}"),
        ("rows", _labels(model.row_labels_)),
        ("columns", _labels(model.col_labels_)),
    ]
    if isinstance(model, BMCG):
        lines += _facts(model)
    settings = ", ".join(f"{name}={value}" for name, value in model.get_params().items())
    lines.append(("settings", settings))
    return "\n".join(f"{name:<10}{text}" for name, text in lines)


def _facts(model: BMCG) -> list[tuple[str, str]]:
    fitted: Posterior = model.fitted_
    m, n = model.shape_
    n_observed = len(model.seen_.indices)
    share = 0.0 if fitted.ignorance else 1.0 - (model.noise_std_ / fitted.scale) ** 2
    explained = f"{100.0 * share:.1f} % of the observed mean square explained; "
    if is_implicit(model):
        explained = ""
    ended = {
        "converged": "converged",
        "max_sweeps": "stopped at the most sweeps allowed",
        "interrupted": "interrupted",
        "stopped": "stopped by a callback",
    }[model.stop_reason_]
    return [
        ("observed", f"{n_observed} entries ({100.0 * n_observed / (m * n):.3g} %)"),
        ("rank", _rank(model)),
        *([("values", f"all equal: {EQUAL}")] if fitted.ignorance else ()),
        ("noise", f"{fitted.likelihood.words(fitted.noise, fitted.scale)}{_unit(fitted)}"),
        (
            "fit",
            f"{'' if np.isnan(share) else explained}{ended} after {model.n_sweeps_} sweeps",
        ),
        ("bound", f"{model.elbo_trace_[-1]:.6g} nats"),
        ("row graph", _graph(fitted.rows, model.graph_weights_["rows"])),
        ("col graph", _graph(fitted.cols, model.graph_weights_["cols"])),
        ("posterior", model.posterior_),
        ("holds", model.selection_.holds),
        *(("asked", verdict.sentence) for verdict in model.selection_.verdicts),
        *(() if model.diagnostics_ is None else (("chains", model.diagnostics_.sentence),)),
        *(("joined", f"{argument}: {note}") for argument, note in model.joined_.items()),
    ]


def _unit(fitted: Posterior) -> str:
    """What to say of a number that is not in the units of the columns."""
    if fitted.units is None:
        return ""
    scales = fitted.units.scale
    return (
        " of scaled columns: each has a unit of its own, in which predictions are "
        f"(one is {scales.min():.3g} to {scales.max():.3g} of them)"
    )


def _rank(model: BMCG) -> str:
    """The rank and, where all components allowed are in use, what to do about it."""
    most = min(model.rank, *model.shape_)
    if model.rank_ < most:
        return f"{model.rank_} (at most {most} allowed)"
    if most == min(model.shape_):
        return f"{model.rank_} (as many as the matrix can have)"
    return f"{model.rank_} (all that were allowed: fit again with a larger --rank)"


def _labels(labels: Labels | None) -> str:
    if labels is None:
        return "by position"
    names = labels.values[:3].tolist()
    shown = ", ".join(map(str, names)) + (", ..." if len(labels) > len(names) else "")
    return f"{labels.name or 'labels'}: {shown}"


def _graph(side: SidePosterior, weights: dict[str, GraphWeight]) -> str:
    """The graphs and features of a side and how far the fit used each of them."""
    L = side.precision
    given = [name for name in weights if name != "ridge"]
    if not given:
        return "none"
    size = "no edge in use"
    if L.has_edges:
        size = f"{len(L.weights)} edges, {2.0 * len(L.weights) / L.n:.3g} neighbours a node"
    used = "; ".join(weights[name].sentence for name in given)
    return used if given == ["features"] else f"{size}; {used}"
