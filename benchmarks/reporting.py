"""What every benchmark prints beside its figures, and how it writes them down."""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bmcg import __version__
from bmcg.files.storage import write_atomically

ROOT = Path(__file__).resolve().parents[1]


def _git(*arguments: str) -> str:
    found = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip()


def commit() -> str:
    """Short name of the commit, with a mark where the package differs from it."""
    name = _git("rev-parse", "--short=8", "HEAD") or "unknown"
    return name + ("+changes" if _git("status", "--porcelain", "src/bmcg") else "")


# Asked at the start: a working tree may move on while a benchmark runs.
COMMIT = commit()


def machine() -> str:
    """Version, commit and machine in one line."""
    cores = f"{os.cpu_count()} cores"
    return f"bmcg {__version__}, commit {COMMIT}, {platform.machine()}, {cores}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def write_page(path: Path, text: str) -> None:
    """Write a page in one step and say where it is."""
    write_atomically(path, lambda name: Path(name).write_text(text, encoding="utf-8"))
    print(f"written: {path}")


def replace_section(path: Path, text: str) -> None:
    """Put the text between the page's marks of generated figures; the rest stays."""
    begin, end = "<!-- figures -->\n", "<!-- end of figures -->"
    page = path.read_text(encoding="utf-8")
    head, _, tail = page.partition(begin)
    if not tail or end not in tail:
        raise ValueError(f"{path}: lacks the lines {begin.strip()!r} and {end!r}")
    write_page(path, f"{head}{begin}\n{text}\n\n{end}{tail.split(end, 1)[1]}")
