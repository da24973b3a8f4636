"""Runs: every bench, what a rerun does, what an interruption leaves, what stops a cell."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from bmcg.bench import NAMES, Limits, Request, draw, measuring, run_bench, running, workers
from bmcg.bench.experiments import EXPERIMENTS, Case, Experiment
from bmcg.bench.measuring import NOT_RUN, OK, Cell, fitted, measure
from bmcg.bench.methods import Entry, bmcg_entries
from bmcg.bench.store import finished
from bmcg.bench.workers import run_cells
from bmcg.datasets import graph_low_rank


def quiet(line: str) -> None:
    pass


def request(folder, **options) -> Request:
    given = {"out": folder, "pictures": folder / "pictures", "seeds": 1, "quick": True}
    return Request(**{**given, **options})


@pytest.mark.parametrize("name", NAMES)
def test_a_quick_run_needs_no_data_and_leaves_no_cell_empty(
    name, tmp_path, no_workers, monkeypatch
):
    monkeypatch.delenv("BMCG_DATA", raising=False)
    run_bench(name, request(tmp_path, methods=("GRALS", "KPMF")), quiet)
    page = (tmp_path / f"{name}.md").read_text()
    cells = [cell for line in page.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert len(cells) > 10
    assert not re.search(r"\|[ \t]*\|", page)
    assert list(tmp_path.glob(f"{name}*.png"))
    assert list(tmp_path.glob(f"{name}*.svg"))
    assert all(cell.quick for cell in no_workers)
    assert not (tmp_path / ".parts").exists()


@pytest.mark.usefixtures("short_fits")
def test_every_method_of_the_paper_runs_and_is_in_the_table(tmp_path, no_workers, no_figures):
    run_bench("inpainting", request(tmp_path), quiet)
    rows = pq.read_table(tmp_path / "inpainting.parquet").to_pylist()
    assert {row["status"] for row in rows} == {OK}
    names = {row["method"] for row in rows}
    assert len(names) == 10
    page = (tmp_path / "inpainting.md").read_text()
    assert all(f"| {name} |" in page for name in names - {"BMCG"})
    assert "not run" not in page


def test_the_same_seed_reproduces_the_table_exactly(tmp_path, no_workers, no_figures):
    pages = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        run_bench("inpainting", request(folder, methods=("GRALS", "BPMF"), seeds=2), quiet)
        pages.append((folder / "inpainting.md").read_bytes())
    assert pages[0] == pages[1]


def test_drawing_again_needs_the_parquet_file_alone(tmp_path, no_workers, no_figures):
    run_bench("genotype", request(tmp_path, methods=("KPMF",)), quiet)
    kept = (tmp_path / "genotype.md").read_bytes()
    (tmp_path / "other").mkdir()
    (tmp_path / "genotype.parquet").rename(tmp_path / "other" / "genotype.parquet")
    draw("genotype", tmp_path / "other", tmp_path / "other", quick=True)
    assert (tmp_path / "other" / "genotype.md").read_bytes() == kept


def test_a_finished_bench_measures_nothing_again(tmp_path, no_workers, no_figures):
    run_bench("cross-mask", request(tmp_path, methods=("KPMF",)), quiet)
    first = len(no_workers)
    run_bench("cross-mask", request(tmp_path, methods=("KPMF",)), quiet)
    assert first == len(no_workers) == 1
    run_bench("cross-mask", request(tmp_path, methods=("KPMF",), seeds=2), quiet)
    assert [cell.seed for cell in no_workers] == [0, 1]


def test_an_interrupted_bench_goes_on_where_it_stopped(
    tmp_path, no_workers, no_figures, monkeypatch
):
    whole = running.run_cells

    def interrupted(cells, limits, jobs, done):
        whole(cells[:2], limits, jobs, done)
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "run_cells", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_bench("synthetic", request(tmp_path, methods=("KPMF",)), quiet)
    monkeypatch.setattr(running, "run_cells", whole)
    run_bench("synthetic", request(tmp_path, methods=("KPMF",)), quiet)
    places = [cell.place for cell in no_workers]
    assert len(places) == len(set(places)) == pq.read_metadata(
        tmp_path / "synthetic.parquet").num_rows  # fmt: skip


def test_changed_settings_are_measured_again_and_replace_the_old(tmp_path, no_workers, monkeypatch):
    case = EXPERIMENTS["cross-mask"](True).cases[0]

    def experiment(rank):
        entry = Entry("KPMF", "KPMF", {"rank": rank})
        one = Case(case.group, case.name, case.source, case.metric, case.options, entries=(entry,))
        return lambda quick: Experiment("cross-mask", "t", "n", (one,))

    for rank in (2, 3):
        monkeypatch.setitem(EXPERIMENTS, "cross-mask", experiment(rank))
        run_bench("cross-mask", request(tmp_path), quiet)
    rows = pq.read_table(tmp_path / "cross-mask.parquet").to_pylist()
    assert [row["settings"] for row in rows] == ['{"rank": 3}']


def test_no_cell_starts_after_the_budget_and_the_table_says_so(tmp_path, no_figures):
    run_bench("genotype", request(tmp_path, methods=("KPMF",), limits=Limits(budget=0.0)), quiet)
    assert "not run (time)" in (tmp_path / "genotype.md").read_text()
    rows = pq.read_table(tmp_path / "genotype.parquet").to_pylist()
    assert {row["status"] for row in rows} == {NOT_RUN}


def test_a_cell_over_its_time_is_stopped_and_the_next_one_still_runs():
    case = EXPERIMENTS["genotype"](True).cases[0]
    results = []
    endless = Entry("BPMF", "BPMF", {"max_iter": 10**7})
    slow = Cell("synthetic", EXPERIMENTS["synthetic"](True).cases[0], endless, 0, False)
    quick = Cell("genotype", case, Entry("KPMF", "KPMF"), 0, True)
    run_cells([slow], Limits(seconds=1.0), 1, lambda cell, result: results.append(result))
    run_cells([quick], Limits(), 1, lambda cell, result: results.append(result))
    assert results[0]["reason"] == "stopped after 1 s"
    assert results[1]["status"] == OK


def test_where_no_process_can_begin_the_bench_ends_instead_of_a_table_of_nothing():
    case = EXPERIMENTS["genotype"](True).cases[0]
    cell = Cell("genotype", case, Entry("KPMF", "KPMF"), 0, True)
    with pytest.raises(MemoryError, match="could not begin"):
        run_cells([cell], Limits(memory=1e-9), 1, lambda cell, result: None)


def test_a_process_that_cannot_be_made_ends_the_bench_and_nobody_waits(monkeypatch):
    def failing(memory):
        raise OSError("cannot fork")

    monkeypatch.setattr(workers, "_Worker", failing)
    with pytest.raises(OSError, match="cannot fork"):
        run_cells([None], Limits(), 1, lambda cell, result: None)


@pytest.mark.parametrize("needs_memory", [True, False])
def test_a_cell_that_cannot_import_says_why(needs_memory, monkeypatch):
    """Too little memory ends the bench; a library that is not there is the cell's reason."""

    def failing(cell):
        said = "failed to map segment from shared object" if needs_memory else "needs h5py"
        raise ImportError(said)

    monkeypatch.setattr(workers, "measure", failing)
    found = workers._measured(None)
    if needs_memory:
        assert isinstance(found, MemoryError)
        assert "finished cells are kept" in str(found)
    else:
        assert (found["status"], found["reason"]) == ("not run", "needs h5py")


