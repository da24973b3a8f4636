"""Every code block of the README and of the documentation's pages for users runs."""

from __future__ import annotations

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from typer.testing import CliRunner

from bmcg.cli.app import app
from bmcg.graphs import chain_graph

ROOT = Path(__file__).parent.parent
PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))


METHODS = sorted(f"docs/methods/{path.name}" for path in (ROOT / "docs/methods").glob("*.md"))


def blocks(language, pages=PAGES):
    """Each block once: what two pages show alike need not run twice."""
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    found = {}
    for page in pages:
        for i, block in enumerate(pattern.findall((ROOT / page).read_text())):
            found.setdefault(block, f"{page}:{i}")
    return [pytest.param(block, id=where) for block, where in found.items()]


def write_files(folder):
    """The files that the examples name, with labels as they come: in no order, and not sorted."""
    rng = np.random.default_rng(0)
    users, items = (7, 12, 1, 30, 2, 11, 4, 3, 9, 21, 8, 5), ("dune", "alien", "m10", "m9", "emma")
    X = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 5))
    entries = [
        f"{u},{i},{x:.3f}"
        for u, r in zip(users, X, strict=True)
        for i, x in zip(items, r, strict=True)
    ]
    write_lines(folder / "ratings.csv", "user,item,rating", *entries[::2])
    write_lines(folder / "more.csv", "item,user,rating", "emma,30,1.5", "dune,99,0.5")
    write_lines(folder / "new-users.csv", "item,user,rating", "m9,eve,1", "dune,bob,-1")
    write_lines(folder / "pairs.csv", "item,user", "m10,1", "emma,2")
    write_lines(folder / "held-out.csv", "user,item,rating", *entries[1::2])
    write_lines(folder / "friends.csv", "a,b", "12,7", "7,3")
    write_lines(folder / "friends-of-new.csv", "who,whom", "carol,30", "carol,1")
    write_lines(folder / "similar.csv", "a,b,weight", "m9,alien,2.0", "dune,emma,0.5")
    years = [f"{item},{1980 + 7 * j},{'ab'[j % 2]}" for j, item in enumerate(items)]
    write_lines(folder / "items.csv", "item,year,kind", *years[::-1])
    write_lines(folder / "users.csv", "user", "30", "2")
    write_lines(folder / "in-stock.csv", "item", "m9", "dune", "alien")
    write_lines(folder / "bought.csv", "item,user", "dune,30")
    sp.save_npz(folder / "similar.npz", chain_graph(5))
    hours = [
        "\t".join([f"2024-03-01T{h:02d}:00+01:00", *(f"{x:.3f}" for x in X[h])]) for h in range(12)
    ]
    write_lines(folder / "sensors.tsv", "hour\td\ta\tc\tb\te", *hours)
    write_lines(folder / "pipes.csv", "from,to", "d,a", "a,b", "b,c")
    german = [line.replace("T", " ").replace("\t", ";").replace("+01:00", "") for line in hours]
    dates = [f"{line[8:10]}.{line[5:7]}.{line[:4]}{line[10:]}" for line in german]
    write_lines(folder / "messwerte.csv", "stunde;d;a;c;b;e", *dates)


def write_lines(path, *lines):
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.usefixtures("short_fits")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("code", blocks("python"))
def test_python_example_runs(code):
    exec(compile(code, "example", "exec"), {"__name__": "example"})


@pytest.mark.parametrize("code", blocks("python", METHODS))
@pytest.mark.filterwarnings("ignore")
def test_example_of_a_method_runs(code):
    """These pages show the call alone; the matrix and its graphs are whatever the reader has."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 16))
    hidden = rng.random(X.shape) < 0.4
    rows, cols = np.nonzero(hidden)
    users, items = chain_graph(20), chain_graph(16)
    given = {"rows": rows, "cols": cols, "users": users, "items": items, "graph": users}
    exec(compile(code, "example", "exec"), {**given, "X": np.where(hidden, np.nan, X)})


def test_no_page_has_code_that_no_test_runs():
    """Guides have their own test; blocks of other languages are no code to run."""
    tested = {*PAGES, *METHODS, "CONTRIBUTING.md"}
    for path in (ROOT / "docs").rglob("*.md"):
        page = path.relative_to(ROOT).as_posix()
        if page in tested or page.startswith(("docs/guides/", "docs/_build/", "docs/gallery/")):
            continue
        assert not re.search(r"^```(python|console|bash)", path.read_text(), re.MULTILINE), page


FIT = "bmcg fit ratings.csv --row user --col item --value rating -o model.safetensors"


@pytest.mark.usefixtures("short_fits")
@pytest.mark.parametrize("block", blocks("console"))
def test_console_example_runs(block, tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = [line[2:] for line in block.replace("\\\n", " ").splitlines()]
    if "model.safetensors" in block and "bmcg fit" not in block:
        commands.insert(0, FIT)
    for command in commands:
        piped = b""
        for part in command.split(" | "):
            piped = check(shlex.split(part, comments=True), piped)


def check(words, piped=b""):
    """Run a command of an example, or see that it could be run; what it prints."""
    if "=" in words[0]:
        # A setting of the environment, as for a bench that needs downloaded data and hours:
        # the command has to exist, it is not run.
        assert CliRunner().invoke(app, [words[2], "--help"]).exit_code == 0
    elif words[:2] == ["bmcg", "bench"]:
        # Minutes even when quick; tests/bench runs the command.
        assert CliRunner().invoke(app, ["bench", "--help"]).exit_code == 0
    elif words[0] == "bmcg":
        dense = ["--engine=dense"] * (words[1] == "fit" and not any("features" in w for w in words))
        ended = CliRunner().invoke(app, [*words[1:], *dense], piped)
        assert ended.exit_code == 0, ended.stderr
        return ended.stdout_bytes
    elif words[0] in ("cat", "head", "sort", "cut"):
        return subprocess.run(words, input=piped, capture_output=True, check=True).stdout
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    else:
        assert words[:4] == ["python", "-m", "pip", "install"]
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert set(re.findall(r"\[(\w+)\]", words[4])) <= set(project["optional-dependencies"])
    return b""


def test_every_command_is_named_where_a_reader_looks():
    commands = [command.name or command.callback.__name__ for command in app.registered_commands]
    for page in ("README.md", "CHANGELOG.md", "docs/command-line.md"):
        text = (ROOT / page).read_text()
        assert [c for c in commands if f"`{c}`" not in text and f"bmcg {c}" not in text] == [], page


def test_every_guide_is_linked_where_a_reader_looks():
    for page, folder in (("README.md", "docs/guides"), ("docs/index.md", "guides")):
        text = (ROOT / page).read_text()
        for guide in (ROOT / "docs/guides").glob("*.md"):
            assert f"({folder}/{guide.name})" in text, (page, guide.name)


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


def test_version_is_the_same_everywhere():
    import bmcg

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == bmcg.__version__
    assert f"version: {bmcg.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {bmcg.__version__}" in (ROOT / "CHANGELOG.md").read_text()
