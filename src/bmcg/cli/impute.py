"""The command `bmcg impute`: its options and help. The work is in `impute_work`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app

ImputeGraph = Annotated[
    Path | None,
    typer.Option(
        help="Which of them are alike: an edge list (.csv, .tsv, .parquet: two labels and "
        "perhaps a weight a line) or an adjacency matrix (.npz, .mtx) in the table's order; of "
        "AnnData also obsp:KEY for rows and varp:KEY for columns.",
        show_default=False,
    ),
]


class Outliers(StrEnum):
    """What to do with values a hundred times further out than all others."""

    leave = "leave"
    fit = "fit"


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
            "with .bim and .fam) or AnnData (.h5ad), or - for a table from standard input.",
            show_default=False,
        ),
    ],
    output: o.Output,
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
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Picture (.png, .svg, .pdf) of columns with their gaps, what they were filled "
            "with, and bands.",
            show_default=False,
        ),
    ] = None,
    plot_column: Annotated[
        list[str] | None,
        typer.Option(
            help="Column to draw (repeatable); by default the four with most missing.",
            show_default=False,
        ),
    ] = None,
    save_model: Annotated[
        Path | None,
        typer.Option(
            "--save-model",
            help="File for the model, which predict, report and info take.",
            show_default=False,
        ),
    ] = None,
    level: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="Probability that low and high enclose.")
    ] = 0.9,
    row: o.Row = None,
    time: o.Time = None,
    time_format: o.TimeFormat = None,
    days: Annotated[
        o.Decision,
        typer.Option(
            help="Tables with times: whether days may be laid side by side, so that what repeats "
            "from day to day is seen; auto asks gaps that are left out."
        ),
    ] = o.Decision.auto,
    skip: Annotated[
        list[str] | None,
        typer.Option(
            help="Column that is not part of the matrix and stays as it is (repeatable).",
            show_default=False,
        ),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            help="What else marks a missing cell, such as -999 or err (repeatable); empty "
            "cells, NA and NaN always do.",
            show_default=False,
        ),
    ] = None,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    decimal: Annotated[
        str | None,
        typer.Option(help="What separates the decimals, '.' or ','.", show_default=False),
    ] = None,
    row_graph: ImputeGraph = None,
    col_graph: ImputeGraph = None,
    row_chain: o.RowChain = False,
    col_chain: o.ColChain = False,
    unknown_nodes: Annotated[
        o.UnknownNodes,
        typer.Option(
            help="Nodes of an edge list that the table lacks: refuse them, or ignore their edges."
        ),
    ] = o.UnknownNodes.error,
    ignore_unknown: Annotated[
        bool, typer.Option("--ignore-unknown", hidden=True, help="--unknown-nodes ignore.")
    ] = False,
    scale: Annotated[
        o.Decision,
        typer.Option(
            help="Whether columns are brought to one scale for the fit; auto asks a short fit "
            "of either, since columns in one unit are better off as they are."
        ),
    ] = o.Decision.auto,
    outliers: Annotated[
        Outliers,
        typer.Option(
            help="Values a hundred times further out than all others of their column: leave "
            "them out of the fit and as they are, or fit them."
        ),
    ] = Outliers.leave,
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
    linkage: Annotated[
        o.Decision,
        typer.Option(
            help="Genotypes: whether calls are copied from haplotypes that are alike nearby; auto "
            "asks calls that are left out."
        ),
    ] = o.Decision.auto,
    panel: Annotated[
        Path | None,
        typer.Option(
            help="Genotypes: phased haplotypes of others to copy from (.vcf, .vcf.gz, .bcf).",
            show_default=False,
        ),
    ] = None,
    map: Annotated[
        Path | None,
        typer.Option(
            help="Genotypes: genetic map, PLINK's .map or with a header; 1 cM a million base "
            "pairs by default.",
            show_default=False,
        ),
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="AnnData: layer to fill, X by default.", show_default=False)
    ] = None,
    zeros_missing: Annotated[
        bool, typer.Option("--zeros-missing", help="AnnData: every zero is a missing value.")
    ] = False,
    layer_out: Annotated[
        str | None,
        typer.Option(help="AnnData: name of the new layer, bmcg by default.", show_default=False),
    ] = None,
    denoise: Annotated[
        bool,
        typer.Option(
            "--denoise",
            help="AnnData: replace every value by its posterior mean, in a layer of its own; of "
            "counts as log(1 + counts of a row of median size).",
        ),
    ] = False,
    rank: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Most components; 100 by default, for genotypes as many as there is memory for.",
            show_default=False,
        ),
    ] = None,
    posterior: o.PosteriorOption = o.Posterior.auto,
    local: o.LocalOption = None,
    keep_range: o.KeepRange = False,
    max_sweeps: o.MaxSweeps = 200,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    device: o.Device = "auto",
    verbose: o.Verbose = False,
    checkpoint: o.Checkpoint = None,
    resume: o.Resume = False,
    force: o.Force = False,
) -> None:
    """Fill the missing values of a file; everything that was there stays as it is.

    **Examples**

    `bmcg impute survey.csv -o filled.csv --std std.csv`

    `bmcg impute sensors.csv --time hour --col-graph pipes.csv -o filled.csv --bands gaps.csv`

    `bmcg impute sensors.csv -o filled.csv --plot gaps.png --plot-column s05`

    `bmcg impute cohort.vcf.gz -o imputed.vcf.gz`

    `bmcg impute cohort.vcf.gz --panel panel.vcf.gz --map chr22.map -o imputed.vcf.gz`

    `bmcg impute cells.h5ad --denoise --row-graph obsp:connectivities -o denoised.h5ad`
    """
    from .impute_check import Alike, Files, Reading
    from .impute_pipes import piped
    from .impute_work import impute as work
    from .outcome import UserError
    from .tables import Dialect

    files = Files(
        table,
        output,
        std,
        bands,
        save_model,
        row_graph,
        col_graph,
        checkpoint,
        resume,
        force,
        plot,
    )
    reading = Reading(
        row=row,
        time=time,
        time_format=time_format,
        skip=tuple(skip or ()),
        marks=tuple(missing or ()),
        dialect=Dialect(format.value, delimiter),
        decimal=decimal,
        floats=floats,
        fit_outliers=outliers is Outliers.fit,
        unsupported=unsupported.value,
        layer=layer,
        layer_out=layer_out,
        zeros_missing=zeros_missing,
        denoise=denoise,
        linkage=linkage.parameter,
        days=days.parameter,
        plotted=tuple(plot_column or ()),
        panel=panel,
        map=map,
    )
    ignore = ignore_unknown or unknown_nodes is o.UnknownNodes.ignore
    if unknown_nodes is o.UnknownNodes.add:
        raise UserError("--unknown-nodes add: a table that is filled has no rows to add")
    alike = Alike(row_chain, col_chain, ignore)
    parameters = {
        "rank": rank,
        "posterior": posterior.value,
        "max_sweeps": max_sweeps,
        "random_state": seed,
        "n_jobs": jobs,
        "device": device,
        "verbose": verbose,
    }
    if local is not None:
        parameters["local"] = local.value
    if keep_range:
        parameters["value_range"] = "observed"
    with piped(files, format.value) as named:
        work(named, reading, alike, scale.parameter, level, parameters)
