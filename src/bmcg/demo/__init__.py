"""Three small cases, fitted and shown: what the package does, on data that it draws itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

REPORT = "report.html"


def run_demo(
    out: Path, *, seed: int = 0, force: bool = False, say: Callable[[str], None] = print
) -> None:
    """Fit the three cases, print what was found, write pictures and a report.

    Parameters
    ----------
    out : Path
        Folder to write to; made where it does not exist.
    seed : int
        Of everything that is drawn.
    force : bool
        Whether files of an earlier demo may be replaced.
    say : callable
        Receives each line of text.
    """
    try:
        from .pictures import draw
    except ImportError:
        raise ImportError("the demo draws with matplotlib: pip install 'bmcg[plot]'") from None
    from ..files.storage import write_atomically
    from .cases import draw_cases
    from .fits import fit_case
    from .report import html, text

    started = time.perf_counter()
    cases = draw_cases(seed)
    pictures = [out / f"{case.name}.png" for case in cases]
    prepare_folder(out, [*pictures, out / REPORT], force)
    outcomes = []
    for case, picture in zip(cases, pictures, strict=True):
        outcomes.append(fit_case(case, seed))
        draw(outcomes[-1], picture)
        say(text(outcomes[-1]) + "\n")
    page = html(outcomes, pictures, seed)
    write_atomically(out / REPORT, lambda temporary: Path(temporary).write_text(page))
    say(f"{time.perf_counter() - started:.0f} s. Pictures and {REPORT} are in {out.resolve()}")


def prepare_folder(out: Path, files: list[Path], force: bool) -> None:
    """Make the folder, and raise where files are in the way."""
    there = [file for file in files if file.exists()]
    if there and not force:
        raise FileExistsError(f"{there[0]} exists already; pass --force to replace it")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(f"cannot write to {out}: {error.strerror}") from None
