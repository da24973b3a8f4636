"""Long fits that survive: a file to go on from, written now and then while a fit runs."""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError

from ..caller import user_level
from ..inference.fit import Fit, SideInput
from ..inference.place import ChainPlace
from ..inference.snapshot import Snapshot
from ..observations import Observations
from .chains import MARK, chain_arrays, chain_place
from .schema import check_checkpoint
from .snapshots import from_arrays, to_arrays
from .storage import CHECKPOINT, CheckpointError, read_tensors, write_atomically, write_tensors

Place = Snapshot | ChainPlace

# Seconds between checkpoints, and the largest share of a fit's time that writing them may take.
SECONDS = 120.0
SHARE = 0.01


@dataclass(frozen=True)
class Identity:
    """What a fit is of; a checkpoint serves only a fit with the same.

    Attributes
    ----------
    data, rows, cols : str
        Digests of the observations, and of the graph and the features of each side.
    settings : dict
        Parameters that the course of the fit depends on.
    seed : int
    shape : (int, int) or None
        Of the observations, which arrays are held to.
    """

    data: str
    rows: str
    cols: str
    settings: dict[str, Any]
    seed: int
    shape: tuple[int, int] | None = None


class Checkpoint:
    """The checkpoint file of one running fit.

    Parameters
    ----------
    path : path-like
    identity : Identity
    snapshot : Snapshot or ChainPlace, optional
        What the file held, to go on from.

    Attributes
    ----------
    advice : str
        How to go on after the fit, for the end of a sentence; empty where that is not possible.
    """

    def __init__(
        self, path: str | os.PathLike[str], identity: Identity, snapshot: Place | None = None
    ) -> None:
        self.path, self.identity, self.snapshot = Path(path), identity, snapshot
        self.failed = False
        self.advice = ""
        self.written = time.monotonic()
        self.pause = SECONDS

    def __call__(self, snapshot: Place) -> None:
        """Write where the last checkpoint is old enough."""
        if time.monotonic() - self.written >= self.pause:
            self.write(snapshot)

    def write(self, snapshot: Place) -> bool:
        """Write; a file that cannot be written is a warning, the fit goes on."""
        started = time.monotonic()
        header = {**vars(self.identity), "bmcg": _version(), "answers": snapshot.answers}
        arrays = to_arrays(snapshot) if isinstance(snapshot, Snapshot) else chain_arrays(snapshot)
        partial = self.path.with_name(f".{self.path.name}.partial")
        try:
            write_atomically(
                self.path,
                lambda name: write_tensors(name, arrays, header, CHECKPOINT),
                partial,
            )
        except (OSError, SafetensorError) as error:
            if not self.failed:
                warnings.warn(
                    f"no checkpoint was written to {self.path}: {error}; the fit goes on, "
                    "and each later checkpoint is tried again",
                    RuntimeWarning,
                    stacklevel=user_level(),
                )
            self.failed = True
        else:
            self.failed = False
        self.written = time.monotonic()
        self.pause = max(SECONDS, (self.written - started) / SHARE)
        return not self.failed

    def finish(self, fit: Fit) -> None:
        """Leave a fit that did not converge in the file."""
        if fit.snapshot is not None and self.write(fit.snapshot):
            self.advice = f"; to go on from {self.path}, fit again with resume=True"


def open_checkpoint(
    path: Any, resume: Any, identity: Identity, max_sweeps: int, fixed_seed: bool
) -> Checkpoint | None:
    """The checkpoint of a fit that is about to begin, checked before any work.

    Parameters
    ----------
    path : path-like or None
        No checkpoint where None.
    resume : bool
        Go on from the file. Without it, a file that exists is refused, not replaced.
    identity : Identity
    max_sweeps : int
    fixed_seed : bool
        Whether the user gave the seed: it must then be that of the checkpoint.
    """
    if not isinstance(resume, (bool, np.bool_)):
        raise ValueError(f"resume={resume!r}: pass True or False")
    if path is None:
        if resume:
            raise ValueError("resume=True needs the file to go on from: pass checkpoint=path")
        return None
    if not isinstance(path, (str, os.PathLike)):
        raise ValueError(f"checkpoint={path!r}: pass the name of a file, or None")
    if not resume:
        if Path(path).exists():
            raise FileExistsError(
                f"checkpoint={os.fspath(path)!r} exists already: pass resume=True to go on from "
                "it, or remove it"
            )
        return Checkpoint(path, identity)
    if not Path(path).exists():
        warnings.warn(
            f"there is no checkpoint at {path} to go on from: the fit starts from the beginning",
            UserWarning,
            stacklevel=user_level(),
        )
        return Checkpoint(path, identity)
    snapshot, seed = read_checkpoint(path, identity)
    if fixed_seed and seed != identity.seed:
        raise CheckpointError(f"cannot go on from {path}: it was made with another random_state")
    if snapshot.n_sweeps >= max_sweeps:
        raise CheckpointError(
            f"{path} holds {snapshot.n_sweeps} sweeps already: "
            f"raise max_sweeps={max_sweeps} to go on"
        )
    return Checkpoint(path, replace(identity, seed=seed), snapshot)


