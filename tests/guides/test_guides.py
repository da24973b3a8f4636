"""Every block of the guides runs, in order, in an empty folder."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from ..cli.conftest import call

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(language: str, code: str, capfd: pytest.CaptureFixture[str]) -> str:
    """What a block prints; this process has compiled and loaded everything."""
    capfd.readouterr()
    if language == "python":
        exec(compile(code, "<guide>", "exec"), {})
        return capfd.readouterr().out
    said = ""
    for line in code.strip().splitlines():
        if line.startswith("bmcg "):
            ended = call(*shlex.split(line)[1:])
            assert ended.code == 0, f"{line}\n{ended.out}\n{ended.err}"
            said += ended.out + ended.err
        else:
            subprocess.run(["bash", "-euo", "pipefail", "-c", line], check=True)
    return said + capfd.readouterr().out


def blocks(name: str) -> list[tuple[str, str]]:
    found = BLOCK.findall((GUIDES / f"{name}.md").read_text())
    assert {language for language, _ in found} <= {"python", "bash", "text"}
    return found


def words(text: str) -> set[str]:
    """Words of an output; figures differ in their last digits from machine to machine."""
    return set(re.findall(r"[A-Za-z_]{2,}", text))


@pytest.mark.parametrize(
    "name", ["recommending", "genotypes", "inpainting", "sensors", "single-cell", "scikit-learn"]
)
def test_every_block_of_a_guide_runs_and_says_what_is_shown(
    name, tmp_path, monkeypatch, capfd, request
):
    monkeypatch.chdir(tmp_path)
    if name == "scikit-learn":
        # A dozen default fits, of which the page shows figures alone.
        request.getfixturevalue("short_fits")
    skipped = []
    printed: str | None = ""
    for language, code in blocks(name):
        needs = re.match(r"# needs (\w+)\n", code)
        if language == "text":
            assert printed is None or words(printed) == words(code)
        elif needs and shutil.which(needs.group(1)) is None:
            skipped.append(needs.group(1))
            printed = None
        else:
            printed = run(language, code, capfd)
    if skipped:
        pytest.skip(f"all but the blocks that need {', '.join(skipped)}, which is not installed")


def test_every_way_to_use_a_model_has_a_guide():
    text = "".join(path.read_text() for path in GUIDES.glob("*.md"))
    for command in ("bmcg recommend", "bmcg impute", "bmcg inpaint", "fold_in", "update"):
        assert command in text
