"""What `bmcg impute` was asked for, and what of it can be refused before reading."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from .outcome import UserError, check_input, check_output
from .tables import DELIMITERS, Dialect, table_kind

# Graphs that an AnnData file holds itself, by what they are written with.
STORED = {"--row-graph": "obsp:", "--col-graph": "varp:"}


@dataclass(frozen=True)
class Files:
    """Every file a run touches."""

    table: Path
    output: Path
    std: Path | None
    bands: Path | None
    model: Path | None
    row_graph: Path | None
    col_graph: Path | None
    checkpoint: Path | None
    resume: bool
    force: bool
    plot: Path | None = None
    to_pipe: bool = False

    @property
    def written(self) -> dict[str, Path]:
        """Files that the run writes, by option."""
        named = {
            "-o": self.output,
            "--std": self.std,
            "--bands": self.bands,
            "--save-model": self.model,
            "--plot": self.plot,
            "--checkpoint": self.checkpoint,
        }
        return {option: path for option, path in named.items() if path is not None}


@dataclass(frozen=True)
class Reading:
    """How to read the input.

    Attributes
    ----------
    row, time : str or None
        Columns that name the rows, and that hold their times.
    skip, marks : tuple of str
        Columns left as they are; what else marks a missing cell.
    time_format, decimal : str or None
    dialect : Dialect
    floats, fit_outliers : bool
    unsupported : str
    layer, layer_out : str or None
    zeros_missing, denoise : bool
    linkage, days : bool or "auto"
    plotted : tuple of str
        Columns whose series are drawn; empty for those with most missing.
    panel, map : Path or None
    """

    row: str | None
    time: str | None
    time_format: str | None
    skip: tuple[str, ...]
    marks: tuple[str, ...]
    dialect: Dialect
    decimal: str | None
    floats: bool
    fit_outliers: bool
    unsupported: Any
    layer: str | None
    layer_out: str | None
    zeros_missing: bool
    denoise: bool
    linkage: Any = "auto"
    days: Any = "auto"
    plotted: tuple[str, ...] = ()
    panel: Path | None = None
    map: Path | None = None

    def check(self, kind: str) -> None:
        """Refuse options that say nothing about this kind of file."""
        text, tables = kind in DELIMITERS, kind in DELIMITERS or kind == ".parquet"
        fits = {
            "--row": (self.row, tables),
            "--time": (self.time, tables),
            "--skip": (self.skip, tables),
            "--missing": (self.marks, tables),
            "--floats": (self.floats, tables),
            "--outliers": (self.fit_outliers, tables),
            "--time-format": (self.time_format, tables),
            "--days": (self.days != "auto", tables),
            "--delimiter": (self.dialect.delimiter, kind == ".csv"),
            "--decimal": (self.decimal, text),
            "--unsupported": (self.unsupported != "error", kind == "vcf"),
            "--linkage": (self.linkage != "auto", kind in ("vcf", "bed")),
            "--panel": (self.panel, kind in ("vcf", "bed")),
            "--map": (self.map, kind in ("vcf", "bed")),
            "--layer": (self.layer, kind == "h5ad"),
            "--layer-out": (self.layer_out, kind == "h5ad"),
            "--zeros-missing": (self.zeros_missing, kind == "h5ad"),
            "--denoise": (self.denoise, kind == "h5ad"),
        }
        for option, (given, applies) in fits.items():
            if given and not applies:
                raise UserError(f"{option} says nothing about a .{kind.lstrip('.')} file")
        if self.decimal not in (None, ".", ","):
            raise UserError(f"--decimal {self.decimal}: pass '.' or ','")
        if text and self.dialect.of(kind) == self.decimal:
            raise UserError(f"--decimal {self.decimal} separates the cells: pass --delimiter")
        if self.time_format is not None and self.time is None:
            raise UserError("--time-format needs --time NAME, the column with the times")
        if self.zeros_missing and self.denoise:
            raise UserError("--denoise takes zeros for counts: leave --zeros-missing out")


@dataclass(frozen=True)
class Alike:
    """Graphs that follow from the order, and what to do with unknown nodes."""

    row_chain: bool
    col_chain: bool
    ignore_unknown: bool


def file_kind(path: Path, *, output: bool = False) -> str:
    """What a file holds, by its name: "vcf", "bed", "h5ad" or a kind of table."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-2:-1] == [".vcf"] and suffixes[-1] in (".gz", ".bgz")
    if suffixes[-1:] in ([".vcf"], [".bcf"]) or packed:
        return "vcf"
    if suffixes[-1:] in ([".bed"], [".h5ad"]):
        return suffixes[-1][1:]
    return table_kind(path, output=output)


