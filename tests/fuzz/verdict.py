"""What may come of an attack: an answer, or an error of the project's own that says what is wrong.

Anything else is a `Finding`: an error from a library below, one that says too little or too much,
a warning of arithmetic that went wrong, a hang, an input that was changed, a file left behind.
"""

from __future__ import annotations

import dis
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from bmcg.cli.outcome import OF_THE_INPUT, OF_THE_MACHINE, PACKAGE, UserError, one_line

Outcome = Literal["answered", "refused"]

# Seconds of a processor that a small input may take, of the clock on a machine that has other work,
# and characters that a message may have.
SECONDS = 20
PATIENCE = 300
LONGEST = 2_000


class Finding(AssertionError):
    """Something that must not happen."""


def raised_here(error: BaseException) -> bool:
    """Whether a `raise` of the package made an error, not an operation or a library below."""
    at = error.__traceback__
    if at is None:
        return False
    while at.tb_next is not None:
        at = at.tb_next
    name = at.tb_frame.f_globals.get("__name__", "")
    # Of arrays, scikit-learn's users know what scikit-learn says.
    inside = name.partition(".")[0] == PACKAGE or name == "sklearn.utils.validation"
    return inside and at.tb_frame.f_code.co_code[at.tb_lasti] == dis.opmap["RAISE_VARARGS"]


@contextmanager
def in_time(seconds: float = SECONDS) -> Iterator[None]:
    """A hang is a finding, where the system has alarms."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def late(*_: Any) -> None:
        raise Finding(f"no answer within {seconds} s")

    before = [signal.signal(number, late) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, PATIENCE))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)


def judged(attack: Callable[[], Any], named: str = "") -> Outcome:
    """Run an attack.

    Parameters
    ----------
    attack : callable
        Asserts what an answer must be.
    named : str
        What the message of a refusal must name, such as the file.
    """
    with warnings.catch_warnings(), in_time():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", category=RuntimeWarning, module=r"bmcg(\.|$)")
        try:
            attack()
        except (UserError, *OF_THE_INPUT, *OF_THE_MACHINE) as error:
            _check(error, named)
            return "refused"
        except RuntimeWarning as warning:
            raise Finding(f"arithmetic went wrong: {warning}") from warning
        except RecursionError as error:
            raise Finding("recursion") from error
    return "answered"


def _check(error: Exception, named: str) -> None:
    if not raised_here(error):
        raise Finding(f"{type(error).__name__} from below: {error}") from error
    message = one_line(error)
    if len(message) > LONGEST:
        raise Finding(f"a message of {len(message)} characters: {message[:200]}") from error
    if named and named not in message:
        raise Finding(f"the message does not name {named}: {message}") from error


def contents(folder: str | os.PathLike[str]) -> dict[str, bytes]:
    """Every file of a folder, hidden ones too."""
    found = {}
    for entry in os.scandir(folder):
        with open(entry.path, "rb") as file:
            found[entry.name] = file.read()
    return found