def read_checkpoint(path: str | os.PathLike[str], identity: Identity) -> tuple[Place, int]:
    """Where to go on from, and the seed of that fit.

    Parameters
    ----------
    path : path-like
    identity : Identity
        Of the fit at hand. A checkpoint of anything else is refused with the reason.
    """
    arrays, header = read_tensors(path, CHECKPOINT)
    reasons = list(_differences(header, identity))
    if reasons:
        raise CheckpointError(
            f"cannot go on from {path}: {'; '.join(reasons)}. Give what that fit was given, or "
            "remove the checkpoint and fit from the beginning"
        )
    place: Place
    try:
        check_checkpoint(arrays, identity.shape)
        if MARK in arrays:
            place = chain_place(arrays)
        else:
            place = from_arrays(arrays, identity.settings["posterior"])
        seed = header["seed"]
        if type(seed) is not int or seed < 0:
            raise ValueError(f"seed={seed!r}")
        return replace(place, answers=header.get("answers")), seed
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise CheckpointError(
            f"{path} is not a complete checkpoint ({type(error).__name__}: {str(error)[:300]}); "
            f"{CHECKPOINT.broken}"
        ) from None


def _differences(header: Mapping[str, Any], identity: Identity) -> Iterable[str]:
    """Why a checkpoint does not belong to a fit, one reason each."""
    if header.get("bmcg") != _version():
        yield f"bmcg {str(header.get('bmcg'))[:60]} wrote it, this is {_version()}"
    for part, words in (
        ("data", "it is of other data"),
        ("rows", "its row graph or row features are others"),
        ("cols", "its column graph or column features are others"),
    ):
        if header.get(part) != getattr(identity, part):
            yield words
    found = header.get("settings", {})
    stored = found if isinstance(found, dict) else {}
    for name, value in identity.settings.items():
        if stored.get(name) != value:
            yield f"it was made with {name}={repr(stored.get(name))[:60]}, not {value!r}"


def identify(
    observations: Observations,
    rows: SideInput,
    cols: SideInput,
    settings: dict[str, Any],
    seed: int,
) -> Identity:
    """The identity of a fit; `settings` holds plain values."""
    labels = [
        side.encode()
        for side in (observations.row_labels, observations.col_labels)
        if side is not None
    ]
    shape = np.asarray(observations.shape)
    # Of what is there, not of who holds it: a fit may go on with another number of processes.
    entries = np.array([observations.fingerprint()], dtype=np.uint64).view(np.int64)
    data = _digest(shape, entries, *labels)
    sides = _side_digest(rows), _side_digest(cols)
    return Identity(data, *sides, settings, seed, observations.shape)


def _side_digest(side: SideInput) -> str:
    stack, F = side.stack, side.features
    parts: list[NDArray[Any]] = [stack.heads, stack.tails, stack.weights]
    if F is not None:
        parts += [F.indptr, F.indices, F.data]
    return _digest(*parts, np.frombuffer("\n".join(stack.names).encode(), dtype=np.uint8))


def _digest(*arrays: NDArray[Any]) -> str:
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.dtype.kind}{array.shape}".encode())
        # Index types differ between platforms and sources, their values do not.
        wide = array.astype(np.int64) if array.dtype.kind in "iu" else array
        total.update(np.ascontiguousarray(wide).tobytes())
    return total.hexdigest()


def _version() -> str:
    from .. import __version__

    return __version__
