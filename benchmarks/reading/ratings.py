"""A million ratings in a CSV file, with names of users and items that are text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

from .measuring import Case

SHAPE, ENTRIES = (20_000, 5_000), 1_000_000
# Few enough that nobody waits for them; a fit that converges takes longer.
SWEEPS = 20


def prepare(folder: Path) -> None:
    """Write the ratings in no order."""
    rng = np.random.default_rng(0)
    at = rng.choice(SHAPE[0] * SHAPE[1], ENTRIES, replace=False)
    rows, cols = np.divmod(at, SHAPE[1])
    taste, style = (rng.standard_normal((n, 5)) for n in SHAPE)
    values = 3.5 + 0.5 * (taste[rows] * style[cols]).sum(1) + rng.standard_normal(ENTRIES)
    stars = np.clip(np.rint(2 * values) / 2, 0.5, 5)
    columns = {
        "user": np.char.add("user ", rows.astype(str)),
        "item": np.char.add("item-", cols.astype(str)),
        "rating": stars,
    }
    csv.write_csv(pa.table(columns), folder / "ratings.csv")


def steps(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Read as the command does, fit, save, load."""
    from bmcg import BMCG, load_model
    from bmcg.cli.reading import DataForm, read_observations

    found: dict[str, Any] = {}
    form = DataForm(folder / "ratings.csv", "user", "item", "rating")

    def read() -> None:
        found["entries"] = read_observations(form)

    def fit() -> None:
        found["model"] = BMCG(random_state=0, max_sweeps=SWEEPS).fit(found["entries"])

    yield "read the table", read
    yield f"fit, {SWEEPS} sweeps", fit

    def predict() -> None:
        model, entries = found["model"], found["entries"]
        rows = model.row_labels_.values[entries.row_indices]
        cols = model.col_labels_.values[entries.col_indices]
        model.predict(rows, cols, return_std=True)

    yield "predict as many entries by label", predict
    yield "save the model", lambda: found["model"].save(folder / "model.safetensors")
    yield "load the model", lambda: load_model(folder / "model.safetensors")


CASE = Case(f"{ENTRIES:,} ratings of {SHAPE[0]:,} × {SHAPE[1]:,}, CSV", prepare, steps)
