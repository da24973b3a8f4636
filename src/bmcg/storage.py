"""One safetensors file for a model: arrays, a format version, no code that could run."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

FORMAT = "bmcg-model"
VERSION = 1


class ModelFileError(ValueError):
    """A file that is not a model of this package, or not one this version can read."""


def write_atomically(path: str | os.PathLike[str], write: Any) -> None:
    """Call `write(temporary_path)`, then move the result to its name in one step.

    Parameters
    ----------
    path : path-like
        The final name. It is either the old file or the complete new one, at any moment.
    write : callable
        Receives a path in the same folder.
    """
    final = Path(path)
    check_writable(final)
    handle, temporary = tempfile.mkstemp(
        prefix=f".{final.stem}.", suffix=final.suffix, dir=final.parent
    )
    os.close(handle)
    try:
        write(temporary)
        # A temporary file is private, and a writer may put another in its place; the result
        # gets the permissions any new file would.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, final)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise, before any work, where a file of that name cannot be written."""
    final = Path(path)
    if not final.parent.is_dir():
        raise FileNotFoundError(f"cannot write {final}: the folder {final.parent} does not exist")
    if final.is_dir():
        raise IsADirectoryError(f"cannot write {final}: it is a folder, pass the name of a file")
    if not os.access(final.parent, os.W_OK | os.X_OK):
        raise PermissionError(f"cannot write {final}: no permission in the folder {final.parent}")


def write_model(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], header: Mapping[str, Any]
) -> None:
    """Write arrays and a JSON header to one safetensors file, atomically."""
    metadata = {"format": FORMAT, "version": str(VERSION), "header": json.dumps(header)}
    tensors = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    write_atomically(path, lambda temporary: save_file(tensors, temporary, metadata=metadata))


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_model` wrote.

    Returns
    -------
    arrays : dict of ndarray
    header : dict
    """
    name = Path(path)
    if name.is_dir():
        raise ModelFileError(f"{name} is a folder, not a model file")
    if not name.is_file():
        raise FileNotFoundError(f"no model file at {name}")
    try:
        with safe_open(name, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_format(name, metadata)
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        header = json.loads(metadata["header"])
    except (SafetensorError, json.JSONDecodeError) as error:
        raise ModelFileError(
            f"{name} is not a complete model file ({error}); save the model again"
        ) from None
    return arrays, header


def _check_format(name: Path, metadata: Mapping[str, str]) -> None:
    if metadata.get("format") != FORMAT or "header" not in metadata:
        raise ModelFileError(f"{name} is a safetensors file, but not a bmcg model")
    version = metadata.get("version", "")
    if version != str(VERSION):
        raise ModelFileError(
            f"{name} has model format {version!r}, this version of bmcg reads {VERSION}: "
            "load it with the version that wrote it, or fit again"
        )
