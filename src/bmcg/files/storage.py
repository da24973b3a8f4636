"""One safetensors file for a model: arrays, a format version, no code that could run."""

from __future__ import annotations

import errno
import json
import os
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from .. import memory


class ModelFileError(ValueError):
    """A file that is not a model of this package, or not one this version can read."""


class CheckpointError(ValueError):
    """A file that is not a checkpoint, or not one that the fit at hand can go on from."""


class UnwrittenError(OSError):
    """A file that could not be written; what had its name before still has it."""


class Kind(NamedTuple):
    """A kind of file, with what to say of one that cannot be read."""

    format: str
    version: int
    word: str
    error: type[ValueError]
    broken: str
    foreign: str


# A model has dozens of arrays; a stranger's file may claim millions.
MOST_ARRAYS = 10_000
MODEL = Kind(
    "bmcg-model",
    1,
    "model",
    ModelFileError,
    "save the model again",
    "load it with the version that wrote it, or fit again",
)
CHECKPOINT = Kind(
    "bmcg-checkpoint",
    1,
    "checkpoint",
    CheckpointError,
    "remove it and fit from the beginning",
    "go on with the version that wrote it, or remove it and fit from the beginning",
)


def write_atomically(
    path: str | os.PathLike[str], write: Any, temporary: str | os.PathLike[str] | None = None
) -> None:
    """Call `write(temporary_path)`, then move the result to its name in one step.

    Parameters
    ----------
    path : path-like
        The final name. It is either the old file or the complete new one, at any moment.
    write : callable
        Receives a path in the same folder.
    temporary : path-like, optional
        That path, for a file that is written again and again: a killed program then leaves
        one stray file at most, which the next write takes. A new name by default.
    """
    final = Path(path)
    check_writable(final)
    try:
        if temporary is None:
            handle, temporary = tempfile.mkstemp(
                prefix=f".{final.stem}.", suffix=final.suffix, dir=final.parent
            )
            os.close(handle)
        write(temporary)
        # Else a power cut could leave the name with nothing behind it.
        with open(temporary, "rb+") as file:
            os.fsync(file.fileno())
        # A temporary file is private, and a writer may put another in its place; the result
        # gets the permissions any new file would.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, final)
    except BaseException as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        if isinstance(error, (OSError, SafetensorError)) and not isinstance(error, UnwrittenError):
            raise _unwritten(final, error) from None
        raise


def _unwritten(path: Path, error: OSError | SafetensorError) -> UnwrittenError:
    """The error with the name the user knows, and a way out of a full disk."""
    reason = getattr(error, "strerror", None) or str(error)
    kept = "the file that was there is untouched" if path.exists() else "nothing was left behind"
    full = getattr(error, "errno", None) == errno.ENOSPC or "os error 28" in str(error)
    advice = "free some space or choose another folder; " if full else ""
    return UnwrittenError(f"cannot write {path}: {reason}; {advice}{kept}")


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
    write_atomically(path, lambda temporary: write_tensors(temporary, arrays, header, MODEL))


def write_tensors(
    path: str | os.PathLike[str],
    arrays: Mapping[str, NDArray[Any]],
    header: Mapping[str, Any],
    kind: Kind,
) -> None:
    """Write arrays and a JSON header to one safetensors file of some kind."""
    tensors = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    text = json.dumps(header)
    metadata = {"format": kind.format, "version": str(kind.version), "header": text}
    metadata["sum"] = _checksum(tensors, text)
    save_file(tensors, path, metadata=metadata)


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_model` wrote.

    Returns
    -------
    arrays : dict of ndarray
    header : dict
    """
    return read_tensors(path, MODEL)


def read_tensors(
    path: str | os.PathLike[str], kind: Kind
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_tensors` wrote; a file of another kind or version is refused."""
    name = Path(path)
    if name.is_dir():
        raise kind.error(f"{name} is a folder, not a {kind.word} file")
    if not name.is_file():
        raise FileNotFoundError(f"no {kind.word} file at {name}")
    memory.require(
        memory.model(float(name.stat().st_size)),
        f"reading {name}",
        "take a machine with more, or a model of fewer components or draws",
    )
    try:
        with safe_open(name, framework="numpy") as file:
            metadata = file.metadata() or {}
            _check_format(name, metadata, kind)
            names = list(file.keys())
            if len(names) > MOST_ARRAYS:
                raise ValueError(f"it claims {len(names)} arrays")
            arrays = {key: file.get_tensor(key) for key in names}
        # Files of earlier versions have no sum.
        if metadata.get("sum", None) not in (None, _checksum(arrays, metadata["header"])):
            raise ValueError("its contents were changed after they were written")
        header = _header(metadata["header"])
    # What a broken file raises depends on where it is broken, and on versions.
    except (SafetensorError, ValueError, TypeError, OverflowError, RecursionError) as error:
        if isinstance(error, kind.error):
            raise
        raise kind.error(
            f"{name} is not a complete {kind.word} file ({error}); {kind.broken}"
        ) from None
    return arrays, header


def _checksum(arrays: Mapping[str, NDArray[Any]], header: str) -> str:
    """Of all that a file holds: bits that rot are found, not predicted from."""
    total = zlib.crc32(header.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        total = zlib.crc32(f"{name}{array.dtype.str}{array.shape}".encode(), total)
        total = zlib.crc32(array.reshape(-1).view(np.uint8).data, total)
    return f"{total:08x}"


def _header(text: str) -> dict[str, Any]:
    header = json.loads(text)
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    return header


def _check_format(name: Path, metadata: Mapping[str, str], kind: Kind) -> None:
    if metadata.get("format") != kind.format or "header" not in metadata:
        raise kind.error(f"{name} is a safetensors file, but not a bmcg {kind.word}")
    version = metadata.get("version", "")
    if version != str(kind.version):
        raise kind.error(
            f"{name} has {kind.word} format {version!r}, this version of bmcg reads "
            f"{kind.version}: {kind.foreign}"
        )
