"""`bmcg impute --local` and `--keep-range`: drifting sensors, and ranges that hold."""

from __future__ import annotations

import numpy as np
import pytest

from .conftest import call


@pytest.fixture
def drifting(tmp_path):
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(120, 5)), axis=0)
    lost = rng.random(X.shape) < 0.25
    lines = ["t,a,b,c,d,e"]
    for t, (row, out) in enumerate(zip(X, lost, strict=True)):
        cells = ["" if gone else f"{x:.4f}" for x, gone in zip(row, out, strict=True)]
        lines.append(f"{t}," + ",".join(cells))
    path = tmp_path / "in.csv"
    path.write_text("\n".join(lines) + "\n")
    return path, X, lost


def test_a_drift_is_filled_from_its_own_neighbours(drifting, tmp_path):
    path, X, lost = drifting
    errors = []
    for name, more in (("with", ("--local", "rows")), ("without", ())):
        given = ("--time", "t", "--scale", "no", "--posterior", "column", "--rank", "2")
        ended = call("impute", path, *given, *more, "-o", tmp_path / f"{name}.csv")
        assert ended.code == 0, ended.err
        filled = np.genfromtxt(tmp_path / f"{name}.csv", delimiter=",", skip_header=1)[:, 1:]
        errors.append(np.sqrt(np.mean((filled - X)[lost] ** 2)))
    assert errors[0] < 0.9 * errors[1]


def test_options_of_tables_are_refused_elsewhere(drifting, tmp_path):
    path, *_ = drifting
    ended = call("impute", path, "--keep-range", "--scale", "yes", "-o", tmp_path / "o.csv")
    assert ended.code != 0
    assert "--keep-range: one range" in ended.err
    (tmp_path / "x.vcf").write_text("##fileformat=VCFv4.2\n")
    ended = call("impute", tmp_path / "x.vcf", "--local", "rows", "-o", tmp_path / "o.vcf")
    assert ended.code != 0
    assert "--local is for tables" in ended.err


def table_of_hours(path, n=150, dated=True):
    rng = np.random.default_rng(1)
    t = np.arange(n)
    X = 10 + np.sin(2 * np.pi * t / 24)[:, None] * np.arange(1, 5) + rng.normal(size=(n, 4)) / 10
    X[rng.random(X.shape) < 0.2] = np.nan
    lines = ["when,a,b,c,d"]
    for i, row in enumerate(X):
        when = f"2024-03-{1 + i // 24:02d} {i % 24:02d}:00" if dated else f"step {i}"
        lines.append(",".join([when, *("" if np.isnan(x) else f"{x:.3f}" for x in row)]))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_first_column_of_dates_is_taken_for_times(tmp_path):
    path = table_of_hours(tmp_path / "in.csv")
    quick = ("--max-sweeps", "10")
    found = call("impute", path, *quick, "-o", tmp_path / "found.csv")
    named = call("impute", path, *quick, "--time", "when", "-o", tmp_path / "named.csv")
    assert found.code == named.code == 0, found.err + named.err
    assert "column 'when' holds times" in found.err
    assert (tmp_path / "found.csv").read_bytes() == (tmp_path / "named.csv").read_bytes()


def test_days_are_asked_for_or_not(tmp_path):
    path = table_of_hours(tmp_path / "in.csv")
    ended = call("impute", path, "--days", "no", "--max-sweeps", "10", "-o", tmp_path / "o.csv")
    assert ended.code == 0, ended.err
    assert "filled, " in ended.out
    assert "days" not in ended.out.split("filled, ")[1]
    more = ("--days", "yes", "--save-model", tmp_path / "m.bmcg", "-o", tmp_path / "p.csv")
    ended = call("impute", path, *more)
    assert ended.code != 0
    assert "--days yes" in ended.err
    plain = table_of_hours(tmp_path / "plain.csv", dated=False)
    ended = call("impute", plain, "--days", "yes", "-o", tmp_path / "q.csv")
    assert ended.code != 0
    assert "pass --time" in ended.err


def test_series_are_drawn_with_their_gaps_and_bands(tmp_path):
    pytest.importorskip("matplotlib")
    path = table_of_hours(tmp_path / "in.csv")
    quick = ("--max-sweeps", "3", "--days", "no", "-o", tmp_path / "o.csv", "--force")
    for name, start in (("p.png", b"\x89PNG"), ("p.svg", b"<?xml")):
        ended = call("impute", path, *quick, "--plot", tmp_path / name, "--plot-column", "b")
        assert ended.code == 0, ended.err
        assert (tmp_path / name).read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--plot-column", "a"), "pass --plot FILE.png"),
        (("--plot", "p.csv"), "ends in .png"),
        (("--plot", "p.png", "--plot-column", "q"), "no column of numbers has that name"),
    ],
)
def test_what_cannot_be_drawn_is_said_before_the_work(tmp_path, monkeypatch, options, words):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    path = table_of_hours(tmp_path / "in.csv")
    ended = call("impute", path, *options, "-o", tmp_path / "o.csv")
    assert ended.code != 0
    assert words in ended.err
    assert not (tmp_path / "o.csv").exists()
