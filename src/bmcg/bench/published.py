"""Figures others printed, read from the file beside this module."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any


@dataclass(frozen=True)
class Reference:
    """A method outside the paper.

    Attributes
    ----------
    method, source : str
    values : dict
        Figures by column.
    """

    method: str
    source: str
    values: dict[str, float]


def published(bench: str, method: str, column: str | None) -> float | None:
    """The paper's figure, or None where it has none.

    Parameters
    ----------
    bench : str
    method : str
        As the paper names it.
    column : str or None
    """
    table = _content().get(bench)
    if table is None or column not in table["columns"] or method not in table:
        return None
    return float(table[method][table["columns"].index(column)])


def references(bench: str) -> tuple[Reference, ...]:
    """Methods outside the paper with figures for a bench."""
    return tuple(
        Reference(
            entry["method"],
            entry["source"],
            {key: value for key, value in entry.items() if key not in ("method", "source")},
        )
        for entry in _content().get("outside", {}).get(bench, [])
    )


@cache
def _content() -> dict[str, Any]:
    return tomllib.loads(files(__package__).joinpath("published.toml").read_text("utf-8"))
