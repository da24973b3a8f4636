"""The demo's report: one page that needs nothing else, and the same numbers as text."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path

from .. import __version__
from .fits import LEVEL, Outcome, Result
from .pictures import score

HEADINGS = ("", "rank", "noise", "held-out error", f"{100 * LEVEL:.0f} % intervals hold")

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2733; background: #fff;
       max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { margin-top: 2.5rem; }
img { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .9rem .3rem 0; text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
thead th { border-bottom: 1px solid #9fb0bf; font-weight: 600; }
footer { margin-top: 3rem; color: #5b6b7a; font-size: .9rem; }
"""


def text(outcome: Outcome) -> str:
    """What a case found, as lines for a terminal."""
    rows = [HEADINGS, *_rows(outcome)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADINGS))]
    lines = [
        "  " + "  ".join(cell.rjust(w) if i else cell.ljust(w) for i, (cell, w) in columns)
        for columns in (list(enumerate(zip(row, widths, strict=True))) for row in rows)
    ]
    lines = [line.rstrip() for line in lines]
    return "\n".join([f"{outcome.case.title} ({_size(outcome)})", *lines])


def html(outcomes: list[Outcome], pictures: list[Path], seed: int) -> str:
    """The whole report as one self-contained page."""
    sections = [
        _section(outcome, picture) for outcome, picture in zip(outcomes, pictures, strict=True)
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>bmcg demo</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        "<h1>Three matrices, completed</h1>\n"
        "<p>Each case is drawn from a seed and fitted twice with the same settings, once with "
        "its graphs and once without. Nothing is tuned: rank and noise are learned. Errors are "
        "those of entries the fit has not seen; an interval is right when it holds that entry "
        "observed anew.</p>\n"
        + "\n".join(sections)
        + f"\n<footer>bmcg {__version__}, <code>bmcg demo --seed {seed}</code></footer>\n"
        "</body>\n</html>\n"
    )


def _section(outcome: Outcome, picture: Path) -> str:
    case = outcome.case
    data = base64.b64encode(picture.read_bytes()).decode()
    head = "".join(f"<th>{escape(cell)}</th>" for cell in HEADINGS)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
        for row in _rows(outcome)
    )
    alt = f"{case.title}: observed, without graphs, with graphs, truth, standard deviation"
    return (
        f"<h2>{escape(case.title)}</h2>\n<p>{escape(case.story)}</p>\n"
        f'<img src="data:image/png;base64,{data}" alt="{escape(alt)}">\n'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _rows(outcome: Outcome) -> list[tuple[str, ...]]:
    rows = [_row("with graphs", outcome, True), _row("without graphs", outcome, False)]
    if outcome.case.noise is not None:
        rank = "" if outcome.case.rank is None else str(outcome.case.rank)
        rows.append(("drawn with", rank, f"{outcome.case.noise:.3g}", "", ""))
    return rows


def _row(name: str, outcome: Outcome, graphs: bool) -> tuple[str, ...]:
    result: Result = outcome.with_graphs if graphs else outcome.without
    return (
        name,
        str(result.rank),
        f"{result.noise:.3g}",
        score(outcome, graphs),
        f"{100.0 * result.covered:.1f} %",
    )


def _size(outcome: Outcome) -> str:
    entries = outcome.case.data.observations
    m, n = entries.shape
    return f"{m} x {n}, {100.0 * len(entries) / (m * n):.0f} % observed"
