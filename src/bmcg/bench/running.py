"""From a name to files: plan, measure what is missing, merge, tabulate, draw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files.storage import write_atomically
from .experiments import EXPERIMENTS, NAMES, Experiment
from .measuring import OK, Cell, same_settings
from .methods import COLUMN_LABEL, OURS_LABEL, PAPER_METHODS, SLOW, chosen
from .priors import priors_page, write_priors
from .store import Store, finished, read
from .summary import Summary
from .tables import number, page, seconds_page
from .workers import Limits, run_cells

Say = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What a user asks of `bmcg bench`.

    Attributes
    ----------
    methods : tuple of str
        As the paper names them; empty for all.
    seeds : int
        Seeds 0, 1, …
    out, pictures : Path
        Folder of tables and figures, and of completed images.
    quick : bool
        Tiny sizes and generated stand-ins.
    jobs : int
        Cells at a time.
    limits : Limits
    """

    out: Path
    pictures: Path
    methods: tuple[str, ...] = ()
    seeds: int = 3
    quick: bool = False
    jobs: int = 1
    limits: Limits = field(default_factory=Limits)


def run_bench(name: str, request: Request, say: Say = print) -> None:
    """Run a bench, or what is missing of it, and write its table and figures.

    Parameters
    ----------
    name : str
        One of `NAMES`, or "all".
    request : Request
    say : callable
        Receives each line of progress.
    """
    if name not in (*NAMES, "all"):
        raise ValueError(f"{name}: choose one of {', '.join((*NAMES, 'all'))}")
    if request.seeds < 1:
        raise ValueError(f"--seeds {request.seeds}: pass a whole number of at least 1")
    chosen((), request.methods)
    for one in NAMES if name == "all" else (name,):
        if one == "priors":
            _run_priors(request, say)
        else:
            _run_experiment(EXPERIMENTS[one](request.quick), request, say)


def plan(experiment: Experiment, request: Request) -> list[Cell]:
    """All cells, in an order that leaves whole seeds behind when time runs out.

    Rows that need one fit come before tuned ones, quick methods before slow ones. Methods that
    use no graph are not measured again where only the graphs differ.
    """
    cells = [
        Cell(experiment.name, case, entry, seed, request.quick)
        for seed in range(request.seeds)
        for case in experiment.cases
        for entry in chosen(case.entries, request.methods)
        if not (case.twin is not None and _ignores_graphs(entry.method))
    ]
    return sorted(cells, key=lambda cell: (cell.entry.tuned, cell.seed, cell.entry.method in SLOW))


def draw(name: str, out: Path, pictures: Path, quick: bool = False) -> list[Path]:
    """Write tables and figures from the Parquet files of a bench alone.

    Parameters
    ----------
    name : str
    out, pictures : Path
    quick : bool
        Whether the files come from a quick run.

    Returns
    -------
    list of Path
        What was written; figures also as SVG.
    """
    import bmcg.bench.figures as figures

    rows = read(out / f"{name}.parquet")
    if name == "priors":
        _write(out / "priors.md", priors_page(rows))
        drawn = {out / key: figure for key, figure in figures.prior_figures(rows).items()}
    else:
        summary = Summary(EXPERIMENTS[name](quick), rows)
        _write(out / f"{name}.md", page(summary))
        _write(out / f"{name}-seconds.md", seconds_page(summary))
        drawn = _figures(summary, out)
        drawn |= _pictures(name, pictures)
    for path, figure in drawn.items():
        figures.save(figure, path)
    return [path.with_suffix(".png") for path in drawn]


def _run_priors(request: Request, say: Say) -> None:
    request.out.mkdir(parents=True, exist_ok=True)
    write_priors(request.out / "priors.parquet")
    for path in draw("priors", request.out, request.pictures):
        say(f"{path}")


def _run_experiment(experiment: Experiment, request: Request, say: Say) -> None:
    cells = plan(experiment, request)
    store = Store(experiment.name, request.out, request.pictures)
    kept = {(row["group"], row["case"], row["label"], row["seed"]): row for row in store.rows()}
    todo = [
        cell
        for cell in cells
        if cell.place not in kept
        or not finished(kept[cell.place], request.limits.seconds)
        or not same_settings(cell, kept[cell.place])
    ]
    say(f"{experiment.name}: {len(todo)} of {len(cells)} cells to measure")
    count = [0]

    def done(cell: Cell, result: dict[str, Any]) -> None:
        store.add(cell, result)
        count[0] += 1
        say(f"[{count[0]}/{len(todo)}] {_told(cell, result)}")

    if todo:
        run_cells(todo, request.limits, request.jobs, done)
    store.merge(cells)
    for path in draw(experiment.name, request.out, request.pictures, request.quick):
        say(f"{path}")


def _told(cell: Cell, result: dict[str, Any]) -> str:
    where = f"{cell.bench} · {cell.case.name} · {cell.entry.label} · seed {cell.seed}"
    if result["status"] != OK:
        return f"{where}: {result['status']}, {result['reason']}"
    value = number(result[cell.case.metric], cell.case.metric)
    return f"{where}: {cell.case.metric} {value} ({result['seconds']:.1f} s)"


def _figures(summary: Summary, out: Path) -> dict[Path, Any]:
    from .figures import curves, dots

    name, groups = summary.experiment.name, summary.experiment.groups
    if name == "synthetic":
        labels = ["true rank", "true rank", "share observed"]
        return {out / name: curves(summary, groups[:3], labels)}
    if name == "sensitivity":
        labels = ["weight of the graphs", "parameter of the kernel", "weight of the graphs"]
        return {out / name: curves(summary, groups, labels)}
    suffix = ("", "-honest-graphs")
    return {out / f"{name}{suffix[k]}": dots(summary, group) for k, group in enumerate(groups)}


def _pictures(name: str, pictures: Path) -> dict[Path, Any]:
    from .figures import picture_grid

    path = pictures / f"{name}-pictures.parquet"
    if not path.exists():
        return {}
    rows = read(path)
    if name == "sensitivity":
        rows = [{**row, "case": "house", "label": _weight(row)} for row in rows]
        labels = list(dict.fromkeys(row["label"] for row in rows))
    elif name == "cross-mask":
        labels = ["VBMC", "BMC-GP-GAMP", COLUMN_LABEL, OURS_LABEL]
    else:
        labels = [OURS_LABEL, COLUMN_LABEL, *(m for m in PAPER_METHODS if m != "BMCG")]
    return {pictures / f"{name}-pictures": picture_grid(rows, labels)}


def _weight(row: dict[str, Any]) -> str:
    return row["label"] if row["label"].startswith("BMCG") else f"{row['label']}, {row['case']}"


def _ignores_graphs(method: str) -> bool:
    from ..baselines import METHODS

    found = METHODS.get(method)
    return found is not None and not (found._uses_row_graph or found._uses_col_graph)


def _write(path: Path, text: str) -> None:
    write_atomically(path, lambda temporary: Path(temporary).write_text(text, "utf-8"))
