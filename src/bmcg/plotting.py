"""Pictures of a fitted model: each takes the model and an axis, and returns the axis.

Needs matplotlib (the extra `plot`). Nothing is computed here: what is drawn is what the model
and `bmcg.metrics` say.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .estimators import BMCG
from .metrics import coverage

try:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise ImportError(
        "bmcg.plotting needs matplotlib: python -m pip install 'bmcg[plot]'"
    ) from error

INK, LINE, SOFT, WARM = "#22313f", "#2a6f97", "#c9d6df", "#c8553d"
# Most nodes, edges and entries that are drawn; more would only blacken the picture.
MOST_POINTS, MOST_EDGES, MOST_SIDE = 5_000, 20_000, 400
LEVELS = np.linspace(0.05, 0.95, 19)
BINS = 20


def convergence(model: BMCG, ax: Axes | None = None) -> Axes:
    """The evidence bound after every sweep, with the rank as steps behind it.

    The first sweeps, far below the others, are left out of the range of the axis.
    """
    ax = _axis(ax)
    trace, ranks = model.elbo_trace_, model.rank_trace_
    sweeps = np.arange(1, len(trace) + 1)
    ax.plot(sweeps, trace, color=LINE, marker="o" if len(trace) < 40 else "", ms=3, zorder=3)
    if len(trace) > 5:
        low, high = float(trace[3:].min()), float(trace.max())
        room = 0.06 * (high - low) + 1e-12
        ax.set_ylim(low - room, high + room)
    behind = ax.twinx()
    behind.fill_between(sweeps, ranks, step="mid", color=SOFT, alpha=0.45, linewidth=0)
    behind.set_ylabel("rank")
    behind.set_ylim(0, 1.5 * max(ranks))
    behind.yaxis.set_major_locator(MaxNLocator(integer=True))
    behind.spines["top"].set_visible(False)
    # The line belongs in front of the steps, which have an axis of their own.
    ax.set_zorder(behind.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return _named(ax, "Convergence", "sweep", "evidence bound (nats)")


def precision_spectrum(model: BMCG, ax: Axes | None = None) -> Axes:
    """⟨λ⟩ of every component, strongest first, and the columns that were dropped.

    A small precision is a component that carries much.
    """
    ax = _axis(ax)
    lam = np.sort(model.component_precisions_)
    pruned = int(model.rank_trace_.max()) - len(lam)
    ax.bar(np.arange(1, len(lam) + 1), lam, color=LINE)
    if pruned > 0:
        # They have no precision any more: it went to infinity.
        ends = len(lam) + 0.5, len(lam) + pruned + 0.5
        ax.axvspan(*ends, facecolor="white", edgecolor=SOFT, hatch="//", linewidth=0)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 2.0}
        words = f"{pruned} dropped"
        ax.text(0.98, 0.94, words, color=INK, bbox=box, ha="right", transform=ax.transAxes)
    ax.set_yscale("log")
    ax.set_xlim(0.4, len(lam) + pruned + 0.6)
    if len(lam):
        ax.set_ylim(lam[0] / 3.0, lam[-1] * 3.0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    return _named(ax, "Precisions of the components", "component", "precision ⟨λ⟩")


def pit_histogram(
    model: BMCG, rows: Any, cols: Any, values: ArrayLike, ax: Axes | None = None
) -> Axes:
    """Where outcomes fall in their predictive distributions; flat where those are right.

    Parameters
    ----------
    model : BMCG
    rows, cols : array_like of positions or labels, shape (n,)
    values : array_like, shape (n,)
        Entries that the model was not fitted on.
    ax : matplotlib axis, optional
    """
    ax = _axis(ax)
    u = model.predictive(rows, cols).pit(values)
    ax.hist(u, bins=BINS, range=(0, 1), density=True, color=LINE, edgecolor="white", linewidth=0.6)
    ax.axhline(1.0, color=WARM, linewidth=1.2)
    # What counts vary by where the distributions are right: two standard deviations.
    swing = 2.0 * np.sqrt(BINS / len(u))
    ax.axhspan(1.0 - swing, 1.0 + swing, color=WARM, alpha=0.12, linewidth=0)
    return _named(ax, "Where outcomes fall", "predictive probability below the outcome", "density")


def coverage_curve(
    model: BMCG, rows: Any, cols: Any, values: ArrayLike, ax: Axes | None = None
) -> Axes:
    """Share of outcomes inside central intervals against the share promised.

    Parameters as in `pit_histogram`.
    """
    ax = _axis(ax)
    predictive = model.predictive(rows, cols)
    reached = [coverage(values, *predictive.interval(level)) for level in LEVELS]
    ax.plot([0, 1], [0, 1], color=WARM, linewidth=1.2)
    ax.plot(LEVELS, reached, color=LINE, marker="o", ms=3.5)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    return _named(ax, "Coverage of intervals", "promised", "reached")


def observed_against_predicted(
    model: BMCG, rows: Any, cols: Any, values: ArrayLike, ax: Axes | None = None
) -> Axes:
    """Outcomes against predictions, the diagonal where they agree.

    Parameters as in `pit_histogram`; of many entries, evenly chosen ones are drawn.
    """
    ax = _axis(ax)
    values = np.asarray(values, dtype=np.float64)
    mean = np.asarray(model.predict(rows, cols))
    at = _some(len(values), MOST_POINTS)
    alpha = float(np.clip(400.0 / len(at), 0.08, 0.7))
    ax.scatter(mean[at], values[at], s=9, color=LINE, alpha=alpha, linewidth=0)
    ends = [min(mean.min(), values.min()), max(mean.max(), values.max())]
    ax.plot(ends, ends, color=WARM, linewidth=1.2)
    return _named(ax, "Outcomes and predictions", "predicted", "observed")


def factors_on_graph(
    model: BMCG,
    side: Literal["rows", "cols"] = "rows",
    ax: Axes | None = None,
    *,
    component: int = 0,
    positions: ArrayLike | None = None,
) -> Axes:
    """The nodes of a side with the edges of its graph.

    Parameters
    ----------
    model : BMCG
    side : {"rows", "cols"}
    ax : matplotlib axis, optional
    component : int
        The component whose factor colours the nodes, strongest first.
    positions : array_like, shape (n, 2), optional
        Where the nodes lie. By default a node lies where its factors of the two strongest
        components put it: edges are short where the graph and the factors agree.
    """
    if side not in ("rows", "cols"):
        raise ValueError(f'side={side!r}: pass "rows" or "cols"')
    if not 0 <= component < model.rank_:
        raise ValueError(f"component={component!r}: pass a number from 0 to {model.rank_ - 1}")
    ax = _axis(ax)
    factors = model.row_factors_ if side == "rows" else model.col_factors_
    L = model.fitted_.rows.precision if side == "rows" else model.fitted_.cols.precision
    order = np.argsort(model.component_precisions_)
    if positions is not None:
        place = np.asarray(positions, dtype=np.float64)
        if place.shape != (len(factors), 2):
            raise ValueError(f"positions has shape {place.shape}, expected ({len(factors)}, 2)")
    elif model.rank_ > 1:
        place = factors[:, order[:2]]
    else:
        place = np.column_stack((np.arange(len(factors)), factors[:, 0]))
    edges = _some(len(L.heads), MOST_EDGES)
    ends = np.stack((place[L.heads[edges]], place[L.tails[edges]]), axis=1)
    # Many edges lie on top of each other.
    alpha = float(np.clip(300.0 / max(len(edges), 1), 0.06, 0.6))
    ax.add_collection(LineCollection(list(ends), colors=INK, alpha=alpha, linewidths=0.5))
    colour, size = factors[:, order[component]], float(np.clip(6_000 / len(factors), 3, 40))
    shown = ax.scatter(
        place[:, 0], place[:, 1], c=colour, s=size, cmap="viridis", linewidth=0, zorder=2
    )
    ax.figure.colorbar(shown, ax=ax, label=f"factor of component {component + 1}")
    words = "Rows" if side == "rows" else "Columns"
    ax.autoscale_view()
    if positions is not None:
        return _named(ax, f"{words} on their graph", "", "")
    names = ("component 1", "component 2") if model.rank_ > 1 else ("position", "component 1")
    return _named(ax, f"{words} on their graph", *names)


def uncertainty_map(
    model: BMCG, ax: Axes | None = None, *, rows: Any = None, cols: Any = None
) -> Axes:
    """Standard deviation of the entries, without the noise of an observation.

    Parameters
    ----------
    model : BMCG
    ax : matplotlib axis, optional
    rows, cols : array_like of positions, optional
        Which to show; evenly chosen ones of a large matrix by default.
    """
    ax = _axis(ax)
    m, n = model.shape_
    i = _some(m, MOST_SIDE) if rows is None else np.asarray(rows)
    j = _some(n, MOST_SIDE) if cols is None else np.asarray(cols)
    spread = np.sqrt(model.fitted_.variance_block(i, j))
    # A few cold rows must not leave all others in the dark.
    top = float(np.percentile(spread, 99.0))
    image = ax.imshow(
        spread, cmap="magma", vmin=0.0, vmax=top, aspect="auto", interpolation="nearest"
    )
    ax.figure.colorbar(image, ax=ax, label="standard deviation", extend="max")
    ax.grid(False)
    names = [
        word if len(shown) == size else f"{word} ({len(shown)} of {size})"
        for word, shown, size in (("column", j, n), ("row", i, m))
    ]
    return _named(ax, "How unsure each entry is", *names)


def filled_series(
    values: ArrayLike,
    mean: ArrayLike,
    band: tuple[ArrayLike, ArrayLike],
    ax: Axes | None = None,
    *,
    times: ArrayLike | None = None,
    name: str = "",
) -> Axes:
    """One series: what was there, what its gaps were filled with, and the band around that.

    Parameters
    ----------
    values : array_like, shape (n,)
        NaN where missing.
    mean : array_like, shape (n,)
        The filled series; only its missing places are drawn.
    band : (array_like, array_like), shape (n,) each
        Low and high, likewise.
    ax : matplotlib axis, optional
    times : array_like of numbers or dates, shape (n,), optional
        Where the values lie, ascending; by default one after the other.
    name : str
        The title.
    """
    ax = _axis(ax)
    x, filled = np.asarray(values, dtype=np.float64), np.asarray(mean, dtype=np.float64)
    t, gone = np.arange(len(x)) if times is None else np.asarray(times), np.isnan(x)
    low, high = (np.where(gone, np.asarray(end, dtype=np.float64), x) for end in band)
    # A gap's line begins and ends at what is known, so that single cells can be seen.
    edge = gone | np.append(gone[1:], False) | np.append(False, gone[:-1])
    drawn = np.where(edge, np.where(gone, filled, x), np.nan)
    ax.fill_between(t, low, high, where=edge, color=WARM, alpha=0.25, linewidth=0, label="band")
    ax.plot(t, x, color=LINE, linewidth=1.1, marker=".", ms=2.5, label="known")
    ax.plot(t, drawn, color=WARM, linewidth=1.1, label="filled")
    ax.margins(x=0.01)
    # Above the axis, where it hides nothing.
    ax.legend(frameon=False, fontsize=8, ncols=3, loc="lower right", bbox_to_anchor=(1.0, 0.98))
    if t.dtype.kind == "M":
        places = AutoDateLocator(maxticks=8)  # type: ignore[no-untyped-call]
        ax.xaxis.set_major_locator(places)
        ax.xaxis.set_major_formatter(ConciseDateFormatter(places))  # type: ignore[no-untyped-call]
    return _named(ax, name or "Filled series", "", "")


def _axis(ax: Axes | None) -> Axes:
    return Figure(figsize=(5.6, 4.0), layout="constrained").subplots() if ax is None else ax


def _some(n: int, most: int) -> NDArray[np.intp]:
    """Evenly spaced positions among n, at most `most`."""
    if n <= most:
        return np.arange(n)
    return np.linspace(0, n - 1, most).astype(np.intp)


def _named(ax: Axes, title: str, x: str, y: str) -> Axes:
    ax.set_title(title, fontsize=11, color=INK, loc="left")
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    for edge in ("top", "right"):
        ax.spines[edge].set_visible(False)
    return ax
