"""The page of what a GPU does and takes, written from recorded lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HEAD = """# On a GPU

One NVIDIA H200 with 16 cores beside it, PyTorch 2.11, Triton 3.6. Lines are recorded by
`python -m benchmarks.gpu PART --out docs/results/gpu.jsonl`, and this page is written from them by
`python -m benchmarks.gpu page`. Data are power-law: a planted matrix with unit noise, 32 components
and biases fitted, 20 draws of 200 kept after the burn-in. A whole fit goes from arrays of the host
to a model file, kernels compiled before.
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
        (name.removesuffix(", again"), f"{one['rmse']:.4f}", f"{one['whole']:.2f} s",
         f"{1e3 * one['seconds_a_sweep']:.1f} ms")
        for name, one in found.get("ratings", {}).items()
        if name.endswith("again")
    ]  # fmt: skip
    return _table(("MovieLens 1M, sampled", "test RMSE", "whole fit", "a sweep"), rows)


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


def page(path: Path) -> str:
    """The page."""
    found = records(path)
    parts = [HEAD, "## Large data\n", _large(found), _beside(found), "## Ratings\n"]
    parts += [_ratings(found), "## The same as on the host\n", _same(found)]
    return "\n".join(parts).rstrip() + "\n"


def write(path: Path) -> Path:
    """Beside the lines it is made from."""
    out = path.with_suffix(".md")
    out.write_text(page(path))
    return out
