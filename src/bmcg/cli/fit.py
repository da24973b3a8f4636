"""The command `bmcg fit`."""

from __future__ import annotations

from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


@app.command()
def fit(
    data: o.DataFiles,
    output: o.ModelOutput,
    row: o.Row = None,
    col: o.Col = None,
    value: o.Value = None,
    wide: o.Wide = False,
    implicit: o.Implicit = False,
    row_graph: o.GraphOption = None,
    col_graph: o.GraphOption = None,
    row_chain: o.RowChain = False,
    col_chain: o.ColChain = False,
    time: o.Time = None,
    time_format: o.TimeFormat = None,
    row_features: o.FeaturesOption = None,
    col_features: o.FeaturesOption = None,
    pattern: Annotated[
        bool,
        typer.Option(
            "--pattern",
            help="Which entries are there says something, as where people choose what to rate: "
            "--row-features pattern --col-features pattern.",
        ),
    ] = False,
    row_exposure: o.ExposureOption = None,
    col_exposure: o.ExposureOption = None,
    unknown_nodes: o.UnknownNodesOption = o.UnknownNodes.error,
    duplicates: o.DuplicatesOption = o.Duplicates.error,
    rank: o.Rank = 100,
    posterior: o.PosteriorOption = o.Posterior.auto,
    bias: o.Bias = o.Decision.auto,
    learn_graphs: o.LearnGraphs = o.Decision.auto,
    selection: o.SelectionOption = True,
    n_draws: o.NDraws = 100,
    likelihood: o.LikelihoodOption = o.Likelihood.gaussian,
    noise: o.NoiseOption = o.Noise.auto,
    local: o.LocalOption = None,
    value_range: o.ValueRange = None,
    keep_range: o.KeepRange = False,
    ridge: o.Ridge = None,
    max_sweeps: o.MaxSweeps = 200,
    tol: o.Tol = 1e-5,
    engine: o.EngineOption = o.Engine.auto,
    storage: o.StorageOption = o.Storage.float64,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    device: o.Device = "auto",
    verbose: o.Verbose = False,
    checkpoint: o.Checkpoint = None,
    resume: o.Resume = False,
    format: o.Format = o.TableFormat.csv,
    delimiter: o.Delimiter = None,
    force: o.Force = False,
) -> None:
    """Learn a model from observations and write it to a file.

    **Examples**

    `bmcg fit ratings.csv --row user --col item --value rating -o model.safetensors`

    `bmcg fit ratings.parquet --row user --col item --value rating
    --row-graph friends.csv --col-features items.csv -o model.safetensors`

    `bmcg fit ratings.csv --row user --col item --value rating --pattern --keep-range
    -o model.safetensors`

    `bmcg fit clicks.csv --row user --col item --implicit -o model.safetensors`

    `bmcg fit counts.csv --row cell --col gene --value count --likelihood negative_binomial
    --row-exposure depths.csv -o model.safetensors`

    `bmcg fit sensors.tsv --wide --time hour --col-graph pipes.csv -o model.safetensors`

    `torchrun --nproc-per-node 4 -m bmcg fit ratings/*.parquet --row user --col item
    --value rating -o model.safetensors`

    `zcat ratings.csv.gz | bmcg fit - --row user --col item --value rating
    -o model.safetensors --checkpoint fit.checkpoint --resume`
    """
    import bmcg.cli.fit_work as work

    from .reading import DataForm
    from .tables import Dialect

    dialect = Dialect(format.value, delimiter)
    files = work.expanded(data)
    form = DataForm(
        files[0], row, col, value, wide, duplicates.value, dialect, more=files[1:]
    ).counted(implicit)
    sides = work.Sides(
        row=work.SideFiles("row", row_graph, row_chain, row_features, row_exposure),
        col=work.SideFiles("col", col_graph, col_chain, col_features, col_exposure),
        time=time,
        time_format=time_format,
        unknown=unknown_nodes.value,
    )
    if pattern:
        sides = sides.with_pattern()
    parameters = {
        "rank": rank,
        "posterior": posterior.value,
        "bias": bias.parameter,
        "learn_graphs": learn_graphs.parameter,
        "selection": selection,
        "n_draws": n_draws,
        "likelihood": likelihood.value,
        "noise": noise.value,
        "local": None if local is None else local.value,
        "missing": "weak-zero" if implicit else "unknown",
        "value_range": work.one_range(value_range, keep_range),
        "ridge": ridge,
        "max_sweeps": max_sweeps,
        "tol": tol,
        "engine": engine.value,
        "storage": storage.value,
        "random_state": seed,
        "n_jobs": jobs,
        "device": device,
        "verbose": verbose,
        "checkpoint": checkpoint,
        "resume": resume,
    }
    work.fit(form, sides, parameters, output, force)
