"""The figures of an evaluation as one picture: a panel for each measure, and calibration."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.storage import write_atomically
from .values import LEVELS

Array = NDArray[np.float64]

INK, SOFT = "#22313f", "#c9d6df"
COLOURS = ("#2a6f97", "#c8553d", "#6a994e", "#8d6a9f", "#b08900", "#4f772d", "#577590", "#9c6644")
BETTER = {"rmse": "less is better", "mae": "less is better", "calibration": "less is better"}


def draw(
    names: Sequence[str],
    titles: Sequence[str],
    mean: Array,
    errors: Array,
    held: Array,
    path: str | os.PathLike[str] | None,
) -> Any:
    """Draw, and write where a path is given.

    Parameters
    ----------
    names : sequence of str
        Of the models.
    titles : sequence of str
        Of the measures.
    mean, errors : ndarray of shape (n_models, n_measures)
        NaN where a model does not say.
    held : ndarray of shape (n_models, n_levels)
        What central intervals of the levels `LEVELS` hold.
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
    shown = [m for m in range(len(titles)) if not np.isnan(mean[:, m]).all()]
    calibrated = not np.isnan(held).all()
    n_panels = len(shown) + calibrated
    n_cols = min(4, n_panels)
    n_rows = -(-n_panels // n_cols)
    height = 1.1 + 0.28 * len(names)
    figure = Figure(figsize=(3.1 * n_cols + 1.2, max(height, 2.0) * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    colours = [COLOURS[at % len(COLOURS)] for at in range(len(names))]
    for panel, m in enumerate(shown):
        ax = figure.add_subplot(n_rows, n_cols, panel + 1)
        _bars(ax, titles[m], mean[:, m], np.nan_to_num(errors[:, m]), colours)
        places = ax.get_yticks()
        ax.set_yticks(places, names if panel % n_cols == 0 else [""] * len(places))
    if calibrated:
        _calibration(figure.add_subplot(n_rows, n_cols, n_panels), held, colours)
    if path is not None:
        suffix = os.fspath(path).rpartition(".")[2]
        write_atomically(path, lambda name: figure.savefig(name, dpi=150, format=suffix))
    return figure


def _bars(ax: Any, title: str, mean: Array, errors: Array, colours: list[str]) -> None:
    """One measure of all models, the first on top."""
    places = np.arange(len(mean))[::-1]
    ax.barh(places, np.nan_to_num(mean), xerr=errors, color=colours, ecolor=INK)
    _range(ax, mean, errors)
    ax.set_yticks(places)
    beside = {"transform": ax.get_yaxis_transform(), "va": "center", "color": INK, "fontsize": 8}
    for at, value in zip(places, mean, strict=True):
        ax.text(1.02, at, "none" if np.isnan(value) else f"{value:.3g}", **beside)
    ax.set_title(title, fontsize=10, color=INK, loc="left")
    ax.set_xlabel(BETTER.get(title, ""), fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)


def _range(ax: Any, mean: Any, bars: Any) -> None:
    """Bars start at zero; a measure that can be negative shows where zero is."""
    low, high = np.nanmin(mean - bars), np.nanmax(mean + bars)
    ax.set_xlim(min(0.0, low * 1.05), max(0.0, high * 1.05) or -0.02 * low)
    ax.axvline(0.0, color=INK, linewidth=0.8)


def _calibration(ax: Any, held: Array, colours: list[str]) -> None:
    ax.plot([0, 1], [0, 1], color=SOFT, linewidth=3)
    for shares, colour in zip(held, colours, strict=True):
        if not np.isnan(shares).all():
            ax.plot(LEVELS, shares, color=colour, marker="o", ms=3)
    ax.set(xlim=(0, 1), ylim=(0, 1))
    ax.set_title("what intervals hold", fontsize=10, color=INK, loc="left")
    ax.set_xlabel("level of the interval", fontsize=8)
    ax.set_ylabel("share it holds", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=8)
