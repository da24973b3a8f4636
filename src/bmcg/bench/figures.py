"""Figures from the results alone, as PNG and SVG."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ..files.storage import write_atomically
from .experiments import LOWER_IS_BETTER, METRIC_NAMES, Case
from .methods import COLUMN_LABEL, OURS_LABEL, PAPER_METHODS, TUNED
from .summary import Summary

Row = dict[str, Any]

INK, GREY, GRID = "#222222", "#8a8f98", "#e6e8eb"
COLOURS = {
    "BMCG": "#c8102e",
    "MC on Graphs": "#8c6d31",
    "L1MC": "#bdbdbd",
    "LMaFit": "#7f7f7f",
    "GRALS": "#1f6fb4",
    "GPMF": "#17a2b8",
    "BMC-GP-GAMP": "#2e8b57",
    "KPMF": "#9467bd",
    "BPMF": "#e07b00",
    "VBMC": "#5b4636",
}
MARKERS = dict(zip(PAPER_METHODS, "oDvXs^P*<>", strict=True))
SHORT = {OURS_LABEL: "BMCG (ours)", COLUMN_LABEL: "BMCG (column)"}


def save(figure: Figure, path: Path) -> None:
    """Write a figure as PNG and SVG, the same bytes for the same content."""
    FigureCanvasAgg(figure)
    for suffix, options in ((".png", {"dpi": 130}), (".svg", {"metadata": {"Date": None}})):
        with mpl.rc_context({"svg.hashsalt": "bmcg", "svg.fonttype": "none"}):
            write_atomically(
                path.with_suffix(suffix),
                lambda temporary, options=options: figure.savefig(
                    temporary, facecolor="white", **options
                ),
            )


def dots(summary: Summary, group: str) -> Figure:
    """One panel for each case, one line for each method: ours filled, the paper's hollow."""
    cases, labels = summary.columns(group), summary.labels(group)
    wide = min(len(cases), 4)
    high = -(-len(cases) // wide)
    size = (2.6 * wide + 2.2, high * (0.24 * len(labels) + 0.9) + 0.5)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(high, wide, squeeze=False, sharey=True)
    for ax in axes.ravel()[len(cases) :]:
        ax.set_visible(False)
    for ax, case in zip(axes.ravel(), cases, strict=False):
        _dot_panel(ax, summary, case, labels)
    for ax in axes[:, 0]:
        ax.set_yticks(range(len(labels)), [SHORT.get(label, label) for label in labels], fontsize=8)
    axes[0, 0].invert_yaxis()  # shared by all panels
    printed = any(summary.published(case, label) for case in cases for label in labels)
    title = group + (" – filled: ours, hollow: the paper's" if printed else "")
    figure.suptitle(title, fontsize=10, color=INK)
    return figure


def _dot_panel(ax: Any, summary: Summary, case: Case, labels: Sequence[str]) -> None:
    values = []
    for at, label in enumerate(labels):
        colour = COLOURS[summary.method(label)]
        figure, printed = summary.figure(case, label), summary.published(case, label)
        if printed is not None:
            values.append(printed)
            ax.plot(printed, at, "o", mfc="white", mec=colour, ms=5.5, zorder=2)
        if figure is None or figure.mean is None:
            if printed is None:
                ax.text(0.02, at, "no result", fontsize=6.5, color=GREY, va="center",
                        transform=ax.get_yaxis_transform())  # fmt: skip
            continue
        values.append(figure.mean)
        ax.errorbar(figure.mean, at, xerr=figure.spread, fmt="o", color=colour, ms=5.5, zorder=3)
    if values and min(values) > 0 and max(values) / min(values) > 4 and case.metric != "psnr":
        ax.set_xscale("log")
        _plain_log(ax.xaxis, (1.0, 3.0))
    _tidy(ax)
    ax.grid(axis="x", color=GRID)
    ax.set_title(case.name, fontsize=9)
    arrow = "←" if LOWER_IS_BETTER[case.metric] else "→"
    ax.set_xlabel(f"{METRIC_NAMES[case.metric]}  ({arrow} better)", fontsize=8)


def curves(summary: Summary, groups: Sequence[str], xlabels: Sequence[str]) -> Figure:
    """One panel for each group, a line for each method over the cases."""
    figure = Figure(figsize=(4.3 * len(groups), 4.6), layout="constrained")
    axes = figure.subplots(1, len(groups), squeeze=False)[0]
    handles: dict[str, Any] = {}
    for ax, group, xlabel in zip(axes, groups, xlabels, strict=True):
        for label in summary.labels(group):
            line = _curve(ax, summary, group, label)
            if line is not None:
                handles.setdefault(SHORT.get(label, label), line)
        metric = summary.columns(group)[0].metric
        low, high = ax.dataLim.intervaly
        if metric != "psnr" and high > 4.0 * low > 0.0:
            ax.set_yscale("log")
            _plain_log(ax.yaxis, (1.0, 2.0, 5.0))
        ticks = [case.x for case in summary.columns(group) if case.x is not None]
        ax.set_xticks(ticks, [f"{x:g}" for x in ticks])
        ax.minorticks_off()
        _tidy(ax)
        ax.grid(color=GRID)
        ax.set_title(group, fontsize=9)
        ax.set_xlabel(xlabel, fontsize=9)
        ax.set_ylabel(METRIC_NAMES[metric], fontsize=9)
    figure.legend(handles.values(), handles, loc="outside lower center", fontsize=8,
                  ncols=min(6, len(handles)), frameon=False)  # fmt: skip
    return figure


def _curve(ax: Any, summary: Summary, group: str, label: str) -> Any:
    method, ours = summary.method(label), label == OURS_LABEL
    points = []
    for case in summary.columns(group):
        figure = summary.figure(case, label)
        if figure is not None and figure.mean is not None:
            points.append((case.x, figure.mean, figure.spread or 0.0))
    if not points:
        return None
    x, y, spread = zip(*points, strict=True)
    if max(x) / min(x) > 20:
        ax.set_xscale("log")
    style = "--" if label.endswith(TUNED) or label == COLUMN_LABEL else "-"
    return ax.errorbar(x, y, yerr=spread, ls=style, color=COLOURS[method],
                       marker=MARKERS[method], ms=6 if ours else 4.5, lw=2.4 if ours else 1.2,
                       zorder=4 if ours else 2, capsize=0, elinewidth=0.8)  # fmt: skip


def picture_grid(rows: list[Row], labels: Sequence[str]) -> Figure:
    """Completed images: a line for each case, the truth and what was seen first.

    Parameters
    ----------
    rows : list of dict
        Of a bench's pictures file.
    labels : sequence of str
        Methods to show; those without a picture leave an empty frame.
    """
    found = {(row["case"], row["label"]): row for row in rows}
    cases = list(dict.fromkeys(row["case"] for row in rows))
    heads = ["truth", "observed", *labels]
    figure = Figure(figsize=(1.5 * len(heads), 1.8 * len(cases)), layout="constrained")
    axes = figure.subplots(len(cases), len(heads), squeeze=False)
    for line, case in zip(axes, cases, strict=True):
        some = next(row for row in rows if row["case"] == case)
        for ax, head in zip(line, heads, strict=True):
            row = found.get((case, head))
            key = {"truth": "truth", "observed": "masked"}.get(head, "picture")
            title = SHORT.get(head, head)
            if key != "picture":
                _image(ax, some[key], title)
            elif row is not None:
                _image(ax, row[key], f"{title}\n{row['psnr']:.2f} dB")
            else:
                _image(ax, None, f"{title}\nno result")
        line[0].set_ylabel(case, fontsize=8)
    return figure


def prior_figures(rows: list[Row]) -> dict[str, Figure]:
    """The density with and without a graph, and the response to the graph penalty."""
    density = Figure(figsize=(8.2, 3.7), layout="constrained")
    axes = density.subplots(1, 2, sharey=True)
    for ax, (prior, title) in zip(
        axes, (("graph", "with a graph: L = [1, −0.8; −0.8, 1]"), ("no graph", "without: L = I")),
        strict=True,
    ):  # fmt: skip
        part = [row for row in rows if row["figure"] == "density" and row["prior"] == prior]
        axis = sorted({row["w1"] for row in part})
        value = np.array([row["value"] for row in part]).reshape(len(axis), -1)
        shown = ax.contourf(axis, axis, np.clip(value, -1.5, 4.5), np.linspace(-1.5, 4.5, 25),
                            cmap="magma")  # fmt: skip
        ax.set_aspect("equal")
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("$w_1$")
    axes[0].set_ylabel("$w_2$")
    bar = density.colorbar(shown, ax=axes, fraction=0.04)
    bar.set_label("log density + constant", fontsize=9)
    response = Figure(figsize=(4.6, 3.4), layout="constrained")
    ax = response.subplots()
    styles = {"BMCG: G^(-1/2)": ("#c8102e", "BMCG: $G^{-1/2}$"),
              "Wishart: exp(-G)": ("#1f6fb4", "Wishart prior: $e^{-G}$")}  # fmt: skip
    for prior, (colour, label) in styles.items():
        part = [row for row in rows if row["prior"] == prior]
        ax.plot([row["G"] for row in part], [row["value"] for row in part], color=colour, lw=2,
                label=label)  # fmt: skip
    _tidy(ax)
    ax.set_ylim(0, 4)
    ax.set_xlabel("graph penalty $G = w^T L w$")
    ax.set_ylabel("p(w), up to a factor")
    ax.legend(frameon=False)
    return {"priors-density": density, "priors-response": response}


def _image(ax: Any, png: bytes | None, title: str) -> None:
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_title(title, fontsize=7.5)
    for spine in ax.spines.values():
        spine.set_visible(False)
    if png is not None:
        from PIL import Image

        ax.imshow(Image.open(io.BytesIO(png)), cmap="gray", vmin=0, vmax=255)
    else:
        ax.set_facecolor(GRID)


def _plain_log(axis: Any, steps: tuple[float, ...]) -> None:
    """Ticks of a logarithmic axis as plain numbers."""
    axis.set_major_locator(LogLocator(10.0, subs=steps))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def _tidy(ax: Any) -> None:
    ax.set_axisbelow(True)
    ax.tick_params(labelsize=8, color=GREY)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
