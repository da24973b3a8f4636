"""Larger jobs: what each needs at its worst moment, against what was told before the work."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import io
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
from benchmarks.reporting import COMMIT

from bmcg import memory
from bmcg.cli.app import app

from . import jobs as tiny

PAGE = os.sysconf("SC_PAGE_SIZE")
LONG = ("--row", "user", "--col", "item", "--value", "rating")
QUICK = ("--no-selection", "--seed", "0", "--jobs", "1")
# Shares of the estimate that an address-space limit leaves.
STEPS = (2.0, 1.4, 1.2, 1.0, 0.9, 0.7, 0.5, 0.25)


def fits(posterior: str, table: str, rank: int, *more: str) -> tuple[str, ...]:
    """A fit of some sweeps, after which no larger array is made."""
    how = ("--posterior", posterior, "--rank", str(rank), *QUICK, *more)
    return ("fit", f"{table}.parquet", *LONG, *how, "-o", "out.safetensors")


FEW = ("--max-sweeps", "4", "--tol", "0")
JOBS: dict[str, tuple[str, ...]] = {
    "fit row, long": fits("row", "long", 10, *FEW),
    "fit row, square": fits("row", "square", 14, *FEW),
    "fit column, long": fits("column", "long", 12, *FEW),
    "fit column, square": fits("column", "square", 14, *FEW),
    "fit joint, long": fits("joint", "long", 10, *FEW),
    "fit joint, square": fits("joint", "square", 12, *FEW),
    "fit sampled, long": fits("sampled", "long", 8, "--max-sweeps", "40"),
    "fit sampled, square": fits("sampled", "square", 8, "--max-sweeps", "60"),
    "fit row, csv": ("fit", "many.csv", *LONG, "--posterior", "row", "--rank", "4", *QUICK, *FEW,
                     "-o", "out.safetensors"),
    "complete": ("complete", "given.safetensors", "-o", "out.parquet", "--memory-limit", "8"),
    "complete, csv": ("complete", "given.safetensors", "-o", "out.csv", "--memory-limit", "8"),
    "predict": ("predict", "given.safetensors", "pairs.csv", "--std", "-o", "out.csv"),
    "predict, parquet": ("predict", "given.safetensors", "pairs.parquet", "-o", "out.parquet"),
    "recommend": ("recommend", "given.safetensors", "--all", "-n", "40", "-o", "out.csv"),
    "similar": ("similar", "given.safetensors", "-n", "200", "-o", "out.csv"),
    "fold-in": ("fold-in", "given.safetensors", "given.parquet", *LONG, "--matrix", "out.parquet",
                "--memory-limit", "8"),
    "evaluate": ("evaluate", "square.parquet", *LONG, "--jobs", "1", "-o", "out.csv", "--model",
                 "BMCG:posterior=row,rank=14,selection=false,max_sweeps=3,tol=0"),
    "impute, vcf": ("impute", "calls.vcf", "-o", "out.vcf", "--jobs", "1", "--seed", "0",
                    "--linkage", "yes"),
    "update": ("update", "square.safetensors", "few.parquet", "--data", "square.parquet",
               "--value", "rating", "-o", "out.safetensors"),
    "report": ("report", "square.safetensors", "-o", "out.html"),
    "impute": ("impute", "wide.csv", "-o", "out.csv", "--scale", "no", "--posterior", "column",
               "--rank", "4", "--seed", "0", "--jobs", "1", "--max-sweeps", "3"),
    "impute, parquet": ("impute", "wide.parquet", "-o", "out.parquet", "--scale", "no",
                        "--posterior", "column", "--rank", "4", "--seed", "0",
                        "--jobs", "1", "--max-sweeps", "3"),
    "inpaint": ("inpaint", "picture.png", "--mask", "mask.png", "-o", "out.png", "--jobs", "1"),
}  # fmt: skip


def _entries(m: int, n: int, count: int, rng: np.random.Generator) -> pa.Table:
    at = np.unique(rng.integers(0, m * n, count))
    i, j = at // n, at % n
    U, V = rng.standard_normal((m, 2)), rng.standard_normal((n, 2))
    x = (U[i] * V[j]).sum(axis=1) + 0.3 * rng.standard_normal(len(at))
    return pa.table({"user": i, "item": j, "rating": x.round(3)})


def _write_calls(path: Path, m: int, n: int, rng: np.random.Generator) -> None:
    """Genotypes of n people at m sites, mosaics of a few haplotypes, a tenth missing."""
    founders = rng.integers(0, 2, (m, 8))
    source = rng.integers(0, 8, (m // 50 + 1, 2 * n)).repeat(50, axis=0)[:m]
    sides = np.take_along_axis(founders, source, axis=1)
    copies = sides[:, ::2] + sides[:, 1::2]
    calls = np.array(["0/0", "0/1", "1/1", "./."])[np.where(rng.random((m, n)) < 0.1, 3, copies)]
    head = ["##fileformat=VCFv4.2", "##contig=<ID=1>",
            '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
            "\t".join(["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT",
                       *(f"p{j}" for j in range(n))])]  # fmt: skip
    lines = (
        "\t".join(["1", str(1000 * (i + 1)), f"rs{i}", "A", "C", ".", ".", ".", "GT", *row])
        for i, row in enumerate(calls.tolist())
    )
    path.write_text("\n".join([*head, *lines]) + "\n")


def warm() -> None:
    """Run every command on little, so that what the jobs grow by is theirs."""
    with tempfile.TemporaryDirectory() as base, contextlib.chdir(base):
        tiny.prepare(Path(base))
        commands = [("fit", "ratings.csv", *LONG, "--posterior", posterior, "--rank", "3", *QUICK,
                     "-o", "given.safetensors", "--force")
                    for posterior in ("row", "joint", "sampled", "column")]  # fmt: skip
        commands += [
            tiny.JOBS[name].arguments for name in ("impute", "inpaint", "update", "report")
        ]
        commands += [("complete", "given.safetensors", "-o", "all.csv"),
                     ("recommend", "given.safetensors", "--all", "-o", "best.csv"),
                     ("predict", "given.safetensors", "ratings.csv", "-o", "p.csv"),
                     ("similar", "given.safetensors", "-o", "alike.csv"),
                     ("fold-in", "given.safetensors", "ratings.csv", *LONG, "--matrix", "f.csv"),
                     ("evaluate", "ratings.csv", *LONG, "--model", "BMCG:posterior=row,rank=2,"
                      "selection=false,max_sweeps=3"),
                     ("impute", "calls.vcf", "-o", "filled.vcf", "--jobs", "1", "--linkage",
                      "yes")]  # fmt: skip
        _write_calls(Path("calls.vcf"), 60, 20, np.random.default_rng(0))
        for command in commands:
            with contextlib.redirect_stdout(io.StringIO()):
                app([*command], prog_name="bmcg", standalone_mode=False)


def prepare(folder: Path) -> None:
    """Write what the jobs read."""
    from PIL import Image

    rng = np.random.default_rng(0)
    parquet.write_table(_entries(150_000, 3_000, 600_000, rng), folder / "long.parquet")
    parquet.write_table(square := _entries(50_000, 50_000, 400_000, rng), folder / "square.parquet")
    parquet.write_table(square.slice(0, 1000), folder / "few.parquet")
    csv.write_csv(_entries(5_000, 2_000, 3_000_000, rng), folder / "many.csv")
    pairs = _entries(10_000, 3_000, 700_000, rng).drop_columns(["rating"])
    csv.write_csv(pairs, folder / "pairs.csv")
    parquet.write_table(pairs, folder / "pairs.parquet")
    given = _entries(10_000, 3_000, 200_000, rng)
    parquet.write_table(given, folder / "given.parquet")
    values = rng.standard_normal((20_000, 2)) @ rng.standard_normal((2, 150))
    gone = rng.random(values.shape) < 0.2
    wide = {f"c{j}": pa.array(values[:, j].round(3), mask=gone[:, j]) for j in range(150)}
    csv.write_csv(pa.table(wide), folder / "wide.csv")
    parquet.write_table(pa.table(wide), folder / "wide.parquet")
    _write_calls(folder / "calls.vcf", 400, 1_500, rng)
    wave = 100 + 80 * np.outer(np.sin(np.arange(320) / 40), np.cos(np.arange(320) / 50))
    Image.fromarray(wave.astype(np.uint8)).save(folder / "picture.png")
    Image.fromarray(((rng.random((320, 320)) < 0.2) * 255).astype(np.uint8)).save(
        folder / "mask.png"
    )
    for table, rank in (("given", 4), ("square", 8)):
        done = run((*fits("row", table, rank, *FEW)[:-1], f"{table}.safetensors"), folder)
        assert done["code"] == 0, done


def _resident() -> dict[str, int]:
    """Bytes of this process: now, and at most so far."""
    lines = Path("/proc/self/status").read_text().splitlines()
    sizes = {line.partition(":")[0]: line.split()[1] for line in lines if line.startswith("Vm")}
    return {name: 1024 * int(sizes[name]) for name in ("VmRSS", "VmHWM", "VmSize")}


def run(arguments: tuple[str, ...], folder: Path, leave: float | None = None) -> dict[str, Any]:
    """Run a command in a process of its own, where all is imported and compiled.

    Parameters
    ----------
    arguments : tuple of str
    folder : Path
    leave : float, optional
        Bytes beyond those it begins with that a limit on its address space leaves.

    Returns
    -------
    dict
        Its exit code, its last line, its growth and, of what it was told to need, the most.
    """
    gc.collect()
    # What was freed here would serve the command, and not be seen.
    ctypes.CDLL(None).malloc_trim(0)
    pa.default_memory_pool().release_unused()
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(reading)
        _child(arguments, folder, leave, writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        told = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    parts = told.split("\n", 2) if told else ["0", "0", ""]
    return {"code": code, "peak": float(parts[0]), "told": float(parts[1]), "said": parts[2]}


def _child(arguments: tuple[str, ...], folder: Path, leave: float | None, pipe: int) -> None:
    code, told, errors = 70, [0.0], io.StringIO()
    whole = memory.require
    try:
        os.chdir(folder)
        Path("/proc/self/clear_refs").write_text("5")
        begin = _resident()

        def require(need: float, what: str, advice: str) -> None:
            told.append(need + _resident()["VmRSS"] - begin["VmRSS"])
            whole(need, what, advice)

        memory.require = require
        if leave is not None:
            most = int(begin["VmSize"] + leave)
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
            code = int(app([*arguments], prog_name="bmcg", standalone_mode=False) or 0)
    except SystemExit as end:
        code = int(end.code or 0)
    except BaseException as error:
        code = getattr(error, "exit_code", 70)
        errors.write(f"\n{type(error).__name__}: {error}")
    finally:
        with contextlib.suppress(BaseException):
            last = (errors.getvalue().strip().splitlines() or [""])[-1][:300]
            growth = _resident()["VmHWM"] - begin["VmRSS"]
            os.write(pipe, f"{growth}\n{max(told)}\n{last}".encode())
        os._exit(code)


def larger(names: tuple[str, ...], steps: bool) -> Iterator[dict[str, Any]]:
    """Every job: its peak against what was told, and less and less room for it."""
    with tempfile.TemporaryDirectory() as base:
        folder = Path(base)
        warm()
        prepare(folder)
        before = set(os.listdir(folder))
        for name in names or tuple(JOBS):
            command = JOBS[name]
            found = run(command, folder)
            print(name, found, file=sys.stderr, flush=True)
            yield {"kind": "need", "command": name, "peak": found["peak"], "told": found["told"],
                   "verdict": "done" if found["code"] == 0 else found["said"],
                   "commit": COMMIT}  # fmt: skip
            for share in STEPS if steps else ():
                _clear(folder, before)
                ended = run(command, folder, share * found["told"])
                left = sorted(set(os.listdir(folder)) - before) if ended["code"] else []
                yield {"kind": "bytes of address space", "command": name, "limit": share,
                       "verdict": _verdict(ended, left), "said": ended["said"],
                       "commit": COMMIT}  # fmt: skip
            _clear(folder, before)


def _clear(folder: Path, before: set[str]) -> None:
    for name in set(os.listdir(folder)) - before:
        (folder / name).unlink()


def _verdict(ended: dict[str, Any], left: list[str]) -> str:
    """Done; refused by one line before the work or in it, nothing left behind; or worse."""
    if left:
        return f"left {left[0]}"
    if ended["code"] == 0:
        return "done"
    if ended["code"] != 1 or not ended["said"].startswith("error: "):
        return f"ended {ended['code']}"
    return "told" if " needs about " in ended["said"] else "ran out"
