"""`bmcg bench` as users call it."""

from __future__ import annotations

from typer.testing import CliRunner

from bmcg.bench import NAMES
from bmcg.cli.app import app
from bmcg.cli.bench import Bench


def test_the_command_offers_every_bench_and_all():
    assert {name.value for name in Bench} == {*NAMES, "all"}


def test_the_prior_figures_are_written_where_asked(tmp_path):
    result = CliRunner().invoke(app, ["bench", "priors", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    names = {path.name for path in tmp_path.iterdir()}
    assert {"priors.md", "priors.parquet", "priors-density.svg", "priors-response.png"} <= names


def test_an_unknown_method_ends_with_one_line_and_the_way_out(tmp_path):
    result = CliRunner().invoke(app, ["bench", "genotype", "--methods", "SVD", "--quick",
                                      "--out", str(tmp_path)])  # fmt: skip
    assert result.exit_code == 1
    assert "choose from BMCG, MC on Graphs" in result.output
