"""The command `bmcg bench`: its options and help. The work is in `bmcg.bench`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .app import app
from .outcome import INTERRUPTED, UserError, say


class Bench(StrEnum):
    """Experiments of the paper, as `bmcg.bench` names them."""

    recommendation = "recommendation"
    genotype = "genotype"
    inpainting = "inpainting"
    synthetic = "synthetic"
    sensitivity = "sensitivity"
    cross_mask = "cross-mask"
    priors = "priors"
    all = "all"


@app.command()
def bench(
    name: Annotated[Bench, typer.Argument(metavar="NAME", help="Which experiment, or all.")],
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="Methods as the paper names them, separated by commas; all by default.",
            show_default=False,
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Seeds 0, 1, … of data and methods.")] = 3,
    out: Annotated[
        Path,
        typer.Option("-o", "--output", "--out", help="Folder for results, tables and figures."),
    ] = Path("results"),
    pictures: Annotated[
        Path | None,
        typer.Option(help="Folder for completed images; OUT/pictures by default."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Tiny sizes and generated stand-ins: minutes.")
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Cells measured at a time.")] = 1,
    cell_limit: Annotated[
        float, typer.Option(min=1.0, metavar="SECONDS", help="Stop a cell after this time.")
    ] = 1800.0,
    memory_limit: Annotated[
        float, typer.Option(min=0.5, metavar="GIB", help="Memory that a cell may take.")
    ] = 8.0,
    budget: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="MINUTES",
            help="Start no cell after this time; the table says which were left out.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Rerun an experiment of the paper: results as Parquet, tables, figures.

    Each finished cell is kept, so that the same command goes on after an interruption. Data are
    read from the folder that `BMCG_DATA` names, or fetched.

    **Examples**

    `bmcg bench genotype`

    `bmcg bench synthetic --methods BMCG,GRALS --seeds 10 --out results`

    `bmcg bench all --quick --out quick`
    """
    from ..bench import Limits, Request, run_bench

    request = Request(
        out=out,
        pictures=out / "pictures" if pictures is None else pictures,
        methods=tuple(n.strip() for given in methods or [] for n in given.split(",") if n.strip()),
        seeds=seeds,
        quick=quick,
        jobs=jobs,
        limits=Limits(cell_limit, memory_limit, None if budget is None else 60.0 * budget),
    )
    try:
        run_bench(name.value, request, typer.echo)
    except KeyboardInterrupt:
        say("interrupted: finished cells are kept, the same command goes on from there")
        raise typer.Exit(INTERRUPTED) from None
    except ModuleNotFoundError as error:
        raise UserError(f"{error}: pip install 'bmcg[plot,data]'") from None
