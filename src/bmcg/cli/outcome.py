"""How a command ends: exit codes, one-line messages, and outputs checked before any work."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

USER_ERROR = 1
INTERRUPTED = 130  # 128 + SIGINT, what shells expect of an interrupted program

# What the library raises about input; anything else is a defect and keeps its traceback.
INPUT_ERRORS = (
    ValueError,
    KeyError,
    TypeError,
    OSError,
    MemoryError,
    NotImplementedError,
    ImportError,
)


class UserError(Exception):
    """Something the user can put right; the message says how."""


def say(text: str) -> None:
    """One line for the person at the terminal, beside whatever the output is."""
    print(text, file=sys.stderr, flush=True)


def one_line(error: BaseException) -> str:
    """The message of an error on one line, without the quotes KeyError puts around it."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__


@contextmanager
def spoken_warnings() -> Iterator[None]:
    """Show warnings as one line each, without the place in the code they came from."""

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        say(f"warning: {' '.join(str(message).split())}")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        warnings.showwarning = show
        yield


def check_input(path: Path) -> None:
    """Raise unless the file can be read."""
    if not path.exists():
        raise UserError(f"there is no file {path}")
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file")
    if not os.access(path, os.R_OK):
        raise UserError(f"{path} cannot be read: permission denied")


def check_output(path: Path, force: bool, inputs: tuple[Path | None, ...] = ()) -> None:
    """Raise unless the file can be written, and may be.

    Parameters
    ----------
    path : Path
    force : bool
        Whether an existing file may be replaced.
    inputs : tuple of Path or None
        Files the command reads; none of them is ever replaced.
    """
    if path.is_dir():
        raise UserError(f"cannot write {path}: it is a folder")
    if any(given is not None and _same(path, given) for given in inputs):
        raise UserError(f"cannot write {path}: it is one of the inputs; choose another name")
    if path.exists() and not force:
        raise UserError(f"{path} exists already; pass --force to replace it")
    check_folder(path.parent, path)


def check_folder(folder: Path, path: Path) -> None:
    """Raise unless files can be created in a folder, for the sake of `path`."""
    if not folder.is_dir():
        raise UserError(f"cannot write {path}: there is no folder {folder}")
    try:
        # Only an attempt tells: permissions, read-only mounts and quotas all end here.
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise UserError(f"cannot write {path}: {error.strerror or error}") from None


def _same(path: Path, other: Path) -> bool:
    return path.exists() and other.exists() and path.samefile(other)
