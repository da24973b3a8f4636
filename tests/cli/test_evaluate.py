"""`bmcg evaluate`: from a table to figures, a table and a picture."""

from __future__ import annotations

import csv

import pytest

from bmcg.evaluation import LIST_MEASURES, VALUE_MEASURES

from .conftest import call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

LONG = ("--row", "user", "--col", "item", "--value", "rating", "--jobs", 1)
QUICK = "BMCG:posterior=row,max_sweeps=5,rank=2"


def test_methods_stand_side_by_side_in_table_and_picture(ratings, tmp_path):
    ended = call(
        "evaluate", ratings, *LONG, "--model", QUICK, "--model", "LMaFit:rank=2", "--at", 3,
        "--split", "folds", "--folds", 2,
        "-o", tmp_path / "found.csv", "--picture", tmp_path / "found.png",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0].split("|")[1].strip() == "model"
    assert "ndcg@3" in lines[0]
    assert QUICK in lines[2]
    assert "LMaFit:rank=2" in lines[3]
    with (tmp_path / "found.csv").open() as file:
        found = list(csv.DictReader(file))
    assert len(found) == 2 * 2 * (len(VALUE_MEASURES) + len(LIST_MEASURES) + 1)
    assert (tmp_path / "found.png").read_bytes()[:4] == b"\x89PNG"


def test_the_latest_entries_are_held_out(ratings, tmp_path):
    lines = ratings.read_text().splitlines()
    dated = tmp_path / "dated.csv"
    days = [f"{line},2024-01-{1 + n % 28:02d}" for n, line in enumerate(lines[1:])]
    dated.write_text("\n".join([f"{lines[0]},day", *days]) + "\n")
    ended = call("evaluate", dated, *LONG, "--model", QUICK, "--split", "time", "--when", "day")
    assert ended.code == 0, ended.err
    assert "rmse" in ended.out


def test_clicks_are_judged_by_lists_alone(ratings):
    ended = call(
        "evaluate", ratings, "--row", "user", "--col", "item", "--implicit", "--split", "rows",
        "--leave", 1, "--model", QUICK, "--jobs", 1,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "hit_rate@10" in ended.out
    assert "rmse" not in ended.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--model", "SVD"), "there is no 'SVD'; choose of BMCG"),
        (("--model", "BMCG:ranks=3"), "'ranks=3' is no SETTING=VALUE of BMCG"),
        (("--split", "time"), "--when NAME"),
        (("--leave", 2), "--leave goes with --split rows"),
        (("--split", "folds", "--share", 0.1), "pass --folds K"),
        (("--share", 1.5), "share=1.5"),
        (("--picture", "found.txt"), "use one of .png"),
        (("--split", "time", "--when", "day"), "day"),
        (("--split", "time", "--when", "item"), "--when item: "),
        (("--model", "BMCG:rank=2,rank=3"), "rank is set twice"),
        (("--col", "user"), "--row and --col name one column, user"),
        (("--value", "item"), "--value and a side name one column, item"),
    ],
)
def test_what_makes_no_sense_is_refused(ratings, options, words):
    assert words in refused("evaluate", ratings, *LONG, *options)
