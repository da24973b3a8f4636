"""The oldest version of every dependency that pyproject.toml admits, one requirement a word."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

EXTRAS = ("plot", "data", "frames", "genetics", "anndata", "test")


def pins() -> list[str]:
    """Requirements with == in the place of >=."""
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    wanted = [*project["dependencies"]]
    for extra in EXTRAS:
        wanted += project["optional-dependencies"][extra]
    found = []
    for requirement in wanted:
        plain, _, marker = requirement.partition(";")
        if plain.startswith("bmcg[") or ("win32" in marker and sys.platform == "win32"):
            continue
        found.append(re.sub(r"\s*>=\s*", "==", plain.strip()))
    return found


if __name__ == "__main__":
    print(" ".join(pins()))
