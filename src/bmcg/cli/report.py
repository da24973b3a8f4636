"""The command `bmcg report`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


@app.command()
def report(
    model: o.Model,
    output: o.Output,
    test: Annotated[
        Path | None,
        typer.Option(
            help="Table of entries the model was not fitted on (.csv, .tsv or .parquet, or - for "
            "standard input): how well and how sure it is, measured. Entries it was fitted on "
            "are left out and named.",
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
    row: o.KnownRow = None,
    col: o.KnownCol = None,
    value: o.Value = None,
    wide: o.Wide = False,
    duplicates: o.DuplicatesOption = o.Duplicates.error,
    unknown: o.UnknownOption = o.Unknown.error,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Write one page about a model: numbers, warnings, pictures, settings.

    The page is a single file without scripts, and needs the extra `plot`.

    **Examples**

    `bmcg report model.safetensors -o report.html`

    `bmcg report model.safetensors --test held-out.csv --value rating -o report.html`

    `bmcg report model.safetensors --test held-out.csv --wide --unknown skip -o report.html`
    """
    from .reading import DataForm
    from .report_work import report_model
    from .tables import Dialect

    dialect = Dialect(format.value, delimiter)
    test_form, data_form = (
        None if path is None else DataForm(path, row, col, value, wide, duplicates.value, dialect)
        for path in (test, data)
    )
    report_model(model, test_form, data_form, unknown.value, output, force)
