"""The command `bmcg update`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


@app.command()
def update(
    model: o.Model,
    more: Annotated[
        Path,
        typer.Argument(
            metavar="MORE",
            help="Table of new entries (.csv, .tsv or .parquet), or - for standard input; an "
            "entry given again replaces the old one.",
            show_default=False,
        ),
    ],
    data: Annotated[
        Path,
        typer.Option(
            help="The table that the model was fitted on; a model file keeps no values.",
            show_default=False,
        ),
    ],
    output: o.ModelOutput,
    row_edges: o.EdgesOption = None,
    col_edges: o.EdgesOption = None,
    row_features: o.FeaturesOption = None,
    col_features: o.FeaturesOption = None,
    row: o.KnownRow = None,
    col: o.KnownCol = None,
    value: o.Value = None,
    wide: o.Wide = False,
    duplicates: o.DuplicatesOption = o.Duplicates.error,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Go on learning from where a fit stands, with more entries.

    New rows and columns are added, with their links and features where the model has such. The
    rank may fall but not rise, and graphs and features keep the weights they have; when the data
    has grown by half, fit again.

    **Examples**

    `bmcg update model.safetensors more.csv --data ratings.csv --value rating -o newer.safetensors`

    `bmcg update model.safetensors more.csv --data ratings.csv --value rating
    --col-features new-items.csv -o newer.safetensors`
    """
    from .reading import DataForm
    from .tables import Dialect
    from .update_work import BesideFiles, update_model

    dialect = Dialect(format.value, delimiter)
    data_form, more_form = (
        DataForm(path, row, col, value, wide, duplicates.value, dialect) for path in (data, more)
    )
    beside = BesideFiles((row_edges, col_edges), (row_features, col_features))
    update_model(model, data_form, more_form, beside, output, force)
