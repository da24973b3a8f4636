"""A fitted model in words and numbers."""

from __future__ import annotations

from pathlib import Path

from ..base import MatrixCompleter
from ..estimators import BMCG
from ..observations.labels import Labels
from ..posterior import Posterior, SidePosterior


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
    # q(τ) counts the observations: its shape is the prior's plus half of them.
    n_observed = round(2.0 * float(fitted.tau.shape))
    explained = 1.0 - (model.noise_std_ / fitted.scale) ** 2
    ended = {
        "converged": "converged",
        "max_sweeps": "stopped at the most sweeps allowed",
        "interrupted": "interrupted",
        "stopped": "stopped by a callback",
    }[model.stop_reason_]
    return [
        ("observed", f"{n_observed} entries ({100.0 * n_observed / (m * n):.3g} %)"),
        ("rank", f"{model.rank_} (at most {min(model.rank, m, n)} allowed)"),
        ("noise", f"standard deviation {model.noise_std_:.4g}"),
        (
            "fit",
            f"{100.0 * explained:.1f} % of the observed mean square explained; "
            f"{ended} after {model.n_sweeps_} sweeps",
        ),
        ("bound", f"{model.elbo_trace_[-1]:.6g} nats"),
        ("row graph", _graph(fitted.rows)),
        ("col graph", _graph(fitted.cols)),
        ("posterior", model.posterior_),
        *_judged(model),
        *(("joined", f"{argument}: {note}") for argument, note in model.joined_.items()),
    ]


def _judged(model: BMCG) -> list[tuple[str, str]]:
    """What the fit says of each side's graphs and features, where it judged them."""
    return [
        (f"{side} use", "; ".join(weight.sentence for weight in found.values()))
        for side, found in model.graph_weights_.items()
        if len(found) > 2 or "features" in found
    ]


def _labels(labels: Labels | None) -> str:
    if labels is None:
        return "by position"
    names = labels.values[:3].tolist()
    shown = ", ".join(map(str, names)) + (", ..." if len(labels) > len(names) else "")
    return f"{labels.name or 'labels'}: {shown}"


def _graph(side: SidePosterior) -> str:
    L = side.precision
    if not L.has_edges:
        return "none"
    return f"{len(L.weights)} edges, {2.0 * len(L.weights) / L.n:.3g} neighbours a node"
