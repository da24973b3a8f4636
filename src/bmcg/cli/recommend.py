"""The command `bmcg recommend`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .app import Force, Model, app


class ScoreOption(StrEnum):
    """What recommendations are ranked by; the values are those of `BMCG.recommend`."""

    by_mean = "mean"
    by_lower = "lower"
    by_ucb = "ucb"


@app.command()
def recommend(
    model: Model,
    row: Annotated[
        list[str] | None,
        typer.Option(help="Label of a row (repeatable).", show_default=False),
    ] = None,
    n: Annotated[int, typer.Option("-n", min=1, help="Most columns for each row.")] = 10,
    all_rows: Annotated[bool, typer.Option("--all", help="Recommend for every row.")] = False,
    score: Annotated[
        ScoreOption,
        typer.Option(
            help="Rank by the mean, by what is surely good (mean - width * std) or by what may "
            "be good (mean + width * std)."
        ),
    ] = ScoreOption.by_mean,
    width: Annotated[float, typer.Option(min=0.0, help="Standard deviations to count.")] = 1.0,
    include_observed: Annotated[
        bool, typer.Option("--include-observed", help="Also what the model was fitted on.")
    ] = False,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Table to write (.csv, .tsv or .parquet); by default lines are printed.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Say which columns a model predicts to be best for some rows.

    Entries that the model was fitted on are left out. `std` is the standard deviation of the
    prediction itself, without the noise of a rating.

    **Examples**

    `bmcg recommend model.safetensors --row 42 -n 10`

    `bmcg recommend model.safetensors --all -n 5 --score lower -o top5.parquet`
    """
    from .recommend_work import recommend_rows

    recommend_rows(
        model,
        None if all_rows else row,
        output,
        {"n": n, "score": score.value, "width": width, "exclude_observed": not include_observed},
        force,
    )
