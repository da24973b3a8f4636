"""The page says what the model holds, warns where it should, and stands on its own."""

from __future__ import annotations

import base64
import copy
import json
import re
import shutil
import subprocess
import warnings
from html import unescape

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from typer.testing import CliRunner

from bmcg import BMCG, load_model
from bmcg.cli.app import app
from bmcg.graphs import chain_graph, knn_graph
from bmcg.metrics import coverage, rmse
from bmcg.report import Entries, find, render

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

M, N = 24, 18
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    X = np.outer(np.sin(np.arange(M) / 4), np.cos(np.arange(N) / 3)) + 0.5
    X = X + 0.1 * rng.standard_normal((M, N))
    hidden = rng.random((M, N)) < 0.4
    hidden[3] = True
    noise = knn_graph(rng.standard_normal((M, 3)), n_neighbors=3)
    graphs = {"rows": {"chain": chain_graph(M), "noise": noise}, "cols": chain_graph(N)}
    settings = {"engine": "dense", "bias": False, "random_state": 0, "n_jobs": 1}
    seen = np.where(hidden, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = BMCG(**settings, max_sweeps=40, tol=0.0).fit(seen, graphs["rows"], graphs["cols"])
        bare = BMCG(**settings, max_sweeps=40, tol=0.0).fit(seen)
    rows, cols = np.nonzero(hidden)
    return model, bare, Entries(rows, cols, X[hidden])


def test_numbers_are_those_of_the_metrics(case):
    model, _, test = case
    found = {n.name: n.value for n in find(model, test).numbers}
    mean = model.predict(test.rows, test.cols)
    low, high = model.predict_interval(test.rows, test.cols, 0.9)
    assert found["held-out error"] == f"{rmse(test.values, mean):.4g}"
    assert found["90 % intervals hold"] == f"{100 * coverage(test.values, low, high):.1f} %"
    assert found["rank"] == str(model.rank_)
    assert found["noise"] == f"{model.noise_std_:.4g}"


def test_without_held_out_entries_the_page_says_what_is_missing(case):
    first = find(case[0]).numbers[0]
    assert first.name == "explained"
    assert "--test" in first.note


def test_a_fit_that_did_not_converge_and_cold_rows_are_warned_of(case):
    said = " ".join(find(case[0]).warnings)
    assert "before the bound settled" in said
    assert f"1 of {M} rows have no observation. The graph alone" in said
    alone = " ".join(find(case[1]).warnings)
    assert "no edge either" in alone


def test_a_graph_that_is_turned_off_is_warned_of(case):
    model = case[0]
    weights = model.graph_weights_["rows"]
    off = weights["noise"]._replace(share=0.001)
    changed = copy.copy(model)
    changed.graph_weights_ = {**model.graph_weights_, "rows": {**weights, "noise": off}}
    assert any("'noise' is as good as not used" in line for line in find(changed).warnings)
    assert not any("'chain' is as good as not used" in line for line in find(changed).warnings)


def test_the_comparison_without_graphs_gives_both_errors(case):
    model, bare, test = case
    said = " ".join(find(model, test, bare).graphs)
    for one in (model, bare):
        assert f"{rmse(test.values, one.predict(test.rows, test.cols)):.4g}" in said
    assert any("do not help" in line for line in find(bare, test, model).warnings)
    assert not any("do not help" in line for line in find(model, test, bare).warnings)
    assert any("would tell" in line for line in find(model, None, bare).graphs)


def test_a_difference_that_chance_explains_does_not_speak_against_the_graphs(case):
    model, bare, test = case
    first, second = (one.predict(test.rows, test.cols) for one in (model, bare))
    # Halfway between the two, and as often nearer to the one as to the other.
    nearer = np.random.default_rng(0).uniform(0.0, 1.0, len(first))
    even = test._replace(values=first + nearer * (second - first))
    assert rmse(even.values, first) != rmse(even.values, second)
    for one, other in ((model, bare), (bare, model)):
        assert not any("do not help" in line for line in find(one, even, other).warnings)


@pytest.fixture(scope="module")
def page(case):
    model, bare, test = case
    return render(model, find(model, test, bare), title="A <b>model</b>")


def test_the_page_stands_on_its_own(page):
    assert "<script" not in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page)
    assert "A &lt;b&gt;model&lt;/b&gt;" in page
    assert 'name="viewport"' in page


def test_every_figure_is_a_picture_with_a_name(page):
    found = re.findall(r'<img alt="([^"]+)" src="data:image/png;base64,([^"]+)"', page)
    assert len(found) == 8
    for _, data in found:
        assert base64.b64decode(data).startswith(b"\x89PNG")


def test_the_command_writes_the_page(case, tmp_path):
    model, _, test = case
    model.save(tmp_path / "m.safetensors")
    lines = [f"{r},{c},{v}" for r, c, v in zip(*test, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(["row,col,x", *lines]))
    command = ["report", str(tmp_path / "m.safetensors"), "-o", str(tmp_path / "r.html")]
    asked = ["--test", str(tmp_path / "t.csv")]
    ended = CliRunner().invoke(app, [*command, *asked])
    assert (ended.exit_code, ended.stderr) == (
        1,
        "error: pass --value NAME, the column with the values\n",
    )
    ended = CliRunner().invoke(app, [*command, *asked, "--value", "x"])
    assert ended.exit_code == 0, ended.stderr
    text = unescape((tmp_path / "r.html").read_text())
    assert find(load_model(tmp_path / "m.safetensors"), test).numbers[0].value in text
    ended = CliRunner().invoke(app, command)
    assert "exists already" in ended.stderr


MEASURE = """<script>
addEventListener("load", () => {
  const page = document.documentElement, images = [...document.images].map(i => i.naturalWidth);
  parent.postMessage({images, wide: page.scrollWidth, seen: innerWidth}, "*");
});
</script></body>"""
# A window has a least width, a frame has none.
FRAME = """<!doctype html><link rel="icon" href="data:,"><body><script>
addEventListener("message", e => {
  document.documentElement.dataset.found = JSON.stringify(e.data);
});
</script><iframe src="page.html" width="%d" height="900" style="border:0"></iframe>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_the_page_without_errors_or_sideways_scrolling(page, width, tmp_path):
    (tmp_path / "page.html").write_text(page.replace("</body>", MEASURE), encoding="utf-8")
    (tmp_path / "frame.html").write_text(FRAME % width)
    quiet = ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    ended = subprocess.run(
        [
            str(CHROMIUM),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            *quiet,
            f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr",
            "--window-size=1400,1000",
            "--virtual-time-budget=10000",
            "--dump-dom",
            (tmp_path / "frame.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "CONSOLE" not in ended.stderr
    found = json.loads(unescape(re.search(r'data-found="([^"]+)"', ended.stdout)[1]))
    assert len(found["images"]) == 8
    assert min(found["images"]) > 300
    assert found["wide"] <= found["seen"] == width
