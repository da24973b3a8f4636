"""Tables of strangers: labels are text, whatever they look like, and headers may be giant."""

from __future__ import annotations

import csv

import numpy as np
import pytest

from ..cli.conftest import DENSE, FIT, call, refused
from .verdict import in_time

LABELS = (
    "=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "-2+3", "../../escaped", "/etc/passwd", "a/../b",
    "C:\\x", "$(touch x)", "`id`", "%s%n", "..", "nul", "{0}",
)  # fmt: skip


@pytest.fixture
def table(tmp_path):
    """Labels that other programs would run, open or expand, in a folder of their own."""
    rng = np.random.default_rng(0)
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    with open(folder / "in.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["user", "item", "rating"])
        for user in LABELS:
            for item in rng.permutation(LABELS)[:8]:
                writer.writerow([user, item, round(float(rng.standard_normal()), 3)])
    return folder


def test_labels_are_text_and_lead_nowhere(table, tmp_path):
    model, out, whole = table / "m.safetensors", table / "p.csv", table / "w.csv"
    assert call("fit", table / "in.csv", *FIT, *DENSE, "-o", model).code == 0
    assert call("predict", model, table / "in.csv", "-o", out).code == 0
    assert call("complete", model, "-o", whole).code == 0
    with open(out, newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    with open(table / "in.csv", newline="", encoding="utf-8") as file:
        given = list(csv.DictReader(file))
    for name in ("user", "item", "rating"):
        assert [line[name] for line in read] == [line[name] for line in given]
    with open(whole, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert {line[0] for line in lines[1:]} == set(lines[0][1:]) == set(LABELS)
    files = {path.relative_to(table).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {"in.csv", "m.safetensors", "p.csv", "w.csv"}


@pytest.mark.parametrize("n", [50_000, 500_000])
def test_giant_headers_of_tables_are_refused_in_a_line(tmp_path, n):
    path = tmp_path / "in.csv"
    names = ",".join(f"c{i}" for i in range(n))
    path.write_text(f"{names}\n{'1,' * (n - 1)}1\n", encoding="utf-8")
    for command in (("fit", *FIT), ("predict", tmp_path / "no.safetensors")):
        with in_time(20):
            said = refused(*command, path, "-o", tmp_path / "out.csv")
        assert len(said) < 2_000


def test_a_table_that_is_too_wide_for_text_is_told_of_the_other_format(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text(",".join(f"column {i}" for i in range(200_000)) + "\n", encoding="utf-8")
    assert "make a Parquet table" in refused("fit", path, *FIT, "-o", tmp_path / "m.safetensors")
