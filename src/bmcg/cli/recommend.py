"""The command `bmcg recommend`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


class ScoreOption(StrEnum):
    """What recommendations are ranked by; the values are those of `BMCG.recommend`."""

    by_mean = "mean"
    by_lower = "lower"
    by_ucb = "ucb"


@app.command()
def recommend(
    model: o.Model,
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--for", "--row", metavar="LABEL", help="A row (repeatable).", show_default=False
        ),
    ] = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            help="Table of rows, labels in the column named as in the data or in the first one.",
            show_default=False,
        ),
    ] = None,
    all_rows: Annotated[bool, typer.Option("--all", help="Recommend for every row.")] = False,
    n: Annotated[int, typer.Option("-n", min=1, help="Most columns for each row.")] = 10,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="Table of the columns to choose from, labels likewise; all by default.",
            show_default=False,
        ),
    ] = None,
    exclude: Annotated[
        Path | None,
        typer.Option(
            help="Table of what to leave out: a row and a column a line, or columns alone, "
            "which are left out for all.",
            show_default=False,
        ),
    ] = None,
    score: Annotated[
        ScoreOption,
        typer.Option(
            help="Rank by the mean, by what is surely good (mean - width * std) or by what may "
            "be good (mean + width * std)."
        ),
    ] = ScoreOption.by_mean,
    width: Annotated[float, typer.Option(min=0.0, help="Standard deviations to count.")] = 1.0,
    popularity: Annotated[
        float,
        typer.Option(
            help="What the column with the most entries gains in score by that, others by the "
            "logarithm of their number; negative favours what few have."
        ),
    ] = 0.0,
    diversity: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="How much a place in a list goes to what is unlike the places before it.",
        ),
    ] = 0.0,
    include_observed: Annotated[
        bool, typer.Option("--include-observed", help="Also what the model was fitted on.")
    ] = False,
    unknown: Annotated[
        o.Unknown,
        typer.Option(
            help="Labels in the tables that the model does not know: refuse the table, or leave "
            "them out (skip)."
        ),
    ] = o.Unknown.error,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Table to write (.csv, .tsv or .parquet), or - for standard output; by default "
            "lines to read are printed.",
            show_default=False,
        ),
    ] = None,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Say which columns a model predicts to be best for some rows.

    Entries that the model was fitted on are left out. `std` is the standard deviation of the
    prediction itself, without the noise of a rating.

    **Examples**

    `bmcg recommend model.safetensors --for 42 -n 10`

    `bmcg recommend model.safetensors --all -n 5 --score lower -o top5.parquet`

    `bmcg recommend model.safetensors --rows users.csv --candidates in-stock.csv
    --exclude bought.csv -o lists.csv`
    """
    from .recommend_work import Lists, recommend_rows
    from .tables import Dialect

    lists = Lists(label, rows, all_rows, candidates, exclude, unknown.value)
    wanted = {
        "n": n,
        "score": score.value,
        "width": width,
        "exclude_observed": not include_observed,
        "popularity": popularity,
        "diversity": diversity,
    }
    recommend_rows(model, lists, output, wanted, Dialect(format.value, delimiter), force)


@app.command()
def similar(
    model: o.Model,
    label: Annotated[
        list[str] | None,
        typer.Option("--for", metavar="LABEL", help="A column (repeatable).", show_default=False),
    ] = None,
    cols: Annotated[
        Path | None,
        typer.Option(
            help="Table of columns, labels in the column named as in the data or in the first "
            "one; all by default, where there is an output.",
            show_default=False,
        ),
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Most columns for each.")] = 10,
    candidates: Annotated[
        Path | None,
        typer.Option(
            help="Table of the columns to choose from, labels likewise; all by default.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Table to write (.csv, .tsv or .parquet), or - for standard output; by default "
            "lines to read are printed.",
            show_default=False,
        ),
    ] = None,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Say which columns are alike in what a model has learned.

    The similarity of two columns is the correlation, over the rows, of what is predicted for them.

    **Examples**

    `bmcg similar model.safetensors --for i42 -n 5`

    `bmcg similar model.safetensors -o alike.csv`
    """
    from .similar_work import similar_columns
    from .tables import Dialect

    dialect = Dialect(format.value, delimiter)
    similar_columns(model, label, cols, candidates, n, output, dialect, force)
