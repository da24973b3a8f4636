"""Findings and pictures laid out as one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable
from html import escape
from typing import Any

from ..estimators import BMCG
from .findings import Findings
from .held_out import Entries

STYLE = """
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: #1c2733; background: #fff;
       max-width: 72rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; margin: .5rem 0 0; } h2 { font-size: 1.15rem; margin: 2rem 0 .6rem; }
.lead { color: #5b6b7a; margin: 0 0 1rem; overflow-wrap: anywhere; }
.numbers { display: grid; gap: .7rem; grid-template-columns: repeat(auto-fit, minmax(14rem, 1fr)); }
.numbers div { border: 1px solid #d7e0e7; border-radius: .5rem; padding: .7rem .9rem; }
.numbers dt { color: #5b6b7a; font-size: .85rem; }
.numbers dd { margin: 0; } .numbers .value { font-size: 1.7rem; line-height: 1.2; }
.numbers .note { color: #5b6b7a; font-size: .85rem; }
dl { margin: 0; }
.warnings { border-left: 4px solid #c8553d; background: #fbf1ee; margin: 1.2rem 0;
            padding: .6rem 1rem .6rem 2rem; border-radius: .3rem; }
.figures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(20rem, 1fr)); }
figure { margin: 0; } figure img { width: 100%; height: auto; display: block; }
figcaption { color: #5b6b7a; font-size: .85rem; }
.facts { display: grid; grid-template-columns: max-content 1fr; gap: .3rem 1rem; }
.facts dt { color: #5b6b7a; } .facts dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) { .figures { grid-template-columns: 1fr; }
  .facts { grid-template-columns: 1fr; } .facts dd { margin-bottom: .5rem; } }
"""


def render(model: BMCG, findings: Findings, title: str = "A model") -> str:
    """The page.

    Parameters
    ----------
    model : BMCG
    findings : Findings
        Of that model.
    title : str
    """
    m, n = model.shape_
    name = escape(title)
    parts = [
        f"<h1>{name}</h1>",
        f'<p class="lead">{m:,} × {n:,} matrix completed by bmcg</p>',
        _numbers(findings),
        _items("Warnings", findings.warnings, "warnings") if findings.warnings else "",
        _items("What the graphs contributed", findings.graphs, "graphs"),
        '<h2>Pictures</h2>\n<div class="figures">',
        *(_figure(draw, words) for draw, words in _pictures(model, findings.test)),
        "</div>",
        _facts(findings),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{name}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def _pictures(model: BMCG, test: Entries | None) -> list[tuple[Callable[[Any], Any], str]]:
    from .. import plotting

    shown: list[tuple[Callable[[Any], Any], str]] = []
    if test is not None:
        rows, cols, values = test
        shown += [
            (
                lambda ax: plotting.observed_against_predicted(model, rows, cols, values, ax),
                "Held-out entries against their predictions; on the line they agree.",
            ),
            (
                lambda ax: plotting.coverage_curve(model, rows, cols, values, ax),
                "How many held-out entries lie in their intervals; on the line, as promised.",
            ),
            (
                lambda ax: plotting.pit_histogram(model, rows, cols, values, ax),
                "Flat where predictive distributions are right; a hill where they are too wide, "
                "a valley where they are too narrow.",
            ),
        ]
    shown += [
        (
            lambda ax: plotting.convergence(model, ax),
            "The evidence bound never falls while the rank stays; the rank is shaded.",
        ),
        (
            lambda ax: plotting.precision_spectrum(model, ax),
            "The lower the bar, the more a component carries.",
        ),
        (
            lambda ax: plotting.uncertainty_map(model, ax),
            "Bright rows and columns are those the data says little about.",
        ),
    ]
    for side in ("rows", "cols"):
        fitted = model.fitted_.rows if side == "rows" else model.fitted_.cols
        if fitted.precision.has_edges and model.rank_ > 0:
            shown.append(
                (
                    lambda ax, side=side: plotting.factors_on_graph(model, side, ax),  # type: ignore[misc]
                    "Each node where its two strongest factors put it, with the graph's edges: "
                    "short where the graph agrees with the data.",
                )
            )
    return shown


def _figure(draw: Callable[[Any], Any], words: str) -> str:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.4, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    ax = draw(figure.subplots())
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=130)
    data = base64.b64encode(file.getvalue()).decode("ascii")
    label = escape(ax.get_title(loc="left"))
    return (
        f'<figure><img alt="{label}" src="data:image/png;base64,{data}">'
        f"<figcaption>{escape(words)}</figcaption></figure>"
    )


def _numbers(findings: Findings) -> str:
    cards = "\n".join(
        f'<div><dt>{escape(n.name)}</dt><dd class="value">{escape(n.value)}</dd>'
        f'<dd class="note">{escape(n.note)}</dd></div>'
        for n in findings.numbers
    )
    return f'<dl class="numbers">\n{cards}\n</dl>'


def _items(title: str, lines: tuple[str, ...], kind: str) -> str:
    listed = "\n".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<h2>{title}</h2>\n<ul class="{kind}">\n{listed}\n</ul>'


def _facts(findings: Findings) -> str:
    lines = "\n".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in findings.facts)
    return f'<h2>To reproduce it</h2>\n<dl class="facts">\n{lines}\n</dl>'
