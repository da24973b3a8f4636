"""Models from a command line, held-out entries of a table, and what is made of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..base import MatrixCompleter
from ..baselines import METHODS
from ..evaluation import Split, evaluate, k_folds, leave_out, random_split, time_split
from ..observations import Observations
from .compiling import announced_compilation
from .fit_work import Sides, read_all
from .names import label_column
from .outcome import UserError, check_inputs, check_output, done, spoken_warnings, wrote
from .reading import DataForm, read_cells
from .tables import check_table_output, column_names, read_table, require_columns, write_table
from .times import parse_times

SHARE = 0.2
WORDS = {"true": True, "false": False, "none": None}
PICTURES = (".png", ".svg", ".pdf")


@dataclass(frozen=True)
class Holding:
    """What is held out.

    Attributes
    ----------
    kind : {"random", "rows", "time", "folds"}
    share : float or None
    leave : int or None
    folds : int
    when : str or None
        Column of the times.
    seed : int
    """

    kind: str
    share: float | None
    leave: int | None
    folds: int
    when: str | None
    seed: int

    def check(self, form: DataForm) -> None:
        """Raise where options do not go together."""
        if self.leave is not None and (self.kind != "rows" or self.share is not None):
            raise UserError("--leave goes with --split rows, in the place of --share")
        if self.share is not None and self.kind == "folds":
            raise UserError("--share does not go with --split folds: pass --folds K")
        if (self.when is not None) != (self.kind == "time"):
            raise UserError("--split time and --when NAME, the column of the times, go together")
        if self.when is not None and form.wide:
            raise UserError("--split time needs one entry a line, with its time: not --wide")

    def splits(self, observations: Observations, form: DataForm) -> list[Split]:
        """The splits of a table."""
        share = SHARE if self.share is None else self.share
        if self.kind == "folds":
            return k_folds(observations, self.folds, self.seed)
        if self.kind == "rows":
            return leave_out(observations, share if self.leave is None else self.leave, self.seed)
        if self.kind == "time":
            return time_split(observations, times_of(observations, form, str(self.when)), share)
        return random_split(observations, share, self.seed)


def times_of(observations: Observations, form: DataForm, when: str) -> NDArray[Any]:
    """Times of the entries in row order; of an entry given more than once, the last."""
    present = column_names(form.path, form.dialect)
    require_columns(form.path, present, {"--when": when})
    table = read_table(form.path, (when,), dialect=form.dialect)
    times = parse_times(label_column(table, when, form.path), when, option="--when")
    moments = times.astype("datetime64[us]").astype(np.int64) if times.dtype.kind == "M" else times
    cells, order = read_cells(form), np.argsort(moments, kind="stable")
    found = Observations.from_triples(
        cells.rows.codes[order],
        cells.cols.codes[order],
        moments[order].astype(np.float64),
        observations.shape,
        duplicates="last",
    )
    return found.values


def model_of(spec: str, common: dict[str, Any]) -> MatrixCompleter:
    """A method with its settings, from NAME:SETTING=VALUE,..."""
    name, _, rest = spec.partition(":")
    if name not in METHODS:
        raise UserError(f"--model {spec}: there is no {name!r}; choose of {', '.join(METHODS)}")
    kind = METHODS[name]
    known = kind().get_params()
    settings = {key: common[key] for key in ("random_state", "n_jobs") if key in known}
    if common["implicit"] and "missing" in known:
        settings["missing"] = "weak-zero"
    given: set[str] = set()
    for part in filter(None, rest.split(",")):
        setting, sign, value = part.partition("=")
        if setting not in known or not sign:
            raise UserError(
                f"--model {spec}: {part!r} is no SETTING=VALUE of {name}, whose settings are "
                f"{', '.join(known)}"
            )
        if setting in given:
            raise UserError(f"--model {spec}: {setting} is set twice")
        given.add(setting)
        settings[setting] = _value(value)
    return kind(**settings)


def _value(text: str) -> Any:
    if text.lower() in WORDS:
        return WORDS[text.lower()]
    try:
        return json.loads(text)
    except ValueError:
        return text


def evaluate_table(
    form: DataForm,
    sides: Sides,
    holding: Holding,
    specs: list[str],
    common: dict[str, Any],
    judged: dict[str, Any],
    output: Path | None,
    picture: Path | None,
    force: bool,
) -> None:
    """Evaluate models on a table, print the figures, and write them where asked."""
    inputs = (form.path, *sides.row.files, *sides.col.files)
    check_inputs(*inputs)
    holding.check(form)
    if len(set(specs)) < len(specs):
        raise UserError("--model: each may be given once")
    models = {spec: model_of(spec, common) for spec in specs}
    if output is not None:
        check_table_output(output, force, inputs, form.dialect)
    if picture is not None:
        check_output(picture, force, inputs)
        if picture.suffix.lower() not in PICTURES:
            raise UserError(f"--picture {picture}: use one of {', '.join(PICTURES)}")
    observations, graphs, features = read_all(form, sides, None)
    names = ("row_graph", "col_graph", "row_features", "col_features")
    known = dict(zip(names, (*graphs, *features), strict=True))
    with spoken_warnings(), announced_compilation(verbose=False):
        found = evaluate(models, holding.splits(observations, form), **judged, **known)
    typer.echo(found.to_markdown())
    if output is not None:
        write_table(found.to_frame("pyarrow"), output, form.dialect)
        done(output, f"{found.cells.size} figures")
    if picture is not None:
        found.plot(picture)
        wrote(picture)
        done(picture, "the same as a picture")
