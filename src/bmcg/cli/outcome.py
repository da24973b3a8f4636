"""How a command ends: exit codes, one-line messages, and outputs checked before any work."""

from __future__ import annotations

import dis
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

USER_ERROR = 1
INTERRUPTED = 130  # 128 + SIGINT, what shells expect of an interrupted program

# The machine's to say, whoever finds out: files, memory, packages.
OF_THE_MACHINE = (OSError, MemoryError, ImportError)
# What the library raises about input. Python and NumPy raise the same for defects.
OF_THE_INPUT = (ValueError, KeyError, TypeError, NotImplementedError, FloatingPointError)
# Standard input where a table is read, standard output where one is written.
STANDARD = Path("-")
PACKAGE = __name__.partition(".")[0]


class UserError(Exception):
    """Something the user can put right; the message says how."""


def is_advice(error: BaseException) -> bool:
    """Whether an error was meant for the user, so that its message is all there is to say.

    An error of the kinds that the library raises about input is advice where a `raise` of this
    package made it. One that an operation ran into, or another package, is a defect.
    """
    if isinstance(error, (UserError, *OF_THE_MACHINE)):
        return True
    at = error.__traceback__
    if not isinstance(error, OF_THE_INPUT) or at is None:
        return False
    while at.tb_next is not None:
        at = at.tb_next
    code = at.tb_frame.f_code
    inside = at.tb_frame.f_globals.get("__name__", "").partition(".")[0] == PACKAGE
    return inside and code.co_code[at.tb_lasti] == dis.opmap["RAISE_VARARGS"]


# What the command at work has written so far: an interrupt says what is there.
_written: list[Path] = []


def begin() -> None:
    """A command begins: nothing is written yet."""
    _written.clear()


def wrote(*paths: Path) -> None:
    """Note that these files are complete under their names."""
    _written.extend(paths)


def interrupted(state: str = "") -> typer.Exit:
    """Say that Ctrl-C ended the command and what it left; the exit to raise.

    Parameters
    ----------
    state : str
        What is to be known of the files that were written, such as "of 12 sweeps".
    """
    if not _written:
        say("interrupted: nothing was written")
    else:
        names = ", ".join(map(str, _written))
        say(f"interrupted: {names} {'was' if len(_written) == 1 else 'were'} written{state}")
    return typer.Exit(INTERRUPTED)


def end_if_interrupted(*models: Any, advice: str = "") -> None:
    """End the command where Ctrl-C ended one of its fits; call it once all is written.

    A fit that is interrupted keeps what its last sweep had. Its file is usable, but the command
    did not do what was asked: it says so and ends with the code of an interrupt.

    Parameters
    ----------
    *models : fitted BMCG, or None where there was nothing to fit
    advice : str
        How to go on, for the end of the sentence.
    """
    for model in models:
        if model is not None and model.stop_reason_ == "interrupted":
            raise interrupted(f", as the fit stood after {model.n_sweeps_} sweeps{advice}")


def say(text: str) -> None:
    """One line for the person at the terminal, beside whatever the output is."""
    print(text, file=sys.stderr, flush=True)


def done(path: Path, found: str) -> None:
    """The line that ends a command: what was written and what is in it."""
    if path == STANDARD:
        say(f"standard output: {found}")
    else:
        typer.echo(f"{path}: {found}")


def one_line(error: BaseException) -> str:
    """The message of an error on one line, without the quotes KeyError puts around it."""
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__


def short(error: BaseException, most: int = 300) -> str:
    """The message of a library below, which may quote half a file, on one line of some length."""
    text = one_line(error)
    return text if len(text) <= most else f"{text[:most]} ..."


@contextmanager
def options_named() -> Iterator[None]:
    """Advice of the library on edges and features, in the words of the command line."""
    try:
        yield
    except OF_THE_INPUT as error:
        if not is_advice(error):
            raise
        said = re.sub(r"\b(row|col)_(edges|features)\b", r"--\1-\2", one_line(error))
        raise UserError(said) from error


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
    if path == STANDARD:
        raise UserError("only a table can come from standard input (-): name a file")
    if not path.exists():
        raise UserError(f"there is no file {path}")
    if path.is_dir():
        raise UserError(f"{path} is a folder, not a file")
    if not os.access(path, os.R_OK):
        raise UserError(f"{path} cannot be read: permission denied")


def check_inputs(*paths: Path | None) -> None:
    """Raise unless each of the tables can be read; one of them may be standard input."""
    given = [path for path in paths if path is not None]
    if given.count(STANDARD) > 1:
        raise UserError("standard input (-) is one table: name the other files")
    for path in given:
        if path != STANDARD:
            check_input(path)


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
    if path == STANDARD:
        raise UserError("only a table can go to standard output (-): name a file")
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
