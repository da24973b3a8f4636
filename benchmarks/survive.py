"""Commands that are killed, that meet a full disk, and that run out of memory.

    python benchmarks/survive.py --kills 1000 --record

Each command runs in a process that is forked from one where all is imported and compiled, so that
a kill falls into its work. After a kill no half file may be visible under any name that was asked
for, and the same command, given again, must end in the same result as one that was left alone.
With a limit on the length of a file, and with less and less memory, a command must end well or
with one line that says what it could not do. Writes docs/results/survive.jsonl and its page.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bmcg.cli.app import app
from bmcg.files.storage import MODEL, read_tensors
from reporting import ROOT, machine, table, write_page

RECORD = ROOT / "docs" / "results" / "survive.jsonl"
PAGE = RECORD.with_suffix(".md")
LONG = ("--row", "user", "--col", "item", "--value", "rating")
QUICK = ("--max-sweeps", "20", "--posterior", "variational", "--seed", "0", "--jobs", "1")


def prepare(folder: Path) -> None:
    """Files that the commands read, and a model."""
    from PIL import Image

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))
    lines = [f"u{i},i{j},{X[i, j]:.4f}" for i in range(30) for j in range(20) if rng.random() < 0.6]
    head = "user,item,rating"
    (folder / "ratings.csv").write_text("\n".join([head, *lines]) + "\n")
    (folder / "more.csv").write_text("\n".join([head, "u0,new,1", "u1,new,2", "u90,i1,1"]) + "\n")
    cells = [[f"{x:.3f}" if rng.random() < 0.8 else "" for x in row] for row in X]
    titles = ",".join(f"c{j}" for j in range(20))
    (folder / "wide.csv").write_text("\n".join([titles, *map(",".join, cells)]) + "\n")
    wave = 100 + 80 * np.outer(np.sin(np.arange(24) / 4), np.cos(np.arange(24) / 5))
    Image.fromarray(wave.astype(np.uint8)).save(folder / "picture.png")
    mask = np.zeros((24, 24), dtype=np.uint8)
    mask[8:14, 9:15] = 255
    Image.fromarray(mask).save(folder / "mask.png")


# By name: arguments, names of the files it writes, and what the same command needs to go on.
COMMANDS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "fit": (
        ("fit", "ratings.csv", *LONG, *QUICK, "-o", "model.safetensors", "--checkpoint", "c.ckpt"),
        ("model.safetensors",),
        ("--resume", "--force"),
    ),
    "impute": (
        ("impute", "wide.csv", "-o", "out.csv", "--std", "std.csv", *QUICK),
        ("out.csv", "std.csv"),
        ("--force",),
    ),
    "inpaint": (
        ("inpaint", "picture.png", "--mask", "mask.png", "-o", "out.png"),
        ("out.png",),
        ("--force",),
    ),
    "update": (
        ("update", "given.safetensors", "more.csv", "--data", "ratings.csv", "--value", "rating",
         "-o", "newer.safetensors"),
        ("newer.safetensors",),
        ("--force",),
    ),
    "report": (("report", "given.safetensors", "-o", "page.html"), ("page.html",), ("--force",)),
}  # fmt: skip


def child(arguments: tuple[str, ...], folder: Path, limit: Callable[[], None]) -> int:
    """Fork a process that runs a command; its error output goes to a file."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.chdir(folder)
        errors = open(folder.parent / "stderr", "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = errors
        limit()
        with contextlib.redirect_stdout(io.StringIO()):
            app(list(arguments), prog_name="bmcg", standalone_mode=False)
        code = 0
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:
        code = getattr(error, "exit_code", 70)
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    finally:
        with contextlib.suppress(Exception):
            sys.stderr.flush()
        os._exit(code)


def finished(pid: int) -> int:
    """Exit code, negative for a signal."""
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def result(path: Path) -> Any:
    """What a file says, without the seconds that a fit took."""
    if path.suffix == ".safetensors":
        arrays, header = read_tensors(path, MODEL)
        return {name: array.tobytes() for name, array in arrays.items()}, header["shape"]
    return path.read_bytes()


def fresh(inputs: Path) -> Path:
    """A folder with the inputs of the commands."""
    folder = Path(tempfile.mkdtemp(dir=inputs.parent)) / "work"
    shutil.copytree(inputs, folder)
    return folder


def strays(folder: Path, known: set[str]) -> list[str]:
    """Files that are no input, output or hidden temporary of a killed process."""
    return [p.name for p in folder.iterdir() if p.name not in known and p.name[0] != "."]


def killed(name: str, inputs: Path, truth: dict[str, Any], seconds: float, r: random.Random) -> str:
    """Kill a command at a random moment, look, and give it again."""
    arguments, outputs, again = COMMANDS[name]
    folder = fresh(inputs)
    pid = child(arguments, folder, lambda: None)
    time.sleep(r.uniform(0, 1.1) * seconds)
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    ended = finished(pid) >= 0
    known = {p.name for p in inputs.iterdir()} | {*outputs, "c.ckpt"}
    verdict = "ended before" if ended else "killed"
    if strays(folder, known):
        verdict = "stray file"
    for output in outputs:
        if (folder / output).exists() and result(folder / output) != truth[output]:
            verdict = "half file"
    code = finished(child((*arguments, *again), folder, lambda: None))
    if code or any(result(folder / output) != truth[output] for output in outputs):
        verdict = f"lost ({code})"
    shutil.rmtree(folder.parent)
    return verdict


def starved(
    name: str, inputs: Path, truth: dict[str, Any], limit: Callable[[], None]
) -> tuple[str, str]:
    """Run a command under a limit: done, refused in one line, or something worse."""
    arguments, outputs, _ = COMMANDS[name]
    folder = fresh(inputs)
    code = finished(child(arguments, folder, limit))
    said = (folder.parent / "stderr").read_text(encoding="utf-8", errors="replace").strip()
    whole = [
        not (folder / output).exists() or result(folder / output) == truth[output]
        for output in outputs
    ]
    left = [p.name for p in folder.iterdir() if p.name.startswith(".")]
    shutil.rmtree(folder.parent)
    if not all(whole) or left:
        return "half file", said[-200:]
    if code == 0:
        return "done", ""
    last = said.splitlines()[-1] if said else ""
    return ("refused" if code == 1 and last.startswith("error: ") else f"ended {code}"), last[:200]


def file_limit(length: int) -> Callable[[], None]:
    """No file longer than so many bytes, as on a full disk."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (length, length))

    return limit


def memory_limit(spare: int) -> Callable[[], None]:
    """No more memory than what the process has, and so many bytes."""

    def limit() -> None:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + spare
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    return limit


def page(lines: list[dict[str, Any]]) -> str:
    """The page of all that was recorded."""
    kills: dict[str, Counter[str]] = {}
    limits: dict[tuple[str, str], Counter[str]] = {}
    said: list[str] = []
    for line in lines:
        if line["kind"] == "kill":
            kills.setdefault(line["command"], Counter())[line["verdict"]] += line["n"]
        else:
            limits.setdefault((line["command"], line["kind"]), Counter())[line["verdict"]] += 1
            if line["verdict"].startswith(("ended", "half")):
                where = f"{line['command']}, {line['kind']} {line['limit']:,}"
                said.append(f"- {where}: {line['verdict']} {line['said']}")
    total = sum(sum(c.values()) for c in kills.values())
    bad = sum(
        n for c in kills.values() for v, n in c.items() if v not in ("killed", "ended before")
    )
    rows = [
        [name, str(sum(c.values())), str(c["killed"]), str(c["ended before"]),
         str(c["half file"] + c["stray file"]), str(sum(n for v, n in c.items() if "lost" in v))]
        for name, c in kills.items()
    ]  # fmt: skip
    starving = [
        [name, kind, str(sum(c.values())), str(c["done"]), str(c["refused"]),
         str(sum(n for v, n in c.items() if v not in ("done", "refused")))]
        for (name, kind), c in limits.items()
    ]  # fmt: skip
    return "\n\n".join(
        [
            "# Killed, and starved",
            "`python benchmarks/survive.py` kills commands at random moments of their work, looks "
            "at every file that can be seen, and gives the command again: the result must be that "
            "of a command that was left alone. It then limits the length of files, as a full disk "
            "does, and memory, step by step: a command must end well, or with one line.",
            f"{total:,} kills, {bad} of them with a half file or another result.",
            table(["command", "started", "killed", "ended first", "half files", "lost"], rows),
            table(["command", "limit", "steps", "done", "refused", "other"], starving),
            *(["What ended otherwise:\n\n" + "\n".join(said[:20])] if said else []),
            f"{machine()}. Hidden temporary files of a killed process may stay behind; they never "
            "have a name that was asked for.",
        ]
    ) + "\n"  # fmt: skip


def main() -> None:
    """Attack and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100, help="of all commands together")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    r, lines, start = random.Random(given.seed), [], time.monotonic()
    with tempfile.TemporaryDirectory() as base:
        inputs = Path(base) / "inputs"
        inputs.mkdir()
        prepare(inputs)
        truth, took = {}, {}
        for name, (arguments, outputs, _) in COMMANDS.items():
            # Once in this process, so that all is imported and compiled before it is forked.
            warm = fresh(inputs)
            with contextlib.chdir(warm), contextlib.redirect_stdout(io.StringIO()):
                app(list(arguments), prog_name="bmcg", standalone_mode=False)
            for _ in range(2):
                folder, began = fresh(inputs), time.monotonic()
                code = finished(child(arguments, folder, lambda: None))
                took[name] = time.monotonic() - began
                assert code == 0, (name, (folder.parent / "stderr").read_text())
            truth[name] = {output: result(folder / output) for output in outputs}
            if name == "fit":
                shutil.copy(folder / "model.safetensors", inputs / "given.safetensors")
        for number in range(given.kills):
            if time.monotonic() - start > given.seconds:
                break
            name = list(COMMANDS)[number % len(COMMANDS)]
            verdict = killed(name, inputs, truth[name], took[name], r)
            lines.append({"kind": "kill", "command": name, "verdict": verdict, "n": 1})
        for name in COMMANDS:
            for length in (0, 1, 100, 1_000, 3_000, 10_000, 30_000, 1_000_000):
                verdict, said = starved(name, inputs, truth[name], file_limit(length))
                lines.append({"kind": "bytes a file", "command": name, "limit": length,
                              "verdict": verdict, "said": said})  # fmt: skip
            for spare in (256 << 20, 64 << 20, 16 << 20, 4 << 20, 1 << 20, 1 << 16, 0):
                verdict, said = starved(name, inputs, truth[name], memory_limit(spare))
                lines.append({"kind": "bytes of memory", "command": name, "limit": spare,
                              "verdict": verdict, "said": said})  # fmt: skip
    if given.record:
        known = RECORD.read_text(encoding="utf-8").splitlines() if RECORD.exists() else []
        every = [*map(json.loads, known), *lines]
        RECORD.write_text("".join(json.dumps(line) + "\n" for line in every), encoding="utf-8")
        write_page(PAGE, page(every))
    else:
        print(page(lines))


if __name__ == "__main__":
    main()
