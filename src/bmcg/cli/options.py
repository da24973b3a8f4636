"""Options that commands share: one name, one meaning, one text of help.

Parameters of the estimator are options of the same name (`seed` is `random_state`, `jobs` is
`n_jobs`); a test holds their defaults and choices to those of `bmcg.BMCG`, which is too heavy to
import for `--help`.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer


class Posterior(StrEnum):
    """Posterior families, as `bmcg.BMCG` names them."""

    auto = "auto"
    sampled = "sampled"
    variational = "variational"
    column = "column"
    row = "row"
    joint = "joint"


class Engine(StrEnum):
    """Variance engines, as `bmcg.BMCG` names them."""

    auto = "auto"
    dense = "dense"
    sparse = "sparse"
    monte_carlo = "monte_carlo"


class Storage(StrEnum):
    """What second moments are stored in, as `bmcg.BMCG` names it."""

    float64 = "float64"
    float32 = "float32"


class Likelihood(StrEnum):
    """How values come from their entries, as `bmcg.BMCG` names it."""

    gaussian = "gaussian"
    student = "student"
    bernoulli = "bernoulli"
    ordinal = "ordinal"
    poisson = "poisson"
    negative_binomial = "negative_binomial"
    auto = "auto"


class Noise(StrEnum):
    """Whose Gaussian noise it is, as `bmcg.BMCG` names it."""

    auto = "auto"
    shared = "shared"
    rows = "rows"
    cols = "cols"


class Local(StrEnum):
    """Along which graph the local term is smooth, as `bmcg.BMCG` names it."""

    auto = "auto"
    rows = "rows"
    cols = "cols"
    both = "both"


class Decision(StrEnum):
    """Yes, no, or left to the evidence."""

    auto = "auto"
    yes = "yes"
    no = "no"

    @property
    def parameter(self) -> bool | Literal["auto"]:
        """As `bmcg.BMCG` takes it."""
        return "auto" if self is Decision.auto else self is Decision.yes


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


class Unknown(StrEnum):
    """What to do with a label that the model does not know."""

    error = "error"
    skip = "skip"
    prior = "prior"


class TableFormat(StrEnum):
    """Formats of tables in pipes."""

    csv = "csv"
    tsv = "tsv"
    parquet = "parquet"


# Files.
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that `bmcg fit` wrote.", show_default=False)
]
Output = Annotated[Path, typer.Option("-o", "--output", help="File to write.", show_default=False)]
ModelOutput = Annotated[
    Path, typer.Option("-o", "--output", help="Model to write.", show_default=False)
]
TableOutput = Annotated[
    Path,
    typer.Option(
        "-o",
        "--output",
        help="Table to write (.csv, .tsv or .parquet), or - for standard output.",
        show_default=False,
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Replace the output where it exists.")]
Format = Annotated[
    TableFormat, typer.Option("--format", help="Format of standard input and output (-).")
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        help="What separates the cells of .csv files, such as ';', read or written.",
        show_default=False,
    ),
]

# Tables of observations.
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="Table of observations (.csv, .tsv or .parquet), or - for standard input.",
        show_default=False,
    ),
]
DataFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help="Tables of observations (.csv, .tsv or .parquet), several with the same columns or a "
        "quoted pattern such as 'ratings/*.parquet', or - for standard input.",
        show_default=False,
    ),
]
Row = Annotated[str | None, typer.Option(help="Column with the row labels.", show_default=False)]
Col = Annotated[str | None, typer.Option(help="Column with the column labels.", show_default=False)]
KnownRow = Annotated[
    str | None,
    typer.Option("--row", help="Column with the row labels; by default named as in the data."),
]
KnownCol = Annotated[
    str | None,
    typer.Option("--col", help="Column with the column labels; by default named as in the data."),
]
Value = Annotated[str | None, typer.Option(help="Column with the values.", show_default=False)]
Implicit = Annotated[
    bool,
    typer.Option(
        "--implicit",
        help="What is there was chosen (clicks, plays, purchases), and says nothing of the rest "
        "but that it was not: every pair is a zero of small weight, what was seen weighs by its "
        "count. --value, the counts, may be left out; lines given again are counted together.",
    ),
]
Wide = Annotated[
    bool,
    typer.Option(
        "--wide",
        help="The table is the matrix itself, empty cells missing; --row names the column of "
        "row labels, if there is one.",
    ),
]
DuplicatesOption = Annotated[
    Duplicates, typer.Option(help="An entry that is given more than once.")
]
UnknownOption = Annotated[
    Unknown,
    typer.Option(
        help="Rows and columns that the model does not know: refuse the table, leave their "
        "lines out, or predict what the model expects of any row or column."
    ),
]

# Which rows, and which columns, are alike.
GraphOption = Annotated[
    Path | None,
    typer.Option(
        help="Which of them are alike: an edge list (.csv, .tsv, .parquet: two labels and "
        "perhaps a weight a line) or an adjacency matrix (.npz, .mtx) in the labels' order.",
        show_default=False,
    ),
]
RowChain = Annotated[
    bool, typer.Option("--row-chain", help="Rows that follow each other are alike.")
]
ColChain = Annotated[
    bool, typer.Option("--col-chain", help="Columns that follow each other are alike.")
]
Time = Annotated[
    str | None,
    typer.Option(
        help="Column of labels that are times: those close in time are alike.",
        show_default=False,
    ),
]
TimeFormat = Annotated[
    str | None,
    typer.Option(
        help="How times are written, such as '%d.%m.%Y %H:%M'; numbers and ISO 8601, with zones "
        "or without, need none.",
        show_default=False,
    ),
]
FeaturesOption = Annotated[
    Path | None,
    typer.Option(
        help="What is known of them: a table with their labels in the column named as in the "
        "data, or in the first one; or `pattern`, which entries each of them has. Of new ones, "
        "with the columns that the fit had.",
        show_default=False,
    ),
]
ExposureOption = Annotated[
    Path | None,
    typer.Option(
        help="Of counts: what each of them was exposed to, such as hours or a cell's depth; a "
        "table of labels and numbers above zero. Expected counts are proportional to it.",
        show_default=False,
    ),
]
EdgesOption = Annotated[
    Path | None,
    typer.Option(
        help="Links of new ones: a table with a newcomer, one who was fitted and perhaps a weight "
        "a line.",
        show_default=False,
    ),
]
UnknownNodesOption = Annotated[
    UnknownNodes,
    typer.Option(
        help="Nodes of a graph that the data lacks: refuse them, ignore their edges, or add "
        "them as empty rows or columns that graph and features predict."
    ),
]

# Parameters of the estimator.
Rank = Annotated[int, typer.Option(min=1, help="Most components.")]
PosteriorOption = Annotated[
    Posterior,
    typer.Option(
        help="Draws (sampled), or a variational posterior that keeps correlation along the graph "
        "(column), between components (row) or both (joint); variational is joint with features "
        "and column without, auto whichever predicts left-out entries better."
    ),
]
Ridge = Annotated[
    float | None,
    typer.Option(
        help="Added to the graphs' Laplacians; where it starts, if it is learned.",
        show_default=False,
    ),
]
MaxSweeps = Annotated[int, typer.Option(min=1, help="Most sweeps.")]
Tol = Annotated[
    float, typer.Option(min=0.0, help="Stop at this relative gain of the evidence bound.")
]
EngineOption = Annotated[Engine, typer.Option(help="How variances along a graph are computed.")]
StorageOption = Annotated[
    Storage, typer.Option(help="What second moments are stored in while they are summed.")
]
Bias = Annotated[
    Decision,
    typer.Option(help="Whether rows and columns have offsets of their own; auto tries both."),
]
LearnGraphs = Annotated[
    Decision,
    typer.Option(
        help="Whether the strengths of graphs and features are learned; no keeps every graph at "
        "weight one, as in the paper."
    ),
]
SelectionOption = Annotated[
    bool,
    typer.Option(
        "--selection/--no-selection",
        help="Ask whether the model would do without biases, components, features or graphs; "
        "--no-selection keeps all of them.",
    ),
]
NDraws = Annotated[int, typer.Option(min=1, help="Draws that a sampled model keeps.")]
LikelihoodOption = Annotated[
    Likelihood,
    typer.Option(
        help="How a value comes from its entry: with Gaussian noise, or with outliers (student); "
        "as yes or no (bernoulli), as one of ordered levels, as a count; auto takes what the "
        "values look like, and says so."
    ),
]
NoiseOption = Annotated[
    Noise,
    typer.Option(help="Whether Gaussian noise has one size, or one for each row or column."),
]
ValueRange = Annotated[
    tuple[float, float] | None,
    typer.Option(
        metavar="LOW HIGH",
        help="Range that an entry can take; predictions stay in it. A sampled model asks whether "
        "it is the observed one, unless given.",
        show_default=False,
    ),
]
LocalOption = Annotated[
    Local | None,
    typer.Option(
        help="A term besides low rank, smooth within each column along the graph of the rows "
        "(rows), within each row along that of the columns (cols), or along both at once; auto "
        "keeps it where gaps like those of the data are filled better with it.",
        show_default=False,
    ),
]
KeepRange = Annotated[
    bool,
    typer.Option("--keep-range", help="Predictions stay in the range of the observed values."),
]
Seed = Annotated[
    int, typer.Option(min=0, help="The same seed gives the same result, with any --jobs.")
]
Jobs = Annotated[
    int | None, typer.Option(help="Threads; all cores by default.", show_default=False)
]
Device = Annotated[
    str,
    typer.Option(
        help="Where the fit is done: cpu, cuda or one GPU such as cuda:1; auto takes a GPU for "
        "many entries, where PyTorch (bmcg[gpu]) finds one.",
    ),
]
Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Show every sweep, also when piped.")
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        help="Write a long fit to this file every two minutes, and when Ctrl-C ends it. The "
        "file goes once the fit has converged and its model is written.",
        show_default=False,
    ),
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on from --checkpoint as if never stopped.")
]
