"""Filling files: read, fit, write, say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray

from ..estimators import BMCG
from ..estimators.scaling import Scale
from ..imputing.annotated import AnnDataSource
from ..imputing.columnar import ParquetSource
from ..imputing.denoising import are_counts, denoise
from ..imputing.linkage import Copied
from ..imputing.matrix import Filled, learn, predicted
from ..imputing.numerals import Numerals
from ..imputing.plink import PlinkSource
from ..imputing.series import Blend
from ..imputing.sources import Source
from ..imputing.tables import Layout, TextSource
from ..imputing.vcf import VcfSource
from ..observations.labels import Labels
from ..observations.outliers import far_out
from .compiling import announced_compilation
from .impute_check import Alike, Files, Reading, check
from .impute_genotypes import fill_calls
from .impute_graphs import find_graphs
from .impute_plot import draw, plotted_columns
from .impute_series import column_of_times, fill_with_times, is_series
from .names import as_whole_numbers
from .outcome import STANDARD, UserError, done, end_if_interrupted, say, spoken_warnings, wrote
from .tables import write_table

# Most components of a table; what genotypes may use follows from their number and the memory.
RANK = 100


def impute(
    files: Files,
    reading: Reading,
    alike: Alike,
    scale: Scale,
    level: float,
    parameters: dict[str, Any],
) -> None:
    """Fill a file."""
    kind = check(files, reading, alike, level)
    if kind in ("vcf", "bed") and scale is True:
        raise UserError("--scale yes: genotypes are in one unit; leave it out")
    scale = _scale_of(kind, reading, scale, parameters)
    source = _open(kind, files, reading, alike)
    name = column_of_times(source, files, reading, alike)
    if name is not None:
        reading = replace(reading, time=name)
        source = _open(kind, files, reading, alike)
        say(f"column {name!r} holds times: rows close in time are alike; --row {name!r} names rows")
    graphs = find_graphs(kind, source, files, reading, alike)
    if files.plot is not None:
        plotted_columns(source, reading)  # a name that is not there is said before the work
    for note in source.notes:
        say(note)
    if source.standardize is not None and scale == "auto":
        scale = source.standardize
    if parameters["rank"] is None and not isinstance(source, VcfSource | PlinkSource):
        parameters = {**parameters, "rank": RANK}
    parameters = {**parameters, "checkpoint": files.checkpoint, "resume": files.resume}
    model: BMCG | Copied | Blend | None
    with spoken_warnings(), announced_compilation(parameters["verbose"]):
        if reading.denoise:
            assert isinstance(source, AnnDataSource)
            model = _denoise(source, graphs, files, scale, parameters)
        else:
            model = _fill(source, graphs, files, reading, alike, scale, level, parameters)
    if isinstance(model, Blend):
        model = model.models[-1] if model.models else None
    _finish(None if isinstance(model, Copied) else model, files)


def _scale_of(kind: str, reading: Reading, scale: Scale, parameters: dict[str, Any]) -> Scale:
    """The scale that goes with options for tables alone, which other files refuse."""
    for option, name in (("--local", "local"), ("--keep-range", "value_range")):
        if name in parameters and (kind in ("vcf", "bed") or reading.denoise):
            raise UserError(f"{option} is for tables whose gaps are filled; leave it out")
    if "value_range" not in parameters:
        return scale
    if scale is True:
        raise UserError("--keep-range: one range for all columns, which --scale yes would take")
    return False


def _fill(
    source: Source,
    graphs: list[Any],
    files: Files,
    reading: Reading,
    alike: Alike,
    scale: Scale,
    level: float,
    parameters: dict[str, Any],
) -> BMCG | Copied | Blend | None:
    """Fill the missing values and write all files; the model, None where none was needed."""
    filled: Filled
    model: BMCG | Copied | Blend | None
    if isinstance(source, VcfSource | PlinkSource):
        filled, model = fill_calls(source, graphs, files, reading, alike, parameters)
    else:
        filled, model = _entries(source, graphs, files, reading, scale, parameters)
    source.write(files.output, filled)
    if not files.to_pipe:
        wrote(files.output)
    if files.std is not None:
        source.write_std(files.std, filled)
        wrote(files.std)
    if files.bands is not None:
        write_table(_bands(source, filled, level), files.bands, reading.dialect)
    if files.plot is not None:
        draw(source, filled, level, files, reading)
    if files.model is not None and isinstance(model, BMCG):
        model.save(files.model)
        wrote(files.model)
    found = "nothing is missing"
    if model is not None:
        found = _rank(model) if isinstance(model, BMCG) else str(model)
    if model is None and np.isnan(source.values).any():
        found = "what is missing cannot be filled"
    where = STANDARD if files.to_pipe else files.output
    done(where, f"{len(filled)} of {source.values.size} values filled, {found}")
    return model


def _entries(
    source: Source,
    graphs: list[Any],
    files: Files,
    reading: Reading,
    scale: Scale,
    parameters: dict[str, Any],
) -> tuple[Filled, BMCG | Blend | None]:
    """The missing values, and the model; no model where nothing asks for one."""
    values, missing = source.values, np.isnan(source.values)
    i, j = np.nonzero(missing)
    if len(i) == 0 and files.model is None:
        return Filled(values.shape, i, j, np.empty(0), np.empty(0)), None
    if missing.all():
        raise UserError(f"{files.table}: every value is missing, nothing can be learned")
    _say_empty(source, missing, graphs)
    if isinstance(source, (TextSource, ParquetSource)) and not reading.fit_outliers:
        values = _without_outliers(source)
    if is_series(files, reading, parameters):
        found = fill_with_times(source, values, graphs[1], reading, scale, parameters)
        if found is not None:
            return found
    labels = _labels(source, files.model is not None)
    model = learn(values, *graphs, scale=scale, labels=labels, **parameters)
    return predicted(model, i, j), model


def _denoise(
    source: AnnDataSource,
    graphs: list[Any],
    files: Files,
    scale: Scale,
    parameters: dict[str, Any],
) -> BMCG:
    """Replace every value and write the file."""
    counts = are_counts(source.values)
    if counts and scale != "auto":
        raise UserError("--scale: counts are scaled by the noise of counting; leave it out")
    denoised, model = denoise(source.values, *graphs, scale=scale, **parameters)
    source.write_denoised(files.output, denoised)
    wrote(files.output)
    unit = ", as log(1 + counts of a row of median size)" if counts else ""
    typer.echo(
        f"{files.output}: {denoised.size} values denoised in layer {source.key!r}{unit}, "
        f"{_rank(model)}"
    )
    return model


def _finish(model: BMCG | None, files: Files) -> None:
    """What a fit that did not converge leaves to say."""
    kept = files.checkpoint is not None and files.checkpoint.exists()
    if kept and model is not None and model.converged_:
        assert files.checkpoint is not None
        files.checkpoint.unlink()
        return
    advice = "to go on, give the same command with --resume --force" if kept else ""
    end_if_interrupted(model, advice=advice and f"; {advice}")
    if kept:
        say(f"{advice}, and a larger --max-sweeps")


def _open(kind: str, files: Files, reading: Reading, alike: Alike) -> Source:
    if kind == "vcf":
        return VcfSource.open(files.table, reading.unsupported)
    if kind == "bed":
        return PlinkSource.open(files.table)
    if kind == "h5ad":
        return _open_anndata(files, reading)
    layout = Layout(
        label=reading.row if reading.time is None else reading.time,
        skip=(*reading.skip, *([reading.row] if reading.time and reading.row else [])),
        keep_empty=files.col_graph is not None or alike.col_chain,
        floats=reading.floats,
    )
    numerals = Numerals(reading.marks, reading.decimal or ".")
    source = (
        ParquetSource.open(files.table, layout, numerals)
        if kind == ".parquet"
        else TextSource.open(files.table, reading.dialect.of(kind), layout, numerals)
    )
    for mark in reading.marks:
        if mark not in numerals.used:
            say(f"--missing {mark}: no cell holds it")
    return source


def _open_anndata(files: Files, reading: Reading) -> AnnDataSource:
    missing: Any = "zero" if reading.zeros_missing else "nan"
    key = reading.layer_out or "bmcg"
    source = AnnDataSource.open(files.table, reading.layer, missing, key)
    zeros = float(np.mean(source.values == 0))
    if zeros and not reading.denoise and not np.isnan(source.values).any():
        raise UserError(
            f"{files.table}: no value is missing, but {zeros:.0%} are zero: pass --zeros-missing "
            "if a zero was not measured, or --denoise to replace every value"
        )
    return source


def _say_empty(source: Source, missing: NDArray[np.bool_], graphs: list[Any]) -> None:
    """Say which rows and columns have nothing but what the model makes up."""
    sides = ((1, source.row_names, "row"), (0, source.col_names, "column"))
    for (axis, names, word), graph in zip(sides, graphs, strict=True):
        empty = np.flatnonzero(missing.all(axis=axis))
        if len(empty) == 0:
            continue
        shown = [str(i if names is None else names[i]) for i in empty[:5]]
        more = ", ..." if len(empty) > len(shown) else ""
        how = f"from what any {word} is like" if graph is None else "from their neighbours"
        plural = "s hold" if len(empty) > 1 else " holds"
        say(
            f"{len(empty)} {word}{plural} no value ({', '.join(shown)}{more}) and "
            f"{'are' if len(empty) > 1 else 'is'} filled {how} alone"
        )


def _without_outliers(source: TextSource | ParquetSource) -> NDArray[np.float64]:
    """The values to learn from; those that are hardly readings are named and left out."""
    far = far_out(source.values)
    rows, cols = np.nonzero(far)
    names = source.col_names
    assert names is not None
    for i, j in zip(rows[:5].tolist(), cols[:5].tolist(), strict=True):
        say(
            f"warning: {source.place(i)}, column {names[j]!r} holds {source.values[i, j]:g}, a "
            "hundred times further out than all the rest: nothing is learned from it, and it "
            f"stays as it is; if it marks a missing value, pass --missing {source.values[i, j]:g}"
            ", if it is right, --outliers fit"
        )
    if len(rows) > 5:
        say(f"warning: {len(rows) - 5} more values are as far out, and left out likewise")
    return np.where(far, np.nan, source.values)


def _rank(model: BMCG) -> str:
    """The rank, and whether more components were not allowed."""
    capped = model.rank_ >= model.rank < min(model.shape_)
    return f"rank {model.rank_}" + (
        " (the most allowed; a larger --rank may fill better)" if capped else ""
    )


def _labels(source: Source, saved: bool) -> tuple[Labels | None, Labels | None]:
    """Names for a model to know its rows and columns by, where they are distinct."""
    found: list[Labels | None] = []
    for names, side in ((source.row_names, "row"), (source.col_names, "column")):
        try:
            found.append(None if names is None else Labels(as_whole_numbers(names), side))
        except ValueError as error:
            found.append(None)
            if saved:
                say(f"--save-model: {error}: the model knows its {side}s by position")
    return found[0], found[1]


def _bands(source: Source, filled: Filled, level: float) -> pa.Table:
    low, high = filled.interval(level)
    rows = filled.rows if source.row_names is None else source.row_names[filled.rows]
    cols = filled.cols if source.col_names is None else source.col_names[filled.cols]
    # Six digits are more than a reading has, and can be read.
    figures = (
        [float(f"{figure:.6g}") for figure in part] for part in (filled.mean, filled.std, low, high)
    )
    columns = [rows.tolist(), cols.tolist(), *figures]
    return pa.table(columns, names=["row", "column", "mean", "std", "low", "high"])
