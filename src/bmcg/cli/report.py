"""The command `bmcg report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import Force, Model, Output, app


@app.command()
def report(
    model: Model,
    output: Output,
    test: Annotated[
        Path | None,
        typer.Option(
            help="Table of entries the model was not fitted on (.csv, .tsv or .parquet): how "
            "well and how sure it is, measured.",
            show_default=False,
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The table it was fitted on: fits it again without the graphs, to tell what "
            "they contributed.",
            show_default=False,
        ),
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(help="Column with the row labels; by default named as in the data."),
    ] = None,
    col: Annotated[
        str | None,
        typer.Option(help="Column with the column labels; by default named as in the data."),
    ] = None,
    value: Annotated[
        str | None, typer.Option(help="Column with the values.", show_default=False)
    ] = None,
    force: Force = False,
) -> None:
    """Write one page about a model: numbers, warnings, pictures, settings.

    The page is a single file without scripts, and needs the extra `plot`.

    **Examples**

    `bmcg report model.safetensors -o report.html`

    `bmcg report model.safetensors --test held-out.csv --value rating -o report.html`
    """
    from . import report_work

    report_work.report(model, output, report_work.Tables(test, data, row, col, value), force)
