"""Markdown from the results alone."""

from __future__ import annotations

from collections.abc import Callable

from .experiments import LOWER_IS_BETTER, METRIC_NAMES, Case
from .measuring import NOT_RUN
from .methods import OURS_LABEL, TUNED
from .published import Reference, references
from .summary import Figure, Rival, Summary


def page(summary: Summary) -> str:
    """The whole page of a bench: a table for each group, checks, references, origin."""
    experiment = summary.experiment
    parts = [f"# {experiment.title}", experiment.note, _legend(summary)]
    for group in experiment.groups:
        parts += [f"## {group}", _group(summary, group, _score)]
    if any(case.metric == "psnr" for case in experiment.cases):
        parts += ["## Structural similarity (SSIM, dynamic range 255)"]
        parts += [
            _group(summary, group, _ssim)
            for group in experiment.groups
            if summary.columns(group)[0].metric == "psnr"
        ]
    parts += _checks(summary)
    outside = references(experiment.name)
    if outside and not summary.quick:
        parts += ["## Outside references", _references(summary, outside)]
    return "\n\n".join([*parts, _origin(summary)]) + "\n"


def seconds_page(summary: Summary) -> str:
    """Wall seconds of a fit, which no rerun reproduces, on a page of their own."""
    parts = [
        f"# {summary.experiment.title}: seconds",
        "Mean wall time of a cell, tuning included, one thread each. The machine ran other work "
        "at the same time: compare orders of magnitude only.",
    ]
    for group in summary.experiment.groups:
        parts += [f"## {group}", _group(summary, group, _seconds)]
    return "\n\n".join(parts) + "\n"


def number(value: float, metric: str) -> str:
    """A figure with the digits its metric deserves."""
    return f"{value:.2f}" if metric == "psnr" or abs(value) >= 10.0 else f"{value:.4f}"


def _legend(summary: Summary) -> str:
    metrics = dict.fromkeys(METRIC_NAMES[case.metric] for case in summary.experiment.cases)
    seeds = max((row["seed"] for row in summary.rows), default=0) + 1
    text = f"{', '.join(metrics)}: mean ± standard deviation over {seeds} seeds"
    if seeds == 1:
        text = f"{', '.join(metrics)} with one seed"
    shown = any(
        summary.published(case, label) is not None
        for group in summary.experiment.groups
        for case in summary.columns(group)
        for label in summary.labels(group)
    )
    if shown:
        text += "; in parentheses the figure that the paper prints for the method"
    return text + ". The best of our results in a column is bold."


Shown = Callable[[Summary, Case, str, Figure, float | None], str]


def _group(summary: Summary, group: str, shown: Shown) -> str:
    cases, labels = summary.columns(group), summary.labels(group)
    best = [summary.best(case, labels) for case in cases]
    lines = [_line(["method", *(case.name for case in cases)]), "|---" * (len(cases) + 1) + "|"]
    for label in labels:
        cells = [label]
        for case, top in zip(cases, best, strict=True):
            figure = summary.figure(case, label)
            cells.append(_missing(case, label) if figure is None
                         else shown(summary, case, label, figure, top))  # fmt: skip
        lines.append(_line(cells))
    return "\n".join(lines)


def _missing(case: Case, label: str) -> str:
    asked = any(entry.label == label for entry in case.entries)
    return "not run" if asked else "not run (too many fits)"


def _score(summary: Summary, case: Case, label: str, figure: Figure, best: float | None) -> str:
    printed = summary.published(case, label)
    beside = "" if printed is None else f" ({number(printed, case.metric)})"
    if figure.mean is None:
        return f"{figure.reason};{beside}" if beside else figure.reason
    text = number(figure.mean, case.metric)
    text = f"**{text}**" if figure.mean == best else text
    if figure.spread is not None:
        text += f" ± {number(figure.spread, case.metric)}"
    if figure.n < figure.asked:
        text += f" [{figure.n} of {figure.asked} seeds; others: {figure.reason}]"
    return text + beside


def _ssim(summary: Summary, case: Case, label: str, figure: Figure, best: float | None) -> str:
    return figure.reason if figure.ssim is None else f"{figure.ssim:.3f}"


def _seconds(summary: Summary, case: Case, label: str, figure: Figure, best: float | None) -> str:
    return figure.reason if figure.seconds is None else f"{figure.seconds:.1f}"


def _checks(summary: Summary) -> list[str]:
    """Our setting against the paper's figure, and against other methods untuned and tuned."""
    lines = []
    for group in summary.experiment.groups:
        for case in summary.columns(group):
            figure = summary.figure(case, OURS_LABEL)
            if figure is None or figure.mean is None:
                continue
            others = [label for label in summary.labels(group) if not label.startswith("BMCG (")]
            plain = [label for label in others if not label.endswith(TUNED)]
            rivals = [summary.rival(case, OURS_LABEL, some) for some in (plain, others)]
            printed = summary.published(case, OURS_LABEL)
            cells = [group, case.name, number(figure.mean, case.metric)]
            cells.append("–" if printed is None else _against(figure.mean, printed, case.metric))
            cells += ["–" if r is None else _beside(r, case.metric, figure.n) for r in rivals]
            lines.append(_line(cells))
    if not lines:
        return []
    head = ["table", "column", OURS_LABEL, "against the paper's BMCG",
            "against the best at its authors' settings",
            "against the best, tuned ones included"]  # fmt: skip
    return ["## Our setting against others",
            "\n".join([_line(head), "|---" * len(head) + "|", *lines])]  # fmt: skip


def _beside(rival: Rival, metric: str, n_seeds: int) -> str:
    """Against the method we fare worst with; on how many seeds, where they are fewer than ours."""
    seeds = "" if rival.n_seeds == n_seeds else f" (seeds: {rival.n_seeds})"
    return f"{rival.label} {_against(rival.ours, rival.theirs, metric)}{seeds}"


def _against(ours: float, other: float, metric: str) -> str:
    lower = LOWER_IS_BETTER[metric]
    if metric == "psnr":
        change = f"{ours - other:+.2f} dB"
    else:
        change = f"{100.0 * (ours / other - 1.0):+.1f} %" if other else f"{ours - other:+.4f}"
    better = ours <= other if lower else ours >= other
    return f"{number(other, metric)}: {change}, {'better or equal' if better else 'worse'}"


def _references(summary: Summary, outside: tuple[Reference, ...]) -> str:
    names = dict.fromkeys(name for entry in outside for name in entry.values)
    lines = [_line(["method", *names, "source"]), "|---" * (len(names) + 2) + "|"]
    for entry in outside:
        values = [f"{entry.values[name]:g}" if name in entry.values else "–" for name in names]
        lines.append(_line([entry.method, *values, entry.source]))
    return "\n".join(lines)


def _origin(summary: Summary) -> str:
    rows = [row for row in summary.rows if row["status"] != NOT_RUN] or summary.rows
    commits = sorted({row["commit"] for row in rows if row["commit"]})
    machines = sorted({row["machine"] for row in rows})
    versions = sorted({row["versions"] for row in rows})
    lines = ["## Origin", f"`bmcg bench {summary.experiment.name}`"
             + (" --quick: stand-ins, not results." if summary.quick else "."),
             f"Commit: {', '.join(commits) or 'unknown'}. Machine: {'; '.join(machines)}.",
             f"Versions: {'; '.join(versions)}."]  # fmt: skip
    return "\n\n".join([lines[0], " ".join(lines[1:])])


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "/") for cell in cells) + " |"
