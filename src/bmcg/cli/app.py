"""What the command line offers: names, options and help. The work is in `commands`.

Nothing heavy is imported here, so that `bmcg --help` answers at once.
"""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .outcome import USER_ERROR, begin, interrupted, is_advice, one_line, say


class Posterior(StrEnum):
    """Posterior families, as `bmcg.BMCG` names them."""

    auto = "auto"
    column = "column"
    row = "row"
    joint = "joint"


class Engine(StrEnum):
    """Variance engines, as `bmcg.BMCG` names them."""

    auto = "auto"
    dense = "dense"
    sparse = "sparse"
    monte_carlo = "monte_carlo"


class Duplicates(StrEnum):
    """What to do with an entry that is given more than once."""

    error = "error"
    mean = "mean"
    sum = "sum"
    first = "first"
    last = "last"


class UnknownNodes(StrEnum):
    """What to do with a node of a graph that is not in the data."""

    error = "error"
    ignore = "ignore"
    add = "add"


class Commands(TyperGroup):
    """The one place where errors become messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command: 0 done, 1 the user's to put right, 2 usage, 130 interrupted."""
        begin()
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise interrupted() from None
        except Exception as error:
            if os.environ.get("BMCG_TRACEBACK") or not is_advice(error):
                raise
            say(f"error: {one_line(error)}")
            raise typer.Exit(USER_ERROR) from None


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Fill in the missing entries of a matrix, with graphs on its rows and columns.\n\n"
    "The rank, the noise and all weights are learned; nothing is tuned.",
)

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `bmcg fit` wrote.", show_default=False)
]
Output = Annotated[Path, typer.Option("-o", "--output", help="File to write.", show_default=False)]
TableOutput = Annotated[
    Path,
    typer.Option(
        "-o", "--output", help="Table to write (.csv, .tsv or .parquet).", show_default=False
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output where it exists.")]
GraphOption = Annotated[
    Path | None,
    typer.Option(
        help="Which of them are alike: an edge list (.csv, .tsv, .parquet: two labels and "
        "perhaps a weight a line) or an adjacency matrix (.npz, .mtx) in the labels' order.",
        show_default=False,
    ),
]


def _version(wanted: bool) -> None:
    if wanted:
        from bmcg import __version__

        typer.echo(f"bmcg {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    pass


@app.command()
def fit(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA",
            help="Table of observations (.csv, .tsv or .parquet).",
            show_default=False,
        ),
    ],
    output: Output,
    row: Annotated[
        str | None, typer.Option(help="Column with the row labels.", show_default=False)
    ] = None,
    col: Annotated[
        str | None, typer.Option(help="Column with the column labels.", show_default=False)
    ] = None,
    value: Annotated[
        str | None, typer.Option(help="Column with the values.", show_default=False)
    ] = None,
    wide: Annotated[
        bool,
        typer.Option(
            "--wide",
            help="DATA is the matrix itself, empty cells missing; --row names the column of "
            "row labels, if there is one.",
        ),
    ] = False,
    row_graph: GraphOption = None,
    col_graph: GraphOption = None,
    unknown_nodes: Annotated[
        UnknownNodes,
        typer.Option(
            help="Nodes of an edge list that the data lacks: refuse them, ignore their edges, "
            "or add them as empty rows or columns that the graph predicts."
        ),
    ] = UnknownNodes.error,
    pattern: Annotated[
        bool,
        typer.Option(
            "--pattern",
            help="Which entries are there says something, as where people choose what to rate: "
            "take the pattern as features of rows and columns.",
        ),
    ] = False,
    keep_range: Annotated[
        bool,
        typer.Option("--keep-range", help="Predictions stay in the range of the observed values."),
    ] = False,
    duplicates: Annotated[
        Duplicates, typer.Option(help="An entry that is given more than once.")
    ] = Duplicates.error,
    rank: Annotated[int, typer.Option(min=1, help="Most components.")] = 100,
    posterior: Annotated[
        Posterior,
        typer.Option(
            help="What the posterior keeps: correlation along the graph, between "
            "components, or both; auto is joint with features, column without."
        ),
    ] = Posterior.auto,
    ridge: Annotated[float, typer.Option(help="Added to the graphs' Laplacians.")] = 1e-6,
    max_sweeps: Annotated[int, typer.Option(min=1, help="Most sweeps.")] = 200,
    tol: Annotated[
        float, typer.Option(min=0.0, help="Stop at this relative gain of the evidence bound.")
    ] = 1e-5,
    engine: Annotated[
        Engine, typer.Option(help="How variances along a graph are computed.")
    ] = Engine.auto,
    seed: Annotated[
        int, typer.Option(min=0, help="The same seed gives the same model, with any --jobs.")
    ] = 0,
    jobs: Annotated[
        int | None, typer.Option(help="Threads; all cores by default.", show_default=False)
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show every sweep, also when piped.")
    ] = False,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Write a long fit to this file every two minutes, and when Ctrl-C ends it. The "
            "file goes once the fit has converged and its model is written.",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from --checkpoint as if never stopped.")
    ] = False,
    force: Force = False,
) -> None:
    """Learn a model from observations and write it to a file.

    **Examples**

    `bmcg fit ratings.csv --row user --col item --value rating -o model.safetensors`

    `bmcg fit ratings.parquet --row user --col item --value rating
    --row-graph friends.csv --col-graph similar.npz -o model.safetensors`

    `bmcg fit ratings.csv --row user --col item --value rating --pattern --keep-range
    -o model.safetensors`

    `bmcg fit sensors.tsv --wide --row hour --col-graph pipes.csv -o model.safetensors`

    `bmcg fit ratings.csv --row user --col item --value rating -o model.safetensors
    --checkpoint fit.checkpoint --resume`
    """
    from . import commands

    form = commands.DataForm(data, row, col, value, wide, duplicates.value)
    sides = commands.GraphChoice(row_graph, col_graph, unknown_nodes.value, pattern)
    parameters = {
        "rank": rank,
        "posterior": posterior.value,
        "ridge": ridge,
        "max_sweeps": max_sweeps,
        "tol": tol,
        "engine": engine.value,
        "value_range": "observed" if keep_range else None,
        "random_state": seed,
        "n_jobs": jobs,
        "verbose": verbose,
        "checkpoint": checkpoint,
        "resume": resume,
    }
    commands.fit(form, sides, parameters, output, force)


