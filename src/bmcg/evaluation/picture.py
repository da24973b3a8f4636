"""The figures of an evaluation as one picture: a panel for each measure, and calibration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..files.storage import write_atomically
from .values import LEVELS

if TYPE_CHECKING:
    from .comparing import Evaluation

INK, SOFT = "#22313f", "#c9d6df"
COLOURS = ("#2a6f97", "#c8553d", "#6a994e", "#8d6a9f", "#b08900", "#4f772d", "#577590", "#9c6644")
BETTER = {"rmse": "less is better", "mae": "less is better", "calibration": "less is better"}


def draw(found: Evaluation, path: str | os.PathLike[str] | None) -> Any:
    """Draw, and write where a path is given.

    Parameters
    ----------
    found : Evaluation
    path : path-like or None

    Returns
    -------
    Figure
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "a picture of an evaluation needs matplotlib: python -m pip install 'bmcg[plot]'"
        ) from error
    mean, errors = found.mean, found.error
    shown = [m for m in range(len(found.measures)) if not np.isnan(mean[:, m]).all()]
    calibrated = not np.isnan(found.held).all()
    n_panels = len(shown) + calibrated
    n_cols = min(4, n_panels)
    n_rows = -(-n_panels // n_cols)
    height = 1.1 + 0.28 * len(found.names)
    figure = Figure(figsize=(3.1 * n_cols + 1.2, max(height, 2.0) * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    places = np.arange(len(found.names))[::-1]
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(found.names))]
    for panel, m in enumerate(shown):
        ax = figure.add_subplot(n_rows, n_cols, panel + 1)
        bars = np.nan_to_num(errors[:, m])
        ax.barh(places, np.nan_to_num(mean[:, m]), xerr=bars, color=colours, ecolor=INK)
        _range(ax, mean[:, m], bars)
        ax.set_yticks(places, found.names if panel % n_cols == 0 else [""] * len(places))
        for at, value in zip(places, mean[:, m], strict=True):
            words = "none" if np.isnan(value) else f"{value:.3g}"
            ax.text(
                1.02,
                at,
                words,
                transform=ax.get_yaxis_transform(),
                va="center",
                color=INK,
                fontsize=8,
            )
        title = found.title(found.measures[m])
        ax.set_title(title, fontsize=10, color=INK, loc="left")
        ax.set_xlabel(BETTER.get(found.measures[m], ""), fontsize=8)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    if calibrated:
        _calibration(figure.add_subplot(n_rows, n_cols, n_panels), found, colours)
    if path is not None:
        suffix = os.fspath(path).rpartition(".")[2]
        write_atomically(path, lambda name: figure.savefig(name, dpi=150, format=suffix))
    return figure


def _range(ax: Any, mean: Any, bars: Any) -> None:
    """Bars start at zero; a measure that can be negative shows where zero is."""
    low, high = np.nanmin(mean - bars), np.nanmax(mean + bars)
    ax.set_xlim(min(0.0, low * 1.05), max(0.0, high * 1.05) or -0.02 * low)
    ax.axvline(0.0, color=INK, linewidth=0.8)


def _calibration(ax: Any, found: Evaluation, colours: list[str]) -> None:
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=3)
    for held, colour in zip(found.held.mean(axis=1), colours, strict=True):
        if not np.isnan(held).all():
            ax.plot(LEVELS, held, color=colour, marker="o", ms=3)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_title("what intervals hold", fontsize=10, color=INK, loc="left")
    ax.set_xlabel("level of the interval", fontsize=8)
    ax.set_ylabel("share it holds", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
