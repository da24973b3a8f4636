"""The command `bmcg evaluate`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


class SplitOption(StrEnum):
    """How entries are held out; the functions of `bmcg.evaluation`."""

    at_random = "random"
    of_rows = "rows"
    by_time = "time"
    folds = "folds"


@app.command()
def evaluate(
    data: o.Data,
    row: o.Row = None,
    col: o.Col = None,
    value: o.Value = None,
    wide: o.Wide = False,
    implicit: o.Implicit = False,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME[:SETTING=VALUE,...]",
            help="A method, BMCG or one it is compared with, with settings if any (repeatable); "
            "BMCG by default.",
            show_default=False,
        ),
    ] = None,
    split: Annotated[
        SplitOption,
        typer.Option(
            help="Hold out entries at random, some of each row, the latest, or each once in folds."
        ),
    ] = SplitOption.at_random,
    share: Annotated[
        float | None,
        typer.Option(
            help="Share that is held out: of all, of each row, or of the latest; 0.2 by default.",
            show_default=False,
        ),
    ] = None,
    leave: Annotated[
        int | None,
        typer.Option(
            min=1, help="Of each row, hold out this many instead of a share.", show_default=False
        ),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of --split folds.")] = 5,
    when: Annotated[
        str | None,
        typer.Option(help="Column with the time of each entry.", show_default=False),
    ] = None,
    at: Annotated[int, typer.Option(min=1, help="Length of the lists.")] = 10,
    relevant: Annotated[
        float | None,
        typer.Option(
            help="Held-out values that a list should hold start here; by default above the mean, "
            "or all where values are equal or --implicit.",
            show_default=False,
        ),
    ] = None,
    row_graph: o.GraphOption = None,
    col_graph: o.GraphOption = None,
    row_features: o.FeaturesOption = None,
    col_features: o.FeaturesOption = None,
    duplicates: o.DuplicatesOption = o.Duplicates.error,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Table to write besides (.csv, .tsv or .parquet): a figure a line.",
            show_default=False,
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(help="Picture to write besides (.png, .svg, .pdf).", show_default=False),
    ] = None,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Hold entries out, fit on the rest, and say how well values and lists are predicted.

    Values: root mean squared and mean absolute error, log score (higher is better), coverage of
    90 % intervals, calibration (the largest miss of any level). Lists: precision, recall, NDCG,
    mean average precision, hit rate, and the share of the catalogue that is shown.

    **Examples**

    `bmcg evaluate ratings.csv --row user --col item --value rating`

    `bmcg evaluate ratings.csv --row user --col item --value rating --split folds
    --model BMCG --model BMCG:posterior=row,rank=20 --model BPMF --picture methods.png`

    `bmcg evaluate clicks.csv --row user --col item --implicit --split rows --leave 1 --at 20`

    `bmcg evaluate ratings.csv --row user --col item --value rating --split time --when date`
    """
    from .evaluate_work import Holding, evaluate_table
    from .fit_work import SideFiles, Sides
    from .reading import DataForm
    from .tables import Dialect

    form = DataForm(
        data, row, col, value, wide, duplicates.value, Dialect(format.value, delimiter)
    ).counted(implicit)
    sides = Sides(
        row=SideFiles("row", row_graph, False, row_features),
        col=SideFiles("col", col_graph, False, col_features),
    )
    holding = Holding(split.value, share, leave, folds, when, seed)
    common = {"random_state": seed, "n_jobs": jobs, "implicit": implicit}
    judged = {"at": at, "relevant": relevant}
    evaluate_table(form, sides, holding, model or ["BMCG"], common, judged, output, picture, force)