def check(files: Files, reading: Reading, alike: Alike, level: float) -> str:
    """Everything that can be refused before reading; returns the kind of the input."""
    check_input(files.table)
    kind, made = file_kind(files.table), file_kind(files.output, output=True)
    if made != kind and (kind, made) != ("bed", "vcf"):
        raise UserError(f"-o {files.output}: the output is of the same kind as {files.table}")
    reading.check(kind)
    inputs = [files.table, *(path for path in (reading.panel, reading.map) if path is not None)]
    for option, path in (("--row-graph", files.row_graph), ("--col-graph", files.col_graph)):
        if path is not None and not is_stored(path, option, kind):
            check_input(path)
            inputs.append(path)
    _check_outputs(files, made, tuple(inputs))
    check_linkage(files, reading, alike)
    if not 0.0 < level < 1.0:
        raise UserError(f"--level {level:g}: pass a probability such as 0.9")
    if (files.row_graph is not None) + alike.row_chain + (reading.time is not None) > 1:
        raise UserError("--row-graph, --row-chain and --time: give one of them")
    if files.col_graph is not None and alike.col_chain:
        raise UserError("--col-graph and --col-chain: give one of them")
    _check_plot(files, reading, kind)
    if reading.denoise and (files.std or files.bands or files.model):
        raise UserError(
            "--denoise replaces every value, in units of its own: --std, --bands and --save-model "
            "are for filled ones"
        )
    return kind


def _check_plot(files: Files, reading: Reading, kind: str) -> None:
    if reading.plotted and files.plot is None:
        raise UserError("--plot-column names a series to draw: pass --plot FILE.png")
    if files.plot is None:
        return
    if kind not in (*DELIMITERS, ".parquet"):
        raise UserError("--plot draws the columns of tables; leave it out")
    if files.plot.suffix.lower() not in (".png", ".svg", ".pdf"):
        raise UserError(f"--plot {files.plot}: pass a name that ends in .png, .svg or .pdf")
    try:
        import_module("matplotlib")
    except ImportError:
        words = "--plot needs matplotlib: python -m pip install 'bmcg[plot]'"
        raise UserError(words) from None


def check_linkage(files: Files, reading: Reading, alike: Alike) -> None:
    """Refuse what says nothing about calls that are copied along a chromosome."""
    for path in (reading.panel, reading.map):
        if path is not None:
            check_input(path)
    if reading.panel is not None and file_kind(reading.panel) != "vcf":
        raise UserError(f"--panel {reading.panel}: pass a VCF or BCF file")
    if reading.linkage is False:
        for option, given in (("--panel", reading.panel), ("--map", reading.map)):
            if given is not None:
                raise UserError(f"{option} is for calls that are copied: leave --linkage no out")
    if reading.linkage is True or reading.panel is not None:
        asked = "--linkage yes" if reading.panel is None else "--panel"
        for option in asks_for_low_rank(files, alike):
            raise UserError(f"{asked} copies haplotypes, {option} is for the low-rank matrix")


def asks_for_low_rank(files: Files, alike: Alike) -> list[str]:
    """Options given that say something about the low-rank matrix of genotypes alone."""
    given = {
        "--row-graph": files.row_graph,
        "--col-graph": files.col_graph,
        "--row-chain": alike.row_chain,
        "--col-chain": alike.col_chain,
        "--save-model": files.model,
        "--checkpoint": files.checkpoint,
    }
    return [option for option, value in given.items() if value]


def is_stored(path: Path, option: str, kind: str) -> bool:
    """Whether a graph is named by its key in the AnnData file that is filled."""
    return kind == "h5ad" and str(path).startswith(STORED[option])


def _check_outputs(files: Files, made: str, inputs: tuple[Path, ...]) -> None:
    for option, path in files.written.items():
        if option == "--checkpoint":
            _check_checkpoint(path, files.resume)
            continue
        check_output(path, files.force, inputs)
        if option in ("--std", "--bands"):
            table_kind(path, output=True)
    if files.resume and files.checkpoint is None:
        raise UserError("--resume needs the file to go on from: pass --checkpoint FILE")
    if made == "bed":
        for suffix in (".bim", ".fam"):
            check_output(files.output.with_suffix(suffix), files.force, inputs)
    paths = [path.resolve() for path in files.written.values()]
    if len(set(paths)) < len(paths):
        raise UserError(f"{', '.join(files.written)}: give each a name of its own")


def _check_checkpoint(path: Path, resume: bool) -> None:
    if path.exists() and not resume:
        raise UserError(f"{path} exists already; pass --resume to go on from it, or remove it")
