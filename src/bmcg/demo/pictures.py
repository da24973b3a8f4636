"""One picture for each case: what was known, what was made of it, and how sure it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from ..files.storage import write_atomically
from .fits import Outcome

Array = NDArray[np.float64]

MISSING = {"rmse": "#edf1f4", "error rate": "#ffffff", "psnr": "#d3e4f3"}
COLOURS = {"rmse": "viridis", "error rate": "cividis", "psnr": "gray"}


def draw(outcome: Outcome, path: Path) -> None:
    """Write the picture of a case as a PNG file."""
    case = outcome.case
    truth = case.data.truth
    assert truth is not None
    low, high = np.percentile(truth, [0.5, 99.5]) if case.measure == "rmse" else _ends(truth)
    observed = np.full(truth.shape, np.nan)
    entries = case.data.observations
    observed[entries.row_indices, entries.col_indices] = entries.values
    panels = [
        (f"observed ({100.0 * len(entries) / truth.size:.0f} %)", observed),
        (f"without graphs\n{score(outcome, False)}", outcome.without.matrix),
        (f"with graphs\n{score(outcome, True)}", outcome.with_graphs.matrix),
        ("truth", truth),
    ]
    # Pixels are square, users are not.
    aspect, height = ("equal", 3.0) if case.measure == "psnr" else ("auto", 3.4)
    figure = Figure(figsize=(12.4, height), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, 5)
    colours = colormaps[COLOURS[case.measure]].with_extremes(bad=MISSING[case.measure])
    for ax, (title, matrix) in zip(axes, panels, strict=False):
        _show(ax, title, matrix, cmap=colours, vmin=low, vmax=high, aspect=aspect)
    axes[0].set_ylabel(case.rows)
    axes[0].set_xlabel(case.cols)
    spread = outcome.with_graphs.spread
    title = "standard deviation\nwith graphs"
    shown = _show(axes[4], title, spread, cmap="magma", vmin=0.0, aspect=aspect)
    bar = figure.colorbar(shown, ax=axes[4], fraction=0.05, pad=0.03)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    write_atomically(path, lambda temporary: figure.savefig(temporary, dpi=110))


def score(outcome: Outcome, graphs: bool) -> str:
    """The error of one of the fits with its unit."""
    error = (outcome.with_graphs if graphs else outcome.without).error
    return {
        "rmse": f"RMSE {error:.2f}",
        "error rate": f"{100.0 * error:.1f} % wrong",
        "psnr": f"PSNR {error:.1f} dB",
    }[outcome.case.measure]


def _show(ax: Any, title: str, matrix: Array, **options: Any) -> Any:
    ax.set_title(title, fontsize=10)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax.imshow(matrix, interpolation="nearest", **options)


def _ends(truth: Array) -> tuple[float, float]:
    return float(truth.min()), float(truth.max())
