"""The command `bmcg fold-in`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


class Side(StrEnum):
    """Which side newcomers join."""

    rows = "rows"
    cols = "cols"


@app.command("fold-in")
def fold_in(
    model: o.Model,
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DATA]",
            help="Table of the newcomers' entries (.csv, .tsv or .parquet), or - for standard "
            "input; not needed where edges or features say who they are.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Model of the newcomers to write, for predict, recommend and report.",
            show_default=False,
        ),
    ] = None,
    matrix: Annotated[
        Path | None,
        typer.Option(
            help="Table of all their entries, predicted (.csv, .tsv or .parquet), or - for "
            "standard output.",
            show_default=False,
        ),
    ] = None,
    side: Annotated[Side, typer.Option(help="Whether they are rows or columns.")] = Side.rows,
    row_edges: o.EdgesOption = None,
    col_edges: o.EdgesOption = None,
    row_features: o.FeaturesOption = None,
    col_features: o.FeaturesOption = None,
    row_exposure: o.ExposureOption = None,
    col_exposure: o.ExposureOption = None,
    row: o.KnownRow = None,
    col: o.KnownCol = None,
    value: o.Value = None,
    wide: o.Wide = False,
    duplicates: o.DuplicatesOption = o.Duplicates.error,
    memory_limit: Annotated[
        float, typer.Option(min=0.0, metavar="GIB", help="Refuse to form a larger matrix.")
    ] = 4.0,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Place rows (or columns) that were not part of the fit, without a new fit.

    What was learned stays as it is; the newcomers' factors follow from their entries, links and
    features.

    **Examples**

    `bmcg fold-in model.safetensors new-users.csv --value rating -o newcomers.safetensors`

    `bmcg fold-in model.safetensors new-users.csv --value rating --matrix - | head`

    `bmcg fold-in model.safetensors --row-edges friends-of-new.csv -o newcomers.safetensors`

    `bmcg fold-in model.safetensors --side cols --col-features new-items.csv
    -o newcomers.safetensors`
    """
    from .fold_in_work import Made, NewFiles, fold_in_table
    from .outcome import UserError
    from .reading import DataForm
    from .tables import Dialect

    dialect = Dialect(format.value, delimiter)
    form = None
    if data is not None:
        form = DataForm(data, row, col, value, wide, duplicates.value, dialect)
    given = {
        "row": (row_edges, row_features, row_exposure),
        "col": (col_edges, col_features, col_exposure),
    }
    edges, features, exposure = given.pop(side.value[:3])
    for other, files in given.items():
        for name, file in zip(("edges", "features", "exposure"), files, strict=True):
            if file is not None:
                raise UserError(
                    f"--{other}-{name} {file}: --side {side.value} takes --{side.value[:3]}-{name}"
                )
    made = Made(output, matrix, memory_limit, force)
    new = NewFiles(side.value, form, edges, features, exposure)
    fold_in_table(model, new, made, dialect)
