"""Every code block of the README and of the documentation's pages for users runs."""

from __future__ import annotations

import re
import shlex
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
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.MULTILINE | re.DOTALL)
    return [
        pytest.param(found, id=f"{page}:{i}")
        for page in pages
        for i, found in enumerate(pattern.findall((ROOT / page).read_text()))
    ]


def write_files(folder):
    """The files that the examples name."""
    rng = np.random.default_rng(0)
    users, items = range(1, 13), ("alien", "brazil", "clue", "dune", "emma")
    X = rng.standard_normal((12, 2)) @ rng.standard_normal((2, 5))
    entries = [
        f"{u},{i},{x:.3f}"
        for u, r in zip(users, X, strict=True)
        for i, x in zip(items, r, strict=True)
    ]
    (folder / "ratings.csv").write_text("\n".join(["user,item,rating", *entries[::2]]))
    (folder / "pairs.csv").write_text("user,item\n1,dune\n2,emma\n")
    (folder / "held-out.csv").write_text("\n".join(["user,item,rating", *entries[1::2]]))
    (folder / "friends.csv").write_text("a,b\n1,2\n2,3\n")
    (folder / "similar.csv").write_text("a,b,weight\nalien,dune,2.0\nclue,emma,0.5\n")
    sp.save_npz(folder / "similar.npz", chain_graph(5))
    hours = "\n".join("\t".join([str(h), *(f"{x:.3f}" for x in X[h])]) for h in range(12))
    (folder / "sensors.tsv").write_text("hour\ta\tb\tc\td\te\n" + hours)


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


@pytest.mark.parametrize("block", blocks("console"))
def test_console_example_runs(block, tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    commands = [line[2:] for line in block.replace("\\\n", " ").splitlines()]
    if "predict" in block and "bmcg fit" not in block:
        commands.insert(
            0, "bmcg fit ratings.csv --row user --col item --value rating -o model.safetensors"
        )
    for command in commands:
        check(shlex.split(command, comments=True))


def check(words):
    if "=" in words[0]:
        # A setting of the environment, as for a bench that needs downloaded data and hours:
        # the command has to exist, it is not run.
        assert CliRunner().invoke(app, [words[2], "--help"]).exit_code == 0
    elif words[0] == "bmcg":
        ended = CliRunner().invoke(app, [*words[1:], *["--engine=dense"] * (words[1] == "fit")])
        assert ended.exit_code == 0, ended.stderr
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    else:
        assert words[:4] == ["python", "-m", "pip", "install"]
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        assert set(re.findall(r"\[(\w+)\]", words[4])) <= set(project["optional-dependencies"])


def test_links_of_the_readme_lead_somewhere():
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / target).exists(), target


def test_version_is_the_same_everywhere():
    import bmcg

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == bmcg.__version__
    assert f"version: {bmcg.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {bmcg.__version__}" in (ROOT / "CHANGELOG.md").read_text()
