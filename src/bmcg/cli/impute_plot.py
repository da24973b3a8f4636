"""A picture of filled columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.storage import write_atomically
from ..imputing.matrix import Filled
from ..imputing.sources import Source
from .impute_check import Files, Reading
from .outcome import UserError, wrote
from .times import parse_times

# Series in one picture where none are named.
FEW = 4


def plotted_columns(source: Source, reading: Reading) -> list[int]:
    """Columns to draw: those named, else those with most missing that have some value."""
    names = [] if source.col_names is None else source.col_names.tolist()
    for name in reading.plotted:
        if name not in names:
            raise UserError(f"--plot-column {name}: no column of numbers has that name")
    if reading.plotted:
        return [names.index(name) for name in reading.plotted]
    missing = np.isnan(source.values)
    count = np.where(missing.all(axis=0), 0, missing.sum(axis=0))
    return np.sort(np.argsort(-count, kind="stable")[:FEW]).tolist()


def draw(source: Source, filled: Filled, level: float, files: Files, reading: Reading) -> None:
    """Draw series and write the picture."""
    from matplotlib.figure import Figure

    from ..plotting import filled_series

    assert files.plot is not None
    columns, values = plotted_columns(source, reading), source.values
    low, high = (filled.matrix(values, end) for end in filled.interval(level))
    mean = filled.matrix(values, filled.mean)
    times = _times(source, reading)
    order = np.argsort(times, kind="stable")
    figure = Figure(figsize=(10.0, 2.2 * len(columns) + 0.4), layout="constrained")
    axes = figure.subplots(len(columns), 1, sharex=True, squeeze=False)[:, 0]
    for ax, j in zip(axes, columns, strict=True):
        own = (part[order, j] for part in (values, mean, low, high))
        x, y, *band = own
        name = str(j if source.col_names is None else source.col_names[j])
        filled_series(x, y, (band[0], band[1]), ax, times=times[order], name=name)
    axes[-1].set_xlabel(reading.time or "row")
    for ax in axes[1:]:
        ax.get_legend().remove()
    kind = files.plot.suffix[1:].lower()
    write_atomically(files.plot, lambda path: figure.savefig(path, format=kind, dpi=120))
    wrote(files.plot)


def _times(source: Source, reading: Reading) -> NDArray[Any]:
    if reading.time is None or source.row_names is None:
        return np.arange(len(source.values))
    return parse_times(source.row_names, reading.time, reading.time_format)