@app.command()
def predict(
    model: Model,
    pairs: Annotated[
        Path,
        typer.Argument(
            metavar="PAIRS",
            help="Table with a row label and a column label a line; other columns are kept.",
            show_default=False,
        ),
    ],
    output: TableOutput,
    std: Annotated[
        bool, typer.Option("--std", help="Add the standard deviation of a new observation.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            metavar="LEVEL",
            help="Add the bounds that hold a new observation with this probability.",
            show_default=False,
        ),
    ] = None,
    row: Annotated[
        str | None,
        typer.Option(help="Column with the row labels; by default named as in the data."),
    ] = None,
    col: Annotated[
        str | None,
        typer.Option(help="Column with the column labels; by default named as in the data."),
    ] = None,
    force: Force = False,
) -> None:
    """Predict the entries that a table lists.

    The output is that table with a column `mean`, and `std`, `low` and `high` where asked for.

    **Examples**

    `bmcg predict model.safetensors pairs.csv -o predictions.csv`

    `bmcg predict model.safetensors pairs.csv --std --interval 0.9 -o predictions.parquet`
    """
    from . import commands

    commands.predict(model, pairs, output, commands.Spread(std, interval), (row, col), force)


@app.command()
def complete(
    model: Model,
    output: TableOutput,
    memory_limit: Annotated[
        float, typer.Option(min=0.0, metavar="GIB", help="Refuse to form a larger matrix.")
    ] = 4.0,
    force: Force = False,
) -> None:
    """Write the whole matrix, every entry predicted.

    **Example**

    `bmcg complete model.safetensors -o matrix.csv`
    """
    from . import commands

    commands.complete(model, output, memory_limit, force)


@app.command()
def info(model: Model) -> None:
    """Say what a model holds: rank, noise, how the fit ended, graphs.

    **Example**

    `bmcg info model.safetensors`
    """
    from . import commands

    commands.info(model)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the pictures and the report.")] = Path(
        "bmcg-demo"
    ),
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier demo in the folder.")
    ] = False,
) -> None:
    """Fit three small cases that are drawn on the spot; write pictures and a report.

    **Example**

    `bmcg demo --out bmcg-demo`
    """
    from . import commands

    commands.demo(out, seed, force)


def main() -> None:
    """Entry point of the command `bmcg`."""
    app(prog_name="bmcg")