def test_a_method_that_fails_has_its_reason_in_the_cell():
    case = EXPERIMENTS["genotype"](True).cases[0]
    entry = Entry("MC on Graphs", "MC on Graphs", {"memory_limit": 10})
    result = measure(Cell("genotype", case, entry, 0, True))
    assert result["status"] == "failed"
    assert "memory" in result["reason"]


def test_data_that_are_not_there_are_named_in_the_cell(tmp_path, monkeypatch):
    monkeypatch.setenv("BMCG_DATA", str(tmp_path))
    case = EXPERIMENTS["genotype"](False).cases[0]
    result = measure(Cell("genotype", case, Entry("KPMF", "KPMF"), 0, False))
    assert result["status"] == NOT_RUN
    assert "chr22.mat" in result["reason"]


def test_unknown_names_are_refused_before_any_work(tmp_path):
    with pytest.raises(ValueError, match="choose one of recommendation"):
        run_bench("tables", request(tmp_path), quiet)
    with pytest.raises(ValueError, match="--methods SVD: choose from BMCG"):
        run_bench("genotype", request(tmp_path, methods=("SVD",)), quiet)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("pattern", [True, False])
def test_only_where_the_pattern_says_something_is_it_a_feature(pattern):
    data = graph_low_rank(rank=2, shape=(20, 15), observed=0.5)
    ours, paper = bmcg_entries()
    assert ours.pattern
    assert not paper.pattern
    ours = replace(ours, params={**ours.params, "posterior": "variational"})
    model, _ = fitted(ours, data, seed=0, quick=True, pattern=pattern)
    assert model.posterior_ == ("joint" if pattern else "column")
    assert ("features" in model.graph_weights_["cols"]) == pattern


def test_ratings_alone_offer_their_pattern():
    offered = {name: {c.pattern for c in make(False).cases} for name, make in EXPERIMENTS.items()}
    assert {name for name, found in offered.items() if True in found} == {"recommendation"}


@pytest.mark.parametrize(
    ("status", "reason", "seconds", "stands"),
    [
        ("ok", None, 10.0, True),
        ("not run", "time", 10.0, False),
        ("failed", "stopped after 600 s", 600.0, True),
        ("failed", "stopped after 600 s", 601.0, False),
        ("failed", "needs too much memory: 600 s", 1e9, True),
    ],
)
def test_a_stopped_cell_is_measured_again_when_it_may_take_longer(status, reason, seconds, stands):
    assert finished({"status": status, "reason": reason}, seconds) is stands
    assert measuring.stopped(600.4)["reason"] == "stopped after 600 s"
