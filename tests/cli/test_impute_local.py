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
