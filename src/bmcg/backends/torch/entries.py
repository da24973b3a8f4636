"""Sparse rows as a device holds them: pieces of rows, cut into segments of entries.

Rows are as uneven as data are. A segment is at most `SEGMENT` entries of one row; what the
segments of a long row sum to is added up in their order, so a sum is the same every time. Entries
that do not fit into the device's memory stay in pinned memory of the host and pass through piece
by piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..base import SparseRows
from .array import DeviceArray, to_device

# Entries of a segment: enough to keep a program busy, few enough to share out a long row.
SEGMENT = 2048
# Entries of a piece that passes through: two of them are on the device at a time.
STREAMED = 1 << 26


@dataclass(frozen=True)
class Segments:
    """Where the programs of a kernel work.

    Attributes
    ----------
    row : Tensor of int32, shape (n_segments,)
    low, high : Tensor of int64, shape (n_segments,)
        First entry and the end.
    slot : Tensor of int32, shape (n_segments,)
        Place among the segments of long rows; -1 where the row has this one alone.
    long : Tensor of int64, shape (n_long,)
        Rows of several segments.
    parts : Tensor of int64, shape (n_long,)
        How many each of them has.
    """

    row: Tensor
    low: Tensor
    high: Tensor
    slot: Tensor
    long: Tensor
    parts: Tensor

    @cached_property
    def first(self) -> Tensor:
        """Place of each long row's first segment among those of all of them."""
        return torch.cumsum(self.parts, 0) - self.parts

    @cached_property
    def n_slots(self) -> int:
        """Segments of long rows."""
        return int(self.parts.sum().item())


def segments(ptr: Tensor) -> Segments:
    """Cut rows into segments; ptr (n + 1,) says where each starts."""
    counts = ptr.diff()
    parts = (counts + SEGMENT - 1) // SEGMENT
    # A row without entries has a segment of none: its sums are zero, and somebody must write them.
    parts = parts.clamp(min=1)
    rows = torch.arange(len(counts), device=ptr.device)
    row = torch.repeat_interleave(rows, parts)
    first = torch.cumsum(parts, 0) - parts
    part = torch.arange(len(row), device=ptr.device) - first[row]
    low = ptr[row] + part * SEGMENT
    high = torch.minimum(low + SEGMENT, ptr[row + 1])
    many = parts > 1
    place = torch.cumsum(many[row].int(), 0) - 1
    slot = torch.where(many[row], place, torch.full_like(place, -1))
    long = torch.nonzero(many).ravel()
    return Segments(row.int(), low, high, slot.int(), long, parts[long])


@dataclass
class Piece:
    """Consecutive rows with their entries on the device.

    Attributes
    ----------
    first, stop : int
        Rows.
    start : int
        Place of the first entry among all.
    ptr : Tensor of int64, shape (n_rows + 1,)
        Where each row starts in this piece.
    indices : Tensor of int32, shape (n_entries,)
    values : Tensor of shape (n_entries,)
    """

    first: int
    stop: int
    start: int
    ptr: Tensor
    indices: Tensor
    values: Tensor

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.stop - self.first

    @property
    def size(self) -> int:
        """Number of entries."""
        return len(self.indices)

    @property
    def span(self) -> slice:
        """Its entries among all."""
        return slice(self.start, self.start + self.size)

    @cached_property
    def segments(self) -> Segments:
        """Where programs work."""
        return segments(self.ptr)


class Entries:
    """A `SparseRows` on a device.

    Parameters
    ----------
    rows : SparseRows
    device : torch.device
    kind : torch.dtype
        Of the values.
    stream : bool
        Whether entries stay in pinned memory of the host.
    """

    def __init__(
        self, rows: SparseRows, device: torch.device, kind: torch.dtype, stream: bool
    ) -> None:
        self.device, self.kind, self.stream = device, kind, stream
        self.ptr = to_device(rows.indptr, device)
        if stream:
            self.indices = _pinned(torch.from_numpy(np.asarray(rows.indices)), device)
            self.bounds = _bounds(np.asarray(rows.indptr))
        else:
            self.indices = to_device(rows.indices, device)
            self.bounds = [(0, rows.n)]
        self.offsets = [int(rows.indptr[first]) for first, _ in self.bounds]
        self.ends = [int(rows.indptr[stop]) for _, stop in self.bounds]
        self.cuts: dict[int, Any] = {}
        self.held: tuple[Any, Tensor] | None = None

    def values_of(self, rows: SparseRows) -> Tensor:
        """The values, which may be others for the same entries."""
        if isinstance(rows.values, DeviceArray):
            found = rows.values.tensor
            return found if found.dtype == self.kind else found.to(self.kind)
        if self.held is None or self.held[0] is not rows.values:
            if self.stream:
                found = _pinned(torch.from_numpy(rows.values).to(self.kind), self.device)
            else:
                found = to_device(rows.values, self.device, self.kind)
            self.held = rows.values, found
        return self.held[1]

    def pieces(self, rows: SparseRows) -> Iterator[Piece]:
        """All rows in order; of streamed ones the next piece travels while one is worked on."""
        values = self.values_of(rows)
        if not self.stream:
            yield self._piece(0, self.indices, values)
            return
        copy = torch.cuda.Stream(self.device) if self.device.type == "cuda" else None
        coming = self._fetch(0, values, copy)
        for number in range(len(self.bounds)):
            here = self._arrived(coming, copy)
            if number + 1 < len(self.bounds):
                coming = self._fetch(number + 1, values, copy)
            yield self._piece(number, *here)

    def _piece(self, number: int, indices: Tensor, values: Tensor) -> Piece:
        first, stop = self.bounds[number]
        ptr = self.ptr[first : stop + 1]
        if number or self.stream:
            ptr = ptr - self.offsets[number]
        piece = Piece(first, stop, self.offsets[number], ptr, indices, values)
        if number in self.cuts:
            piece.__dict__["segments"] = self.cuts[number]
        elif indices.is_cuda:
            self.cuts[number] = piece.segments
        return piece

    def _fetch(self, number: int, values: Tensor, copy: Any) -> tuple[Tensor, Tensor]:
        span = slice(self.offsets[number], self.ends[number])
        parts = self.indices[span], values[span]
        if copy is None:
            return parts[0].to(self.device), parts[1].to(self.device)
        with torch.cuda.stream(copy):
            i, x = (part.to(self.device, non_blocking=True) for part in parts)
        return i, x

    def _arrived(self, parts: tuple[Tensor, Tensor], copy: Any) -> tuple[Tensor, Tensor]:
        if copy is not None:
            now = torch.cuda.current_stream(self.device)
            now.wait_stream(copy)
            for part in parts:
                # Its memory may be used again once the work here has passed it.
                part.record_stream(now)
        return parts


def _bounds(indptr: np.ndarray[Any, Any]) -> list[tuple[int, int]]:
    """Rows of each piece: as many as hold `STREAMED` entries, one at least."""
    n, out, first = len(indptr) - 1, list[tuple[int, int]](), 0
    while first < n:
        stop = int(np.searchsorted(indptr, indptr[first] + STREAMED, side="right")) - 1
        stop = min(max(stop, first + 1), n)
        out.append((first, stop))
        first = stop
    return out or [(0, 0)]


def _pinned(tensor: Tensor, device: torch.device) -> Tensor:
    return tensor.pin_memory() if device.type == "cuda" else tensor
