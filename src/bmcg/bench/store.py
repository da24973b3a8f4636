"""Results on disk: a part for each finished cell, one Parquet file for a bench."""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ..files.storage import write_atomically
from .measuring import NOT_RUN, Cell

Row = dict[str, Any]

SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("bench", "group", "case", "label", "method")),
        *((name, pa.string()) for name in ("settings", "chosen", "options", "metric")),
        *((name, pa.string()) for name in ("status", "reason", "provenance")),
        *((name, pa.string()) for name in ("commit", "versions", "machine")),
        *((name, pa.float64()) for name in ("x", "rmse", "error_rate", "psnr", "ssim", "seconds")),
        *((name, pa.int64()) for name in ("seed", "n_fits", "found_rank")),
        *((name, pa.bool_()) for name in ("tuned", "quick")),
    ]
)
PICTURES = ("truth", "masked", "picture")
PICTURE_SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("bench", "group", "case", "label")),
        ("psnr", pa.float64()),
        *((name, pa.binary()) for name in PICTURES),
    ]
)
# How results are told apart: at most one for each place in a table.
PLACE = ("group", "case", "label", "seed")


class Store:
    """The results of one bench in a folder.

    Parameters
    ----------
    name : str
        Of the bench.
    out : Path
        Folder of tables, figures and ``NAME.parquet``.
    pictures : Path
        Folder of completed images, which may not be anyone's to publish.
    """

    def __init__(self, name: str, out: Path, pictures: Path) -> None:
        self.path = out / f"{name}.parquet"
        self.picture_path = pictures / f"{name}-pictures.parquet"
        self._parts = out / ".parts" / name
        for folder in (out, pictures, self._parts):
            folder.mkdir(parents=True, exist_ok=True)

    def rows(self) -> list[Row]:
        """All results so far, with their pictures."""
        kept = {_place(row): row for row in self._whole()}
        for part in sorted(self._parts.glob("*.json")):
            row = json.loads(part.read_text("utf-8"))
            for name in PICTURES:
                if row.get(name) is not None:
                    row[name] = base64.b64decode(row[name])
            kept[_place(row)] = row
        return list(kept.values())

    def add(self, cell: Cell, result: Row) -> Row:
        """Keep the result of a cell; it survives whatever happens next."""
        row = {**cell.described(), **result, **environment()}
        text = json.dumps(
            {
                key: base64.b64encode(value).decode() if isinstance(value, bytes) else value
                for key, value in row.items()
            }
        )
        name = hashlib.sha256(repr(cell.place).encode()).hexdigest()[:20]
        write_atomically(
            self._parts / f"{name}.json", lambda path: Path(path).write_text(text, "utf-8")
        )
        return row

    def merge(self, plan: Iterable[Cell]) -> list[Row]:
        """Write all results to one file, in the order of the plan, and drop the parts."""
        order = {cell.place: k for k, cell in enumerate(plan)}
        rows = sorted(
            self.rows(), key=lambda row: (order.get(_place(row), len(order)), _place(row))
        )
        table = pa.Table.from_pylist([_plain(row, SCHEMA) for row in rows], schema=SCHEMA)
        pictured = [row for row in rows if row.get("picture") is not None]
        if pictured:
            _write(
                pa.Table.from_pylist(
                    [_plain(row, PICTURE_SCHEMA) for row in pictured], schema=PICTURE_SCHEMA
                ),
                self.picture_path,
            )
        _write(table, self.path)
        shutil.rmtree(self._parts)
        if not any(self._parts.parent.iterdir()):
            self._parts.parent.rmdir()
        return table.to_pylist()

    def _whole(self) -> list[Row]:
        if not self.path.exists():
            return []
        rows = pq.read_table(self.path).to_pylist()
        if self.picture_path.exists():
            shown = {
                tuple(row[key] for key in PLACE[:3]): row
                for row in pq.read_table(self.picture_path).to_pylist()
            }
            for row in rows:
                kept = shown.get(tuple(row[key] for key in PLACE[:3]))
                if kept is not None and row["seed"] == 0:
                    row.update({name: kept[name] for name in PICTURES})
        return rows


def read(path: Path) -> list[Row]:
    """The rows of a Parquet file."""
    return pq.read_table(path).to_pylist()


def finished(row: Row, seconds: float) -> bool:
    """Whether a result stands.

    What was left out for lack of time or data does not, nor does a cell that was stopped after
    fewer than the seconds it may take now.
    """
    before = re.fullmatch(r"stopped after (\d+) s", row.get("reason") or "")
    return row["status"] != NOT_RUN and not (before and float(before[1]) < round(seconds))


@cache
def environment() -> dict[str, str]:
    """Commit, versions and machine, as columns."""
    packages = ("bmcg", "numpy", "scipy", "numba", "scikit-learn")
    versions = {name: importlib.metadata.version(name) for name in packages}
    versions["python"] = platform.python_version()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    return {"commit": _commit(), "versions": json.dumps(versions), "machine": machine}


def _commit() -> str:
    """The commit of the source tree, marked where it has changes; empty when installed."""
    here = Path(__file__).resolve().parent.parent

    def git(*arguments: str) -> str:
        return subprocess.run(
            ["git", "-C", str(here), *arguments], capture_output=True, text=True, check=True
        ).stdout.strip()

    try:
        return git("rev-parse", "--short=12", "HEAD") + (
            "+changes" if git("status", "--porcelain", "--untracked-files=no", ".") else ""
        )
    except (OSError, subprocess.CalledProcessError):
        return ""


def _place(row: Row) -> tuple[str, str, str, int]:
    return (row["group"], row["case"], row["label"], row["seed"])


def _plain(row: Row, schema: pa.Schema) -> Row:
    return {name: row.get(name) for name in schema.names}


def _write(table: pa.Table, path: Path) -> None:
    write_atomically(path, lambda temporary: pq.write_table(table, temporary, compression="zstd"))
