"""A wide table of ten thousand rows in a CSV file, a tenth of its cells empty."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .measuring import Case

SHAPE = (10_000, 100)


def prepare(folder: Path) -> None:
    """Write readings of low rank, with names of rows that are text."""
    m, n = SHAPE
    rng = np.random.default_rng(0)
    values = rng.standard_normal((m, 5)) @ rng.standard_normal((5, n))
    values += 0.1 * rng.standard_normal(SHAPE)
    lost = rng.random(SHAPE) < 0.1
    with open(folder / "wide.csv", "w") as file:
        print("name", *(f"c{j}" for j in range(n)), sep=",", file=file)
        for i in range(m):
            cells = ["" if lost[i, j] else f"{values[i, j]:.4f}" for j in range(n)]
            print(f"row {i}", *cells, sep=",", file=file)


def steps(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Read, fill and write as `bmcg impute` does."""
    from bmcg.imputing.matrix import fill
    from bmcg.imputing.tables import Layout, TextSource
    from bmcg.observations.outliers import far_out

    found: dict[str, Any] = {}

    def read() -> None:
        found["source"] = TextSource.open(folder / "wide.csv", ",", Layout(label="name"))

    def fit() -> None:
        values = found["source"].values
        found["filled"], _ = fill(values, scale=False, random_state=0, max_sweeps=500)

    yield "read the table", read
    yield "look for values far out", lambda: far_out(found["source"].values)
    yield "fit and predict the missing cells", fit
    yield "write the filled table", lambda: found["source"].write(folder / "o.csv", found["filled"])
    yield (
        "write the standard deviations",
        lambda: found["source"].write_std(folder / "s.csv", found["filled"]),
    )


CASE = Case(f"A wide table of {SHAPE[0]:,} × {SHAPE[1]}, CSV", prepare, steps)
