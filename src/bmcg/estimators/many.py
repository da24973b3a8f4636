"""A fit shared between processes: what it may be, when it ends, and what a lost process leaves."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

from ..backends import host
from ..files.checkpoints import Checkpoint
from ..inference.fit import Fit
from ..inference.place import ChainPlace
from ..inference.snapshot import Snapshot
from ..inference.state import moved
from ..likelihoods import Likelihood, WeakZero
from ..observations import Observations

Place = Snapshot | ChainPlace
SIGNALS = (signal.SIGINT, signal.SIGTERM)


def group_of(observations: Observations) -> Any:
    """The processes that share the observations; None where this one has them all."""
    return getattr(observations, "group", None)


def check_shared(
    observations: Observations,
    likelihood: Likelihood,
    rows: tuple[Any, Any],
    cols: tuple[Any, Any],
    posterior: str,
) -> None:
    """Refuse what needs all entries in one process, before any work.

    `rows` and `cols` are the graph and the features of a side, as they were given.
    """
    group = group_of(observations)
    if group is None:
        return
    many = f"{group.size} processes share the entries"
    if isinstance(likelihood, WeakZero):
        raise ValueError(
            f'missing="weak-zero": {many}, and its weights are learned from lists of all of them; '
            "fit in one process"
        )
    if not likelihood.is_plain:
        raise ValueError(
            f'likelihood="{likelihood.title.split(" ")[0]}" with noise of single entries, rows or '
            f"columns: {many} by rows and by columns, and weights of single entries are not sent "
            'around; use likelihood="gaussian" with noise="shared", or fit in one process'
        )
    for word, given in (("row", rows), ("col", cols)):
        if any(isinstance(part, str) for part in given):
            raise ValueError(
                f'{word}_graph="auto" and {word}_features="pattern" are made of the observations: '
                f"{many}; give a graph or features, or fit in one process"
            )
        if given[1] is not None and posterior in ("auto", "sampled"):
            raise ValueError(
                f'{word}_features with posterior="{posterior}": {many}, and draws with features '
                'are made in one process; use posterior="row" or "joint", or fit in one process'
            )


def lines_of_one(group: Any, local: Any, make: Callable[[], Any]) -> Any:
    """What `make` gives, of a fit in one process; of many there is none, and asking is refused."""
    if group is None:
        return make()
    if isinstance(local, str) and local == "auto":
        return None
    if local is not None and local is not False:
        raise ValueError(
            f"local={local!r}: {group.size} processes share the entries, and what is local is "
            'fitted in one process; leave it at "auto"'
        )
    return None


def quiet(group: Any, show: AbstractContextManager[Any]) -> AbstractContextManager[Any]:
    """Progress: the first process shows it."""
    if group is None or group.is_first:
        return show
    return nullcontext(lambda *told, **more: None)


class Keeper:
    """The checkpoint of a fit, of one process or of many: the first one writes for all.

    Parameters
    ----------
    file : Checkpoint or None
    group : Group or None
    """

    def __init__(self, file: Checkpoint | None, group: Any) -> None:
        self.file, self.group = file, group
        self.last: Place | None = None

    @property
    def advice(self) -> str:
        """How to go on after the fit."""
        return "" if self.file is None else self.file.advice

    def __call__(self, place: Place) -> None:
        """A place between two sweeps; what is spread over processes is gathered by all of them."""
        if self.file is None:
            return
        if self.group is None:
            self.file(place)
            return
        self.last = on_host(place)
        if self.group.is_first:
            self.file(self.last)

    def finish(self, fit: Fit) -> None:
        """Leave a fit that did not converge in the file."""
        if self.file is None:
            return
        if self.group is not None and fit.snapshot is not None:
            fit = replace(fit, snapshot=on_host(fit.snapshot))
        if self.group is None or self.group.is_first:
            self.file.finish(fit)

    def lost(self) -> str:
        """Another process has ended: leave what stood before the sweep, and say how to go on."""
        if self.file is None:
            return "nothing was kept, because there is no checkpoint"
        path = self.file.path
        if self.last is None:
            return f"no sweep had ended, so {path} holds nothing new"
        if self.group.is_first:
            self.file.write(self.last)
        return (
            f"{path} holds the fit as it stood before the sweep, if the first process has not "
            "ended too: go on with resume=True (--resume), on any number of processes"
        )


def on_host(place: Place) -> Place:
    """A place with all its arrays whole, in this process."""
    if isinstance(place, Snapshot):
        return replace(place, state=moved(place.state, host), momentum=place.momentum.moved(host))
    point = replace(place.point, rows=host(place.point.rows), cols=host(place.point.cols))
    return replace(place, point=point)


@contextmanager
def together(group: Any, keeper: Keeper) -> Iterator[Callable[[bool], bool]]:
    """A fit of many processes: all stop after the same sweep, and none waits for a lost one.

    Yields a function that says whether to stop, which all have to ask after each sweep: where
    one of them was told to, by Ctrl-C or by a callback, all do.
    """
    if group is None:
        yield lambda stop: stop
        return
    told: list[int] = []
    main = threading.current_thread() is threading.main_thread()
    before = [signal.signal(s, lambda number, _: told.append(number)) for s in SIGNALS * main]
    try:
        yield lambda stop: bool(group.total(float(stop or bool(told))) > 0)
    except ConnectionError as error:
        raise type(error)(f"{error}; {keeper.lost()}") from error
    finally:
        for number, handler in zip(SIGNALS * main, before, strict=True):
            signal.signal(number, handler)
