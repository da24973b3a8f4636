"""Fitting files: read, check every name, fit, save."""

from __future__ import annotations

from dataclasses import dataclass, replace
from glob import glob
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from ..graphs import chain_graph, time_graph
from ..observations import Observations
from ..observations.labels import Labels
from .compiling import announced_compilation
from .exposure import read_exposure
from .features import PATTERN, feature_file, read_features
from .graphs import AUTO, GraphFile, read_graph
from .many import one_of_many, read_share
from .names import extended
from .outcome import (
    UserError,
    check_inputs,
    check_output,
    done,
    end_if_interrupted,
    say,
    spoken_warnings,
    wrote,
)
from .reading import DataForm, grown, read_observations
from .times import parse_times


@dataclass(frozen=True)
class SideFiles:
    """What was given for one side.

    Attributes
    ----------
    side : {"row", "col"}
    graph : Path or None
        `AUTO`, or a file.
    chain : bool
    features : Path or None
        `PATTERN`, or a file.
    exposure : Path or None
    """

    side: str
    graph: Path | None = None
    chain: bool = False
    features: Path | None = None
    exposure: Path | None = None

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files among them."""
        return (
            None if self.graph == AUTO else self.graph,
            feature_file(self.features),
            self.exposure,
        )


@dataclass(frozen=True)
class Sides:
    """Both sides, the column of times, and what to do with unknown nodes."""

    row: SideFiles = SideFiles("row")
    col: SideFiles = SideFiles("col")
    time: str | None = None
    time_format: str | None = None
    unknown: str = "error"

    def with_pattern(self) -> Sides:
        """The pattern as features of both sides."""
        for given in (self.row, self.col):
            if given.features is not None:
                raise UserError(f"--pattern and --{given.side}-features: give one of them")
        row, col = (replace(given, features=PATTERN) for given in (self.row, self.col))
        return replace(self, row=row, col=col)


def fit(
    form: DataForm, sides: Sides, parameters: dict[str, Any], output: Path, force: bool
) -> None:
    """Fit BMCG on files and save the model; of several processes, the first one saves it."""
    with one_of_many() as group:
        _fit(form, sides, parameters, output, force, group)


def _fit(
    form: DataForm,
    sides: Sides,
    parameters: dict[str, Any],
    output: Path,
    force: bool,
    group: Any,
) -> None:
    inputs = (*form.paths, *sides.row.files, *sides.col.files)
    check_inputs(*inputs)
    check_output(output, force, inputs)
    checkpoint = parameters["checkpoint"]
    _check_checkpoint(checkpoint, parameters["resume"], output)
    form, timed = _time_side(form, sides)
    observations, graphs, features = read_all(form, sides, timed, group)
    exposures = {
        f"{side.side}_exposure": read_exposure(side.exposure, side.side, labels, form.dialect)
        for side, labels in zip(
            (sides.row, sides.col), (observations.row_labels, observations.col_labels), strict=True
        )
    }
    model = BMCG(**parameters)
    with spoken_warnings(), announced_compilation(parameters["verbose"]):
        model.fit(observations, *graphs, *features, **exposures)
    if group is not None and not group.is_first:
        return
    for argument, note in model.joined_.items():
        say(f"{argument.replace('_', ' ')}: {note}")
    model.save(output)
    wrote(output)
    size = model.noise_std_
    noise = f"{model.likelihood_}, " if np.isnan(size) else f"noise {size:.4g}, "
    done(
        output,
        f"rank {model.rank_}, {noise}{model.n_sweeps_} sweeps, {model.stop_reason_}",
    )
    kept = checkpoint is not None and checkpoint.exists()
    if kept and model.converged_:
        checkpoint.unlink()
    advice = "to go on, give the same command with --resume --force" if kept else ""
    end_if_interrupted(model, advice=advice and f"; {advice}")
    if kept and not model.converged_:
        say(f"{advice}, and a larger --max-sweeps")


def expanded(given: list[Path]) -> tuple[Path, ...]:
    """The files that were named, patterns spelled out in the order of their names."""
    found: list[Path] = []
    for path in given:
        if path.exists() or not any(mark in str(path) for mark in "*?["):
            found.append(path)
            continue
        matches = sorted(glob(str(path)))
        if not matches:
            raise UserError(f"no file matches {path}")
        found += [Path(name) for name in matches]
    twice = next((path for path in found if found.count(path) > 1), None)
    if twice is not None:
        raise UserError(f"{twice} is given twice")
    return tuple(found)


def one_range(given: tuple[float, float] | None, observed: bool) -> Any:
    """The range of values as the estimator takes it."""
    if given is not None and observed:
        raise UserError("--value-range and --keep-range: give one of them")
    if given is None and not observed:
        return "auto"
    return "observed" if observed else given


def read_all(
    form: DataForm, sides: Sides, timed: str | None, group: Any = None
) -> tuple[Observations, list[Any], list[Any]]:
    """Observations, graphs and features of both sides; every file is read once.

    Of several processes each reads its share of the observations, and all of the rest.
    """
    found = read_observations(form) if group is None else read_share(form, group)
    labels = [found.row_labels, found.col_labels]
    given = (sides.row, sides.col)
    files = [
        read_graph(side.graph, f"--{side.side}-graph", known, form.dialect)
        for side, known in zip(given, labels, strict=True)
    ]
    tables = [
        read_features(side.files[1], f"--{side.side}-features", known, form.dialect)
        for side, known in zip(given, labels, strict=True)
    ]
    if sides.unknown == "add":
        pairs = zip(files, tables, labels, strict=True)
        found = grown(found, *(_with_nodes(*pair) for pair in pairs))
    graphs, features = [], []
    for axis, (side, file, table) in enumerate(zip(given, files, tables, strict=True)):
        known = found.row_labels if axis == 0 else found.col_labels
        moments = sides if timed == side.side else None
        graphs.append(
            _graphs(side, file, known, found.shape[axis], sides.unknown == "ignore", moments)
        )
        features.append("pattern" if side.features == PATTERN else table)
    return found, graphs, features


def _graphs(
    side: SideFiles,
    file: GraphFile | None,
    labels: Labels | None,
    n: int,
    ignore: bool,
    moments: Sides | None,
) -> Any:
    """All graphs of a side as `BMCG.fit` takes them: none, one, several by name, or "auto"."""
    named: dict[str, Any] = {}
    if file is not None:
        named["graph"] = file.adjacency(labels, n, ignore)
    if side.chain:
        named["chain"] = chain_graph(_in_order(labels, n, side.side))
    if moments is not None:
        assert labels is not None
        column = moments.time or ""
        named["time"] = time_graph(parse_times(labels.values, column, moments.time_format))
    if side.graph == AUTO:
        if named:
            raise UserError(f"--{side.side}-graph auto builds its own graphs: give no others")
        return "auto"
    return next(iter(named.values())) if len(named) == 1 else named or None


def _in_order(labels: Labels | None, n: int, side: str) -> int:
    """How many nodes follow each other; refused where their order is that of the alphabet."""
    sorted_text = labels is not None and labels.name is not None and labels.values.dtype == object
    if sorted_text and labels is not None and labels.values.tolist() == sorted(labels.values):
        raise UserError(
            f"--{side}-chain: labels such as {labels.values[0]!r} have no order but that of the "
            "alphabet; give an edge list, --time, or a --wide table in order"
        )
    return n


def _time_side(form: DataForm, sides: Sides) -> tuple[DataForm, str | None]:
    """Which side holds times, and the form with its column named."""
    if sides.time is None:
        if sides.time_format is not None:
            raise UserError("--time-format needs --time NAME, the column with the times")
        return form, None
    if form.wide:
        if form.row not in (None, sides.time):
            raise UserError(
                f"--time {sides.time} and --row {form.row}: the rows of a wide table have one "
                "column of labels, give one of them"
            )
        return replace(form, row=sides.time), "row"
    for side in ("row", "col"):
        if getattr(form, side) == sides.time:
            return form, side
    raise UserError(
        f"--time {sides.time}: times are the labels of rows or of columns; name the column by "
        "--row or --col too"
    )


def _with_nodes(file: GraphFile | None, table: Any, labels: Labels | None) -> Labels | None:
    """Labels of the data together with those that a graph or a table of features adds."""
    new: list[NDArray[Any]] = [] if file is None or file.matrix is not None else [*file.ends]
    if isinstance(table, tuple):
        new.append(np.asarray(table[0].column(table[1]).to_pylist(), dtype=object))
    if not new:
        return labels
    if labels is None:
        raise UserError("--unknown-nodes add needs labels on that side of the data")
    for names in new:
        labels = extended(labels, names)
    return labels


def _check_checkpoint(path: Path | None, resume: bool, output: Path) -> None:
    """Raise where the options for a checkpoint make no sense together."""
    if path is None:
        if resume:
            raise UserError("--resume needs the file to go on from: pass --checkpoint FILE")
        return
    if path.resolve() == output.resolve():
        raise UserError(f"--checkpoint {path} is the output: choose another name")
    if path.exists() and not resume:
        raise UserError(f"{path} exists already; pass --resume to go on from it, or remove it")
