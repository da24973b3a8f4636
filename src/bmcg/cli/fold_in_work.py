"""Newcomers from a table, placed in a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..serving import ServingModel
from .graphs import read_links
from .names import like_known
from .outcome import UserError, check_inputs, check_output, done, say, spoken_warnings, wrote
from .predict_work import load, write_whole
from .reading import DataForm, read_observations, typed_like
from .tables import Dialect, check_table_output


@dataclass(frozen=True)
class Made:
    """What to write: a model of the newcomers, a table of their entries, or both."""

    model: Path | None
    matrix: Path | None
    memory_limit: float
    force: bool


def fold_in_table(
    path: Path, form: DataForm | None, edges: Path | None, side: str, made: Made, dialect: Dialect
) -> None:
    """Place the newcomers of a table and write what was asked for."""
    inputs = (path, None if form is None else form.path, edges)
    check_inputs(*inputs[1:])
    if made.model is None and made.matrix is None:
        raise UserError("pass -o FILE for a model of the newcomers, or --matrix FILE for a table")
    if form is None and edges is None:
        raise UserError("pass a table of the newcomers' entries, or of their edges")
    if made.model is not None:
        check_output(made.model, made.force, inputs)
    if made.matrix is not None:
        check_table_output(made.matrix, made.force, inputs, dialect)
    model = load(path)
    if not isinstance(model, ServingModel):
        raise UserError(f"{path} holds a model of {type(model).__name__}, which has no fold-in")
    entries = None if form is None else _entries(model, form, side)
    links = None if edges is None else read_links(model, edges, side, dialect)
    option = {"row_edges": links} if side == "rows" else {"col_edges": links}
    with spoken_warnings():
        newcomers = model.fold_in(entries, side=side, **option)  # type: ignore[arg-type]
    n = newcomers.shape_[0 if side == "rows" else 1]
    if made.model is not None:
        newcomers.save(made.model)
        wrote(made.model)
        done(made.model, f"{n} new {'rows' if side == 'rows' else 'columns'}")
    if made.matrix is not None:
        write_whole(newcomers, made.matrix, made.memory_limit, dialect)


def _entries(model: ServingModel, form: DataForm, side: str) -> Any:
    """Their entries, with the labels of the other side as the model has them."""
    found = read_observations(form.named_by(model.row_labels_, model.col_labels_))
    own, known = (found.row_labels, model.row_labels_)
    if side == "cols":
        own, known = (found.col_labels, model.col_labels_)
    if own is not None and known is not None:
        there = (known.find(like_known(own.values, known)) >= 0).sum()
        if there:
            say(
                f"warning: {there} of {len(own)} labels were part of the fit; here they count as "
                "newcomers with these entries alone (`bmcg update` adds entries to known ones)"
            )
    return typed_like(found, model.row_labels_, model.col_labels_)
