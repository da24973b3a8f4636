"""The page of what a GPU does and takes, written from recorded lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .scale import IN_ONE, NETWORK, NVLINK, K, table

HEAD = """# On a GPU

One NVIDIA H200 with 16 cores beside it, PyTorch 2.11, Triton 3.6. Lines are recorded by
`python -m benchmarks.gpu PART --out docs/results/gpu.jsonl`, and this page is written from them by
`python -m benchmarks.gpu page`. Data are power-law: a planted matrix with unit noise, 32 components
and biases fitted, 20 draws of 200 kept after the burn-in. A whole fit goes from arrays of the host
to a model file, kernels compiled before.
"""


MANY = """20,000 × 4,000, 16 components and biases, by
`torchrun --nproc-per-node N -m benchmarks.gpu.many --entries E --device D`. A gap is the largest
relative one of the bound, or of the log density, after any sweep, to the first line of its kind:
one process that rounds as many do (a test compares with a fit that shares nothing). Bytes are
those that the first process sent in the whole fit, the entries of its rows among them. On CPUs a
process has one thread and speaks through gloo. On the GPU one speaks through NCCL; two that share
it, which NCCL does not do, through gloo, and are slower.

"""


def records(path: Path) -> dict[str, dict[str, Any]]:
    """The last line of every part."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    return {line["part"]: line for line in lines if "error" not in line}


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _large(found: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, shape in (("1e8", "480,000 × 18,000"), ("1e9", "2,000,000 × 200,000")):
        for kind, words in (("sampled", "draw"), ("row", "`row` sweep")):
            one = found.get(name, {}).get(kind)
            if one is not None:
                whole = f"{one['whole']:.1f} s" if one["file_gb"] else "–"
                parts = "–"
                if one["file_gb"]:
                    names = ("before_first_sweep", "sweeping", "after_last_sweep", "saving")
                    parts = " + ".join(f"{one[part]:.1f}" for part in names)
                size = f"{one['peak_gb']:.1f} GB"
                sweep = f"{1e3 * one['seconds_a_sweep']:.0f} ms"
                rows.append((f"{name}, {shape}", words, sweep, size, whole, parts))
    head = ("entries, shape", "what", "each", "peak", "whole fit", "load + sweep + finish + save")
    return _table(head, rows)


def _beside(found: dict[str, dict[str, Any]]) -> str:
    rows = []
    if "graphs" in found:
        one = found["graphs"]
        words = "draw, 10 neighbours on both sides"
        rows.append((words, f"{one['seconds_a_sweep']:.3f} s", f"{one['peak_gb']:.1f} GB"))
    if "als" in found:
        one = found["als"]
        rows.append(("sweep of ALS in plain PyTorch", f"{one['seconds']:.2f} s",
                     f"{one['peak_gb']:.1f} GB"))  # fmt: skip
    if "host" in found:
        rows.append(("draw of the Numba back end, 16 cores",
                     f"{found['host']['seconds_a_sweep']:.2f} s", "–"))  # fmt: skip
    return _table(("at 1e8", "each", "peak"), rows)


def _ratings(found: dict[str, dict[str, Any]]) -> str:
    rows = [
        (name, f"{one['rmse_rating']:.4f}", f"{one['whole']:.2f} s",
         f"{min(one['all']):.2f} to {max(one['all']):.2f} s",
         f"{1e3 * one['seconds_a_sweep']:.1f} ms", f"{one['rmse']:.4f}")
        for name, one in found.get("ratings", {}).items()
        if isinstance(one, dict)
    ]  # fmt: skip
    head = ("MovieLens 1M, sampled", "test RMSE", "whole fit", "of five", "a sweep", "entries")
    words = (
        "Medians of five fits, kernels compiled before. Errors are those of `predict` as it comes, "
        "with ratings\nfrom 1 to 5; last, those of the expected entry without noise, `predict(..., "
        "include_noise=False)`.\n0.8360 is asked for within 0.7 s.\n\n"
    )
    return words + _table(head, rows)


def _same(found: dict[str, dict[str, Any]]) -> str:
    out = ""
    if "check" in found:
        gaps = ", ".join(f"`{f}` {found['check'][f]:.0e}" for f in ("row", "joint", "column"))
        out += f"Largest relative gap of the bound after any of 15 sweeps: {gaps}.\n\n"
    if "sets" in found:
        pairs = {k: v for k, v in found["sets"].items() if isinstance(v, dict)}
        names = dict.fromkeys(key.rpartition(", ")[0] for key in pairs)
        rows = []
        for name in names:
            both = [pairs.get(f"{name}, {device}") for device in ("cuda", "cpu")]
            if None not in both:
                errors = [f"{one['rmse']:.5f}" for one in both if one is not None]
                times = [f"{one['seconds']:.1f} s" for one in both if one is not None]
                rows.append((name, *errors, *times))
        head = ("set", "RMSE, GPU", "RMSE, host", "GPU", "host")
        out += _table(head, rows)
    return out


def _sizes(found: dict[str, dict[str, Any]]) -> str:
    rows = table(found)
    if not rows:
        return ""
    speeds = [f"{found['bandwidth'][name] / 1e9:.0f}" for name in ("within", "to", "from")]
    words = (
        f"Copies of 2 GiB: {speeds[0]} GB/s within the GPU, read and written, {speeds[1]} to it "
        f"and {speeds[2]} from it.\nA draw with {K - 1} components and biases of 1e9 entries "
        "(2,000,000 × 200,000) and of 1e11 (20,000,000 × 2,000,000),\nand what holds it: measured, "
        "or computed (`benchmarks/gpu/scale.py`) from the times and bandwidths above, with\n"
        f"{NVLINK / 1e9:.0f} GB/s between up to {IN_ONE} GPUs and {NETWORK / 1e9:.0f} between "
        "machines, which are the makers' and were not measured. Entries\nthat do not fit pass "
        "through from the host in every draw.\n\n"
    )
    return words + _table(("on", "1e9: draw, memory", "1e11: draw, memory", "how"), rows)


def _many(path: Path) -> str:
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    head = ("on", "processes", "entries, most", "`row` sweep", "sent", "gap", "draw", "sent", "gap")
    rows = []
    for device in ("cpu", "cuda"):
        rows += _of_device([line for line in lines if line["device"] == device])
    return MANY + _table(head, rows) if rows else ""


def _of_device(lines: list[dict[str, Any]]) -> list[tuple[str, ...]]:
    rows = []
    for line in lines:
        where = f"{line['device']}, {line['entries']:.0e} entries"
        cells = [where, f"{line['processes']}", f"{max(line['entry_bytes']) / 1e6:.0f} MB"]
        for kind in ("row", "sampled"):
            one, first = line[kind], lines[0][kind]
            pairs = zip(one["trace"], first["trace"], strict=True)
            gap = max(abs(a / b - 1) for a, b in pairs)
            cells += [f"{1e3 * one['a_sweep']:.0f} ms", f"{one['sent'] / 1e6:.0f} MB", f"{gap:.0e}"]
        rows.append(tuple(cells))
    return rows


def page(path: Path) -> str:
    """The page."""
    found = records(path)
    parts = [HEAD, "## Large data\n", _large(found), _beside(found), "## Ratings\n"]
    parts += [_ratings(found), "## The same as on the host\n", _same(found)]
    parts += ["## Processes\n", _many(path.with_name("many.jsonl"))]
    parts += ["## Sizes\n", _sizes(found)]
    return "\n".join(parts).rstrip() + "\n"


def write(path: Path) -> Path:
    """Beside the lines it is made from."""
    out = path.with_suffix(".md")
    out.write_text(page(path))
    return out
