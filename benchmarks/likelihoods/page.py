"""The page of what was measured."""

from __future__ import annotations

from typing import Any

import numpy as np
from benchmarks.reporting import machine, table

from .measure import MODELS, SPOILT
from .sets import CASES

Cells = dict[str, dict[str, Any]]

HEAD = """# Likelihoods

Every kind of value with the likelihood it is for, beside Gaussian noise. Written by
`python -m benchmarks.likelihoods`; nothing is tuned. Models have biases, the `row` posterior and
no questions asked; those "as it comes" are what a user gets who sets the likelihood alone: entries
left out of the fit decide on posterior, components and the form of graphs. The log score is the
mean of ln p of left-out values, higher is better; seconds are of the clock, with other work on the
machine.
A Gaussian's p of a discrete value is its mass up to half the way to the next one, what lies beyond
the ends counted to these, with one thousandth of the values' own frequencies mixed in. Counts of
`foursquare` and `sc_mixology` are thinned: fair coins split each into what is seen and what is
predicted; the Gaussian there is one of ln(1 + x)."""


def page(cells: Cells) -> str:
    """The whole page."""
    rows = []
    for name, models in MODELS.items():
        if name in SPOILT:
            continue
        for model in models:
            found = _cells(cells, name, model)
            if found:
                rows.append([name, model, *(_figure(found, key) for key in KEYS)])
    parts = [HEAD, table(("set", "model", *KEYS.values()), rows), _sets(cells), _outliers(cells)]
    about = "\n".join(f"- `{name}`: {_about(name)}" for name in MODELS if _any(cells, name))
    return "\n\n".join([part for part in parts if part] + [about, f"{machine()}."]) + "\n"


KEYS = {
    "log_score": "log score",
    "rmse": "RMSE",
    "aupr": "AUPR",
    "brier": "Brier",
    "brier_base": "Brier of the base rate",
    "seconds": "seconds",
}


def _cells(cells: Cells, name: str, model: str) -> list[dict[str, Any]]:
    return [cell for key, cell in cells.items() if key.startswith(f"{name}|{model}|")]


def _any(cells: Cells, name: str) -> bool:
    return any(key.startswith(f"{name}|") for key in cells)


def _figure(found: list[dict[str, Any]], key: str) -> str:
    values = [cell[key] for cell in found if key in cell]
    if not values:
        return ""
    return f"{np.mean(values):.0f}" if key == "seconds" else f"{np.mean(values):.4f}"


def _about(name: str) -> str:
    texts = {
        "movielens-100k": "stars from 1 to 5, the publisher's first fold",
        "bookcrossing": "ratings from 1 to 10",
        "thumbs": "MovieLens 100K, whether a rating has four stars or more",
        "fdataset": "which drug treats which disease, with graphs of both",
        "dti_enzyme": "which drug binds which enzyme, with graphs of both",
        "foursquare": "visits of the 400 most active users to the 400 most visited places",
        "sc_mixology": "UMI counts of 909 cells and every 20th of 3,000 genes",
        "hangzhou": "people who enter 80 stations in ten minutes, 40 % held out",
        "planted": "a planted matrix of rank 5, half of it seen, noise of 0.3",
        "stars": "MovieLens 100K as numbers",
    }
    assert set(texts) == set(CASES)
    return texts[name]


def _sets(cells: Cells) -> str:
    rows = []
    for name in ("movielens-100k", "bookcrossing"):
        for model in MODELS[name]:
            for cell in _cells(cells, name, model)[:1]:
                levels = dict(sorted(cell["held"].items(), key=lambda item: float(item[0])))
                text = ", ".join(f"{level}: {100 * share:.0f}" for level, share in levels.items())
                rows.append([name, model, text])
    if not rows:
        return ""
    head = (
        "## What sets of 90 % hold\n\nPer cent of the left-out values of each level that "
        "`predict_set` holds; of the Gaussian, its intervals."
    )
    return f"{head}\n\n{table(('set', 'model', 'level: per cent held'), rows)}"


def _outliers(cells: Cells) -> str:
    rows = []
    for kind, name in ((kind, name) for kind in SPOILT for name in ("gaussian", "student")):
        pair = [_cells(cells, kind, f"{name}, {part}") for part in ("clean", "outliers")]
        if all(pair):
            clean, dirty = (float(np.mean([cell["rmse"] for cell in part])) for part in pair)
            loss = f"{100 * (dirty / clean - 1):.1f} %"
            rows.append([kind, name, f"{clean:.4f}", f"{dirty:.4f}", loss])
    if not rows:
        return ""
    head = (
        "## A tenth of the entries replaced by gross outliers\n\nFive to fifteen deviations off, "
        "either way; what is predicted is clean."
    )
    columns = ("set", "likelihood", "RMSE, clean", "RMSE, with outliers", "loss")
    return f"{head}\n\n{table(columns, rows)}"
