"""Files as users have them, and the command as users call it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

from bmcg.cli.app import app

COLUMNS = ("--row", "user", "--col", "item", "--value", "rating")
# A variational fit, which is quick; what is said of defaults leaves the posterior out.
FIT = (*COLUMNS, "--max-sweeps", "20", "--posterior", "variational")
# The same for tables that are filled, of which no question is asked.
FILL = ("--posterior", "column", "--scale", "no")
# LAPACK needs no compilation, which would dominate these tests.
DENSE = ("--engine", "dense")


class Ended(NamedTuple):
    code: int
    out: str
    err: str


def call(*arguments: object, stdin: bytes | None = None) -> Ended:
    """Run the command in this process."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], stdin, prog_name="bmcg")
    return Ended(result.exit_code, result.stdout, result.stderr)


def refused(*arguments: object, stdin: bytes | None = None) -> str:
    """Run a command that must end with a one-line message, and return the message."""
    code, _, err = call(*arguments, stdin=stdin)
    assert code == 1, err
    lines = err.strip().splitlines()
    assert len(lines) == 1, err
    assert lines[0].startswith("error: ")
    return lines[0]


def lines_of_ratings() -> list[str]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 8))
    return [
        f"{user + 1},i{item:02d},{X[user, item]:.6f}"
        for user in range(12)
        for item in range(8)
        if rng.random() < 0.7
    ]


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["user,item,rating", *lines_of_ratings()]) + "\n")
    return path


@pytest.fixture(scope="session")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model fitted once, for the tests that only read it."""
    folder = tmp_path_factory.mktemp("model")
    data = folder / "ratings.csv"
    data.write_text("\n".join(["user,item,rating", *lines_of_ratings()]) + "\n")
    ended = call("fit", data, *FIT, "-o", folder / "model.safetensors")
    assert ended.code == 0, ended.err
    return folder / "model.safetensors"


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    path = tmp_path / "pairs.csv"
    path.write_text("item,user,note\ni03,7,007\ni00,1,x\n")
    return path
