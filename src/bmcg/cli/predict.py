"""The commands `bmcg predict` and `bmcg complete`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


@app.command()
def predict(
    model: o.Model,
    pairs: Annotated[
        Path,
        typer.Argument(
            metavar="PAIRS",
            help="Table with a row label and a column label a line, or - for standard input; "
            "other columns are kept.",
            show_default=False,
        ),
    ],
    output: o.TableOutput,
    std: Annotated[
        bool, typer.Option("--std", help="Add the standard deviation of a new observation.")
    ] = False,
    level: Annotated[
        float | None,
        typer.Option(
            "--level",
            "--interval",
            min=0.0,
            max=1.0,
            help="Add the bounds that hold a new observation with this probability.",
            show_default=False,
        ),
    ] = None,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba",
            help="Add the probability of each level, of models of zeros and ones or of ordered "
            "levels, as p_1, p_2 and so on.",
        ),
    ] = False,
    row: o.KnownRow = None,
    col: o.KnownCol = None,
    unknown: o.UnknownOption = o.Unknown.error,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Predict the entries that a table lists.

    The output is that table with a column `mean`, and where asked for `std`, `low` and `high`, and
    a probability of each level.

    **Examples**

    `bmcg predict model.safetensors pairs.csv -o predictions.csv`

    `bmcg predict model.safetensors pairs.csv --std --level 0.9 -o predictions.parquet`

    `bmcg predict stars.safetensors pairs.csv --proba -o probabilities.csv`

    `cut -d, -f1,2 new.csv | bmcg predict model.safetensors - --unknown prior -o - | sort`
    """
    import bmcg.cli.predict_work as work

    from .tables import Dialect

    work.predict(
        model,
        work.Pairs(pairs, row, col, unknown.value, Dialect(format.value, delimiter)),
        output,
        work.Spread(std, level, proba),
        force,
    )


@app.command()
def complete(
    model: o.Model,
    output: o.TableOutput,
    memory_limit: Annotated[
        float, typer.Option(min=0.0, metavar="GIB", help="Refuse to form a larger matrix.")
    ] = 4.0,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Write the whole matrix, every entry predicted.

    **Example**

    `bmcg complete model.safetensors -o matrix.csv`
    """
    import bmcg.cli.predict_work as work

    from .tables import Dialect

    work.complete(model, output, memory_limit, Dialect(format.value, delimiter), force)
