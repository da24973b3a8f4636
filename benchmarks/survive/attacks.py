"""Kills, full disks and short memory, each in a process forked from one where all is compiled."""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from bmcg.cli.app import app

from .jobs import JOBS, agrees

PAGE = os.sysconf("SC_PAGE_SIZE")
Limit = Callable[[], None]


def nothing() -> None:
    """No limit."""


def child(arguments: tuple[str, ...], folder: Path, limit: Limit) -> int:
    """Fork a process that runs a command; its error output goes to a file."""
    errors = folder.parent / f"{folder.name}.stderr"
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.setpgid(0, 0)
        os.chdir(folder)
        sys.stderr = open(errors, "w", encoding="utf-8")  # noqa: SIM115
        # A worker of a benchmark begins where all is imported too.
        fork = multiprocessing.get_context("fork")
        multiprocessing.get_context = lambda method=None: fork  # type: ignore[assignment]
        limit()
        with contextlib.redirect_stdout(io.StringIO()):
            code = int(app(list(arguments), prog_name="bmcg", standalone_mode=False) or 0)
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:
        code = getattr(error, "exit_code", 70)
        with contextlib.suppress(BaseException):
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(code)


def finished(pid: int) -> int:
    """Exit code, negative for a signal."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


@contextlib.contextmanager
def fresh(inputs: Path) -> Iterator[Path]:
    """A folder with the inputs of the commands."""
    with tempfile.TemporaryDirectory(dir=inputs.parent) as base:
        folder = Path(base) / "work"
        shutil.copytree(inputs, folder)
        yield folder


def seen(folder: Path, name: str, inputs: Path, truth: dict[str, Any], whole: bool) -> str:
    """What is wrong with the files that can be seen, "" where nothing is."""
    job = JOBS[name]
    known = {p.name for p in inputs.iterdir()} | {*job.outputs, *job.own}
    stray = [p.name for p in folder.iterdir() if p.name not in known and p.name[0] != "."]
    if stray:
        return f"stray file {stray[0]}"
    for output in job.outputs:
        path = folder / output
        if path.exists():
            try:
                if not agrees(path, truth[output], whole):
                    return f"half file {output}"
            except Exception as error:
                return f"broken file {output}: {type(error).__name__}"
        elif whole:
            return f"no {output}"
    return ""


def killed(
    name: str, inputs: Path, truth: dict[str, Any], seconds: float, r: random.Random
) -> tuple[str, float]:
    """Kill a command at a random moment, look, and give it again.

    Returns the verdict and the seconds of the second run, from which the next moment is drawn.
    """
    job = JOBS[name]
    with fresh(inputs) as folder:
        pid = child(job.arguments, folder, nothing)
        time.sleep(r.uniform(0.0, seconds))
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        code = finished(pid)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        wrong = seen(folder, name, inputs, truth, whole=code == 0)
        began = time.monotonic()
        again = finished(child((*job.arguments, *job.again), folder, nothing))
        took = time.monotonic() - began
        lost = f"exit {again}" if again else seen(folder, name, inputs, truth, whole=True)
    if wrong or lost:
        return wrong or f"lost: {lost}", took
    return ("ended before" if code == 0 else "killed"), took


def starved(
    name: str, inputs: Path, truth: dict[str, Any], limit: Limit, folder: Path
) -> tuple[str, str]:
    """Run a command under a limit: done, refused in one line, or something worse."""
    pid = child(JOBS[name].arguments, folder, limit)
    code = finished(pid)
    said = (folder.parent / f"{folder.name}.stderr").read_text("utf-8", "replace").strip()
    wrong = seen(folder, name, inputs, truth, whole=code == 0)
    own = JOBS[name].own
    left = [p.name for p in folder.iterdir() if p.name.startswith(".") and p.name not in own]
    last = said.splitlines()[-1] if said else ""
    if wrong or left:
        # Folders are those of one machine.
        return wrong or f"left {left[0]}", re.sub(r"/\S*/", "", last)[:300]
    if code == 0:
        return "done", ""
    return ("refused" if code == 1 and last.startswith("error: ") else f"ended {code}"), last[:300]


def file_limit(length: int) -> Limit:
    """No file longer than so many bytes."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (length, length))

    return limit


def memory_limit(spare: int) -> Limit:
    """No more memory than what the process has, and so many bytes."""

    def limit() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        resource.setrlimit(resource.RLIMIT_AS, (pages * PAGE + spare, pages * PAGE + spare))

    return limit


@contextlib.contextmanager
def small_disk(inputs: Path, spare: int) -> Iterator[Path | None]:
    """A disk of its own with the inputs and so many bytes more; None where none can be made."""
    used = sum(-(-p.stat().st_size // PAGE) * PAGE for p in inputs.iterdir())
    with tempfile.TemporaryDirectory(dir=inputs.parent) as base:
        folder = Path(base) / "disk"
        folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={used + spare}", "tmpfs", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            yield None
            return
        try:
            for path in inputs.iterdir():
                shutil.copy(path, folder / path.name)
            yield folder
        finally:
            subprocess.run(["umount", str(folder)], check=True)
