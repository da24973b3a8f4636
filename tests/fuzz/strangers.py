"""Model files and checkpoints as a stranger would edit them: whole outside, wrong inside."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from safetensors import safe_open

from bmcg import load_model
from bmcg.files.storage import CHECKPOINT, MODEL, Kind, write_tensors

from .seeds import models
from .verdict import Outcome, judged

ODD: tuple[Any, ...] = (
    None, True, -1, 0, 2**31, 2**63, 10**400, 1e308, float("nan"), float("inf"), "", "x", "../../x",
    "=cmd|' /C calc'!A0", "\ud800", "a" * 5000, [], [[]], {}, {"a": {}}, [1, 2, 3],
)  # fmt: skip
TYPES = ("<f8", "<f4", "<f2", "<i8", "<i4", "<i1", "|u1", "|b1", "<u8")
VALUES = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 2.0**31, 2.0**62, -(2.0**31))


def opened(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Arrays and header of a file, whatever it is."""
    with safe_open(path, framework="numpy") as file:
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        return arrays, json.loads(file.metadata()["header"])


def edited_array(array: np.ndarray, r: Random) -> np.ndarray:
    """An array of another type, shape or content."""
    how = r.randrange(7)
    with np.errstate(all="ignore"):
        if how == 0:
            return array.astype(r.choice(TYPES))
        if how == 1:
            return array.reshape(r.choice([(-1,), (1, -1), (-1, 1), (array.size, 1, 1)]))
        if how == 2:
            return array[: r.randrange(len(array) + 1)] if array.ndim else array[None]
        if how == 3:
            return np.concatenate([array, array]) if array.ndim else array
        if how == 4 and array.ndim > 1:
            return np.ascontiguousarray(array.T)
        if how == 5:
            return np.zeros(r.choice([(0,), (0, 0), (3,), (1, 1)]), array.dtype)
        changed = array.copy().reshape(-1)
        if changed.size:
            at = slice(None) if r.random() < 0.3 else r.randrange(changed.size)
            changed[at] = np.asarray(r.choice(VALUES)).astype(array.dtype)
        return changed.reshape(array.shape)


def edited_json(value: Any, r: Random) -> Any:
    """Plain values with one of them gone, or another."""
    if isinstance(value, dict) and value and r.random() < 0.9:
        key = r.choice(sorted(value))
        if r.random() < 0.15:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: edited_json(value[key], r)}
    if isinstance(value, list) and value and r.random() < 0.8:
        at = r.randrange(len(value))
        return [*value[:at], edited_json(value[at], r), *value[at + 1 :]]
    return r.choice(ODD)


def edit(path: Path, kind: Kind, r: Random, kept: tuple[str, ...] = ()) -> None:
    """Write a file again after one to three edits, whole and with a sum that is right.

    Parameters
    ----------
    path : Path
    kind : Kind
    r : Random
    kept : tuple of str
        Parts of the header that stay, for a file that is looked at further.
    """
    arrays, header = opened(path)
    for _ in range(r.choice((1, 1, 1, 2, 3))):
        how, name = r.random(), r.choice(sorted(arrays))
        if how < 0.1:
            del arrays[name]
        elif how < 0.6:
            arrays[name] = edited_array(arrays[name], r)
        elif how < 0.7:
            arrays[name] = arrays[r.choice(sorted(arrays))]
        else:
            changed = edited_json(header, r)
            if isinstance(changed, dict):
                header = {**changed, **{part: header[part] for part in kept}}
    write_tensors(path, arrays, header, kind)


def edited_file(what: str, r: Random, folder: Path) -> Outcome:
    """Edit a model file, or a checkpoint, and read it."""
    from .readers import READERS, ask, checkpoints

    path = folder / "file.safetensors"
    if what == "model":
        path.write_bytes(r.choice(models()))
        edit(path, MODEL, r)
        return judged(lambda: ask(load_model(path)))
    path.write_bytes(r.choice(checkpoints()))
    edit(path, CHECKPOINT, r, kept=("data", "rows", "cols", "settings", "bmcg"))
    return judged(lambda: READERS["checkpoint"].read(path))
