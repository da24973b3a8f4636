"""`bmcg fit --implicit`: clicks in, lists out."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg import load_model

from .conftest import call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

SMALL = ("--row", "user", "--col", "item", "--rank", 4, "--max-sweeps", 10)


@pytest.fixture
def clicks(tmp_path):
    """Users of two kinds; some click on an item again."""
    rng = np.random.default_rng(0)
    likes = (np.arange(40)[:, None] % 2) == (np.arange(30) % 2)
    lines = [
        f"u{i},i{j}" for i, j in np.argwhere(rng.random((40, 30)) < np.where(likes, 0.4, 0.03))
    ]
    lines += lines[::5]
    path = tmp_path / "clicks.csv"
    path.write_text("\n".join(["user,item", *rng.permutation(lines)]) + "\n")
    return path, len(set(lines))


def test_clicks_need_no_values_and_repeated_ones_are_counted(clicks, tmp_path):
    path, n = clicks
    ended = call("fit", path, *SMALL, "--implicit", "-o", tmp_path / "m")
    assert ended.code == 0, ended.err
    model = load_model(tmp_path / "m")
    assert model.missing == "weak-zero"
    assert len(model.seen_.indices) == n
    told = call("info", tmp_path / "m").out
    assert "every pair a zero of weight" in told
    assert "mean square explained" not in told
    whom = [part for i in range(0, 40, 3) for part in ("--for", f"u{i}")]
    listed = call("recommend", tmp_path / "m", *whom, "-n", 4).out.splitlines()[1:]
    kinds = [[int(word[1:]) % 2 for word in line.split()[:2]] for line in listed]
    assert np.mean([user == item for user, item in kinds]) > 0.7


def test_counts_may_be_a_column(clicks, tmp_path):
    path, n = clicks
    lines = sorted(set(path.read_text().splitlines()[1:]))
    table = tmp_path / "counts.csv"
    table.write_text("\n".join(["user,item,plays", *(f"{line},3" for line in lines)]) + "\n")
    command = ("fit", table, *SMALL, "--implicit", "--value", "plays", "-o", tmp_path / "m")
    assert call(*command).code == 0
    assert len(load_model(tmp_path / "m").seen_.indices) == n


def test_someone_new_is_folded_in_without_values(clicks, tmp_path):
    path, _ = clicks
    assert call("fit", path, *SMALL, "--implicit", "-o", tmp_path / "m").code == 0
    new = tmp_path / "new.csv"
    new.write_text("user,item\nn1,i1\nn1,i5\nn1,i7\nn1,i5\n")
    ended = call("fold-in", tmp_path / "m", new, "-o", tmp_path / "n")
    assert ended.code == 0, ended.err
    listed = call("recommend", tmp_path / "n", "--for", "n1", "-n", 4).out.splitlines()[1:]
    assert sum(int(line.split()[1][1:]) % 2 for line in listed) >= 3


def test_without_the_flag_values_are_asked_for(clicks, tmp_path):
    assert "--value" in refused("fit", clicks[0], *SMALL, "-o", tmp_path / "m")


def test_all_ones_without_the_flag_name_the_way_out(clicks, tmp_path):
    path, _ = clicks
    lines = sorted(set(path.read_text().splitlines()[1:]))
    table = tmp_path / "ones.csv"
    table.write_text("\n".join(["user,item,seen", *(f"{line},1" for line in lines)]) + "\n")
    command = ("fit", table, *SMALL, "--value", "seen", "--posterior", "row", "-o", tmp_path / "m")
    assert "--implicit" in call(*command).err
