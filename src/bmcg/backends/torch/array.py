"""A tensor that NumPy's own functions know how to handle, so that arrays stay where they are.

The mathematics is written in NumPy. Its functions ask their arguments whether they would rather do
the work themselves (NEP 13 and NEP 18); a `DeviceArray` does, so whatever is made of one is one.
Three rules keep the two kinds apart:

- An array of the host that meets one of the device goes there, in the precision of the latter.
- What is summed over the leading axis (rows, columns) is small, and comes back in float64.
- Nothing else comes back unless `np.asarray` asks for it, and no array of the host takes a result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.lib.mixins import NDArrayOperatorsMixin
from torch import Tensor

KINDS: dict[np.dtype[Any], torch.dtype] = {
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float64): torch.float64,
    np.dtype(np.int32): torch.int32,
    np.dtype(np.int64): torch.int64,
    np.dtype(np.bool_): torch.bool,
}
# What NumPy's functions are on tensors; `functions` fills them in.
UFUNCS: dict[str, Callable[..., Any]] = {}
FUNCTIONS: dict[Any, Callable[..., Any]] = {}
NAMES: dict[Any, np.dtype[Any]] = {kind: name for name, kind in KINDS.items()}


# Bytes of a piece of a long array on its way to the host.
STAGED = 1 << 26


class Traffic:
    """Bytes that went each way, for tests and benchmarks.

    Attributes
    ----------
    to_device, to_host : int
    """

    to_device = 0
    to_host = 0


class DeviceArray(NDArrayOperatorsMixin):
    """An array whose memory is a tensor."""

    __slots__ = ("tensor",)
    __array_priority__ = 1000

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return f"DeviceArray({tuple(self.shape)}, {self.dtype}, {self.tensor.device})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self.tensor.ndim

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.tensor.numel()

    @property
    def dtype(self) -> np.dtype[Any]:
        """As NumPy names it."""
        return NAMES[self.tensor.dtype]

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self.tensor.numel() * self.tensor.element_size()

    @property
    def T(self) -> DeviceArray:
        """The axes in reverse."""
        return DeviceArray(self.tensor.permute(*range(self.ndim - 1, -1, -1)))

    def __len__(self) -> int:
        return self.tensor.shape[0]

    def __float__(self) -> float:
        return float(self.tensor.item())

    def __bool__(self) -> bool:
        return bool(self.tensor.item())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = to_host(self.tensor)
        return found if dtype is None else found.astype(dtype, copy=False)

    def __getitem__(self, key: Any) -> DeviceArray:
        return DeviceArray(self.tensor[_key(key, self.tensor)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.tensor[_key(key, self.tensor)] = operand(value, self.tensor)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        made = UFUNCS.get(ufunc.__name__)
        out = options.pop("out", (None,))[0]
        if made is None or method != "__call__" or options or not all(map(_is_known, inputs)):
            return NotImplemented
        if out is not None and not isinstance(out, DeviceArray):
            raise TypeError("an array of the host cannot take a result of the device")
        given = [operand(x, self.tensor) for x in inputs]
        found = made(*given)
        if out is not None:
            out.tensor.copy_(found)
            return out
        return wrap(found)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        made = FUNCTIONS.get(function)
        if made is None or not all(issubclass(kind, (DeviceArray, np.ndarray)) for kind in types):
            return NotImplemented
        return made(*args, **kwargs)

    def astype(self, dtype: Any, copy: bool = True) -> DeviceArray:
        """In another precision."""
        return DeviceArray(self.tensor.to(KINDS[np.dtype(dtype)], copy=copy))

    def contiguous(self) -> DeviceArray:
        """With its rows one after another; NumPy has no function of that name that would ask."""
        return DeviceArray(self.tensor.contiguous())

    def copy(self) -> DeviceArray:
        """With memory of its own."""
        return DeviceArray(self.tensor.clone())

    def reshape(self, *shape: Any) -> DeviceArray:
        """The same numbers in another shape."""
        return DeviceArray(self.tensor.reshape(*shape))

    def transpose(self, *axes: int) -> DeviceArray:
        """The axes in another order."""
        return DeviceArray(self.tensor.permute(*axes)) if axes else self.T

    def take(self, indices: Any, axis: int) -> DeviceArray:
        """Some of the entries of an axis."""
        at = torch.as_tensor(np.asarray(indices), device=self.tensor.device)
        return DeviceArray(self.tensor.index_select(axis, at))

    def sum(self, axis: int | None = None, **options: Any) -> Any:
        """Over an axis or all."""
        return reduced(lambda x, **at: x.sum(dtype=torch.float64, **at), self, axis)

    def mean(self, axis: int | None = None, **options: Any) -> Any:
        """Over an axis or all."""
        return reduced(lambda x, **at: x.mean(dtype=torch.float64, **at), self, axis)

    def std(self, axis: int | None = None, ddof: int = 0, **options: Any) -> Any:
        """Over an axis or all."""
        return reduced(lambda x, **at: x.double().std(correction=ddof, **at), self, axis)

    def var(self, axis: int | None = None, ddof: int = 0, **options: Any) -> Any:
        """Over an axis or all."""
        return reduced(lambda x, **at: x.double().var(correction=ddof, **at), self, axis)

    def any(self, **options: Any) -> bool:
        """Whether any entry is true."""
        return bool(self.tensor.any().item())

    def all(self, **options: Any) -> bool:
        """Whether all entries are."""
        return bool(self.tensor.all().item())


def _is_known(x: Any) -> bool:
    """Whether an operand is none of another kind of array, which may know what to do with both."""
    return isinstance(x, (DeviceArray, np.ndarray, np.generic)) or not hasattr(x, "__array_ufunc__")


def reduced(function: Callable[..., Tensor], array: DeviceArray, axis: int | None) -> Any:
    """A reduction in float64: back on the host where the leading axis goes, else as it was."""
    x = array.tensor
    if axis is None:
        return np.float64(function(x).item())
    found = function(x, dim=axis)
    if axis % x.ndim == 0:
        return to_host(found)
    return DeviceArray(found.to(x.dtype) if x.is_floating_point() else found)


def wrap(found: Any) -> Any:
    """A tensor as an array; what is small enough to be on the host already stays."""
    return DeviceArray(found) if isinstance(found, Tensor) else found


def to_host(tensor: Tensor) -> np.ndarray[Any, Any]:
    """The tensor as an array of the host."""
    Traffic.to_host += tensor.numel() * tensor.element_size()
    if tensor.is_cuda and tensor.numel() * tensor.element_size() > STAGED and tensor.ndim:
        return _staged(tensor.detach().contiguous())
    return tensor.detach().cpu().numpy()


def _staged(tensor: Tensor) -> np.ndarray[Any, Any]:
    """A long tensor through two pinned pieces: one travels while the other is put in its place."""
    out = torch.empty(tensor.shape, dtype=tensor.dtype)
    source, goal = tensor.view(-1), out.view(-1)
    step = STAGED // tensor.element_size()
    rooms = [torch.empty(step, dtype=tensor.dtype, pin_memory=True) for _ in range(2)]
    coming: list[tuple[slice, Tensor, Any]] = []
    for number, start in enumerate(range(0, len(source), step)):
        here = slice(start, min(start + step, len(source)))
        room = rooms[number % 2][: here.stop - here.start]
        if len(coming) == 2:
            _placed(goal, *coming.pop(0))
        room.copy_(source[here], non_blocking=True)
        coming.append((here, room, torch.cuda.current_stream(tensor.device).record_event()))
    for piece in coming:
        _placed(goal, *piece)
    return out.numpy()


def _placed(goal: Tensor, here: slice, room: Tensor, arrived: Any) -> None:
    arrived.synchronize()
    goal[here] = room


def to_device(array: Any, device: torch.device, kind: torch.dtype | None = None) -> Tensor:
    """An array of the host as a tensor; one that needs no change shares its memory on a CPU."""
    found = torch.from_numpy(np.asarray(array))
    Traffic.to_device += found.numel() * found.element_size()
    if kind is not None and found.is_floating_point() and found.dtype != kind:
        # Cast there: the host is the slower of the two.
        return found.to(device).to(kind)
    return found.to(device)


def operand(x: Any, like: Tensor) -> Any:
    """What meets a tensor, in its precision; numbers stay numbers."""
    if isinstance(x, DeviceArray):
        return x.tensor
    if isinstance(x, np.generic) or (isinstance(x, np.ndarray) and x.ndim == 0):
        return x.item()
    if isinstance(x, np.ndarray):
        kind = like.dtype if like.is_floating_point() else None
        return to_device(x, like.device, kind)
    return x


def _key(key: Any, like: Tensor) -> Any:
    """An index with arrays of the host made tensors."""
    if isinstance(key, tuple):
        return tuple(_key(part, like) for part in key)
    if isinstance(key, DeviceArray):
        return key.tensor
    if isinstance(key, np.ndarray):
        found = torch.as_tensor(key, device=like.device)
        return found if found.dtype == torch.bool else found.long()
    return key.item() if isinstance(key, np.generic) else key


def into(out: Any, found: Tensor) -> Any:
    """What was found, in the array that was given for it if any."""
    if out is None:
        return DeviceArray(found)
    if isinstance(out, DeviceArray):
        out.tensor.copy_(found)
    else:
        out[...] = to_host(found)
    return out


def min_kind(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """The shorter of two precisions; what is no float is left alone."""
    return b if a == torch.float64 and b == torch.float32 else a


def narrowed(x: Tensor, kind: torch.dtype) -> Tensor:
    """In this back end's precision, where it has more."""
    return x.to(min_kind(x.dtype, kind))
