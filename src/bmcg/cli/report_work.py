"""A report from files: the model, held-out entries, and the fit without graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np

from ..estimators import BMCG
from ..files.storage import write_atomically
from ..report import Entries, find, render
from ..serving.anyone import Anyone
from ..serving.growing import check_same
from .compiling import announced_compilation
from .outcome import UserError, check_inputs, check_output, done, say, spoken_warnings, wrote
from .predict_work import known_or, load
from .reading import DataForm, observations_like, read_cells


def report_model(
    path: Path,
    test: DataForm | None,
    data: DataForm | None,
    unknown: str,
    output: Path,
    force: bool,
) -> None:
    """Write the page about a model file."""
    forms = [form for form in (test, data) if form is not None]
    check_inputs(*(form.path for form in forms))
    check_output(output, force, (path, *(form.path for form in forms)))
    if any(form.value is None and not form.wide for form in forms):
        raise UserError("pass --value NAME, the column with the values")
    model: Any = load(path)
    if not isinstance(model, BMCG):
        raise UserError(f"{path} holds a model of {type(model).__name__}; a report needs BMCG")
    without: Any = None if data is None else _without_graphs(model, data)
    entries = None
    if test is not None:
        judge, entries = _entries(model, test, unknown)
        if isinstance(judge, Anyone):
            model, without = judge, None if without is None else Anyone(without)
    found = find(cast(BMCG, model), entries, without)
    for warning in found.warnings:
        say(f"warning: {warning}")
    text = render(cast(BMCG, model), found, title=path.stem)
    write_atomically(output, lambda name: Path(name).write_text(text, encoding="utf-8"))
    wrote(output)
    done(output, f"{len(text) / 2**20:.1f} MiB")


def _entries(model: BMCG, form: DataForm, unknown: str) -> tuple[Any, Entries]:
    """The entries of a table, and the model to ask about them."""
    labels = model.row_labels_, model.col_labels_
    cells = read_cells(form.named_by(*labels))
    if not len(cells.values) or not np.isfinite(cells.values).all():
        where = "every cell that is not empty" if form.wide else f"column {form.value!r}"
        raise UserError(f"{form.path}: {where} must hold a finite number, and there must be some")
    rows, cols = (names.like(known).values for names, known in zip(cells[:2], labels, strict=True))
    judge, kept = known_or(model, rows, cols, unknown, form.path)
    if not kept.any():
        raise UserError(f"{form.path}: the model knows none of its rows and columns")
    return judge, Entries(rows[kept], cols[kept], cells.values[kept])


def _without_graphs(model: BMCG, form: DataForm) -> BMCG:
    observations = observations_like(form, model.row_labels_, model.col_labels_, model.shape_)
    try:
        check_same(observations, model.seen_, model.fingerprint_)
    except ValueError:
        raise UserError(
            f"{form.path} has {len(observations)} entries, and they are not the "
            f"{len(model.seen_.indices)} that the model was fitted on: pass the same table"
        ) from None
    again = BMCG(**model.get_params())
    with spoken_warnings(), announced_compilation(verbose=False):
        again.fit(observations)
    if again.stop_reason_ == "interrupted":
        raise KeyboardInterrupt  # half a fit says nothing about the graphs
    return again
