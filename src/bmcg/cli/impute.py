"""The command `bmcg impute`: its options and help. The work is in `impute_work`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .app import Force, GraphOption, Posterior, app


class UnsupportedCalls(StrEnum):
    """What to do with genotypes that the model has no place for."""

    error = "error"
    keep = "keep"


@app.command()
def impute(
    table: Annotated[
        Path,
        typer.Argument(
            metavar="TABLE",
            help="A wide table (.csv, .tsv, .parquet), genotypes (.vcf, .vcf.gz, .bcf, .bed "
            "with .bim and .fam) or AnnData (.h5ad).",
            show_default=False,
        ),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="File to write.", show_default=False)
    ],
    std: Annotated[
        Path | None,
        typer.Option(
            help="Table for the standard deviations of the filled cells.", show_default=False
        ),
    ] = None,
    bands: Annotated[
        Path | None,
        typer.Option(
            help="Table for every filled cell, one a line, with mean, std, low and high.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability that low and high enclose.")
    ] = 0.9,
    row: Annotated[
        str | None, typer.Option(help="Column that names the rows.", show_default=False)
    ] = None,
    time: Annotated[
        str | None,
        typer.Option(
            help="Column with the time of each row; rows close in time are alike.",
            show_default=False,
        ),
    ] = None,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            help="Column of numbers that is not part of the matrix (repeatable).",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="What else marks a missing cell, such as -999 (repeatable); empty cells, NA "
            "and NaN always do.",
            show_default=False,
        ),
    ] = None,
    row_graph: GraphOption = None,
    col_graph: GraphOption = None,
    row_chain: Annotated[
        bool, typer.Option("--row-chain", help="Rows that follow each other are alike.")
    ] = False,
    col_chain: Annotated[
        bool, typer.Option("--col-chain", help="Columns that follow each other are alike.")
    ] = False,
    ignore_unknown: Annotated[
        bool,
        typer.Option("--ignore-unknown", help="Leave out edges to nodes that the table lacks."),
    ] = False,
    standardize: Annotated[
        bool | None,
        typer.Option(
            "--standardize/--no-standardize",
            help="Bring columns to one scale for the fit; by default where they differ much.",
            show_default=False,
        ),
    ] = None,
    floats: Annotated[
        bool, typer.Option("--floats", help="Write decimals also in columns of whole numbers.")
    ] = False,
    unsupported: Annotated[
        UnsupportedCalls,
        typer.Option(
            help="VCF: sites with several alternative alleles and half-missing calls: refuse "
            "the file, or keep them as they are."
        ),
    ] = UnsupportedCalls.error,
    layer: Annotated[
        str | None, typer.Option(help="AnnData: layer to fill, X by default.", show_default=False)
    ] = None,
    zeros_missing: Annotated[
        bool, typer.Option("--zeros-missing", help="AnnData: every zero is a missing value.")
    ] = False,
    rank: Annotated[int, typer.Option(min=1, help="Most components.")] = 100,
    posterior: Annotated[
        Posterior, typer.Option(help="What the posterior keeps, as in `bmcg fit`.")
    ] = Posterior.auto,
    max_sweeps: Annotated[int, typer.Option(min=1, help="Most sweeps.")] = 500,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the start.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Threads; all cores by default.", show_default=False)
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every sweep, also when piped.")
    ] = False,
    force: Force = False,
) -> None:
    """Fill the missing values of a file; everything that was there stays as it is.

    **Examples**

    `bmcg impute survey.csv -o filled.csv --std std.csv`

    `bmcg impute sensors.csv --time hour --col-graph pipes.csv -o filled.csv --bands gaps.csv`

    `bmcg impute cohort.vcf.gz -o imputed.vcf.gz`
    """
    from . import impute_work as work

    files = work.Files(table, output, std, bands, row_graph, col_graph, force)
    reading = work.Reading(
        row=row,
        time=time,
        skip=tuple(skip or ()),
        marks=tuple(missing or ()),
        floats=floats,
        unsupported=unsupported.value,
        layer=layer,
        zeros_missing=zeros_missing,
    )
    alike = work.Alike(row_chain, col_chain, ignore_unknown)
    parameters = {
        "rank": rank,
        "posterior": posterior.value,
        "max_sweeps": max_sweeps,
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": verbose,
    }
    work.impute(files, reading, alike, standardize, level, parameters)
