"""An array of which each process holds some rows, and which NumPy's own functions take as whole.

Rows lie with their owners, one stretch each. Three rules, and the mathematics needs to know none:

- What is done row by row is done to the own rows; a whole array that joins in is cut.
- What is summed over the rows is summed here and added up over the processes.
- Anything else gathers the rows and is done by each process alike. The result is a whole array.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from .group import Group

Bounds = tuple[int, ...]
FUNCTIONS: dict[Any, Callable[..., Any]] = {}


class ShardedArray(NDArrayOperatorsMixin):
    """Rows of an array, of which the other processes hold the others.

    Parameters
    ----------
    local : ndarray or DeviceArray of shape (n_own, ...)
    bounds : tuple of int
        Where the rows of each process begin, and the end.
    group : Group
    """

    __slots__ = ("_single", "_whole", "bounds", "group", "local")
    __array_priority__ = 2000

    def __init__(self, local: Any, bounds: Bounds, group: Group) -> None:
        self.local, self.bounds, self.group = local, bounds, group
        self._whole = self._single = None

    def __repr__(self) -> str:
        return f"ShardedArray({self.shape}, {self.dtype}, rows {self.span} here)"

    @property
    def span(self) -> tuple[int, int]:
        """First own row, and the end."""
        return self.bounds[self.group.rank], self.bounds[self.group.rank + 1]

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the whole."""
        return (self.bounds[-1], *self.local.shape[1:])

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return int(self.local.ndim)

    @property
    def size(self) -> int:
        """Number of elements of the whole."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> Any:
        """As NumPy names it."""
        return self.local.dtype

    @property
    def T(self) -> Turned:
        """The axes in reverse."""
        return Turned(self)

    def __len__(self) -> int:
        return self.bounds[-1]

    def __iter__(self) -> Any:
        return iter(self.whole())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        found = np.asarray(self.whole())
        return found if dtype is None else found.astype(dtype, copy=False)

    def made(self, local: Any) -> ShardedArray:
        """Another array with the same rows here."""
        return ShardedArray(local, self.bounds, self.group)

    def whole(self) -> Any:
        """All rows, as they are."""
        if self._whole is None:
            self._whole = self.group.gather(self.local, self.bounds, self.dtype)
        return self._whole

    def single(self) -> Any:
        """All rows, in single precision."""
        if self.dtype == np.float32:
            return self.whole()
        if self._single is None:
            self._single = self.group.gather(self.local, self.bounds, np.float32)
        return self._single

    def own(self, x: Any) -> Any:
        """The own rows of anything that meets this array."""
        if isinstance(x, ShardedArray):
            if x.bounds != self.bounds:
                raise ValueError(f"rows in other shares: {x.bounds} and {self.bounds}")
            return x.local
        if np.ndim(x) == self.ndim and len(x) == len(self) and len(self) > 1:
            start, stop = self.span
            return x[start:stop]
        return x

    def _goes_along(self, x: Any) -> bool:
        """Whether an operand can be taken row by row with this array."""
        return isinstance(x, ShardedArray) or np.ndim(x) <= self.ndim

    # Indices.
    def __getitem__(self, key: Any) -> Any:
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        if first is Ellipsis:
            return self.made(self.local[key])
        if isinstance(first, slice):
            found = self if first == slice(None) else self._rows(first)
            return found.made(found.local[(slice(None), *rest)]) if rest else found
        if isinstance(first, (int, np.integer)) and not rest:
            return self._row(int(first) % len(self))
        return self.whole()[key]

    def _rows(self, key: slice) -> ShardedArray:
        start, stop, step = key.indices(len(self))
        if (start, stop, step) == (0, len(self), 1):
            return self
        if step < 1:
            raise IndexError("rows of a sharded array go forward")
        low, high = self.span
        # Row p of the result is row start + p·step of this array.
        bounds = [-(-(min(max(b, start), max(stop, start)) - start) // step) for b in self.bounds]
        first, end = (start + bounds[self.group.rank + more] * step for more in (0, 1))
        local = self.local[max(first - low, 0) : max(min(end, high) - low, 0) : step]
        return ShardedArray(local, tuple(bounds), self.group)

    def _row(self, at: int) -> Any:
        low, high = self.span
        here = np.asarray(self.local[at - low] if low <= at < high else np.zeros(self.shape[1:]))
        return self.group.total(here)

    def __setitem__(self, key: Any, value: Any) -> None:
        self._whole = self._single = None
        first, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        if first is Ellipsis:
            self.local[key] = self._value(value)
            return
        if not isinstance(first, slice):
            raise IndexError("single rows of a sharded array cannot be set")
        part = self._rows(first)
        part.local[(slice(None), *rest)] = part._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, ShardedArray):
            return value.local
        if np.ndim(value) and np.ndim(value) <= self.ndim and len(value) == len(self):
            start, stop = self.span
            return value[start:stop] if len(self) > 1 else value
        return value

    # NumPy's functions.
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if method != "__call__":
            return NotImplemented
        out = options.pop("out", (None,))[0]
        if ufunc is np.matmul:
            found = _matmul(*inputs)
        else:
            lead = max((x for x in inputs if isinstance(x, ShardedArray)), key=lambda x: x.ndim)
            if options or not all(lead._goes_along(x) for x in inputs):
                found = ufunc(*(_whole(x) for x in inputs), **options)
            else:
                found = lead.made(ufunc(*(lead.own(x) for x in inputs)))
        if out is None:
            return found
        out[...] = found if isinstance(out, ShardedArray) else _whole(found)
        return out

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        made = FUNCTIONS.get(function)
        if made is not None:
            found = made(*args, **kwargs)
            if found is not NotImplemented:
                return found
        return function(*_whole(list(args)), **{name: _whole(x) for name, x in kwargs.items()})

    def astype(self, dtype: Any, copy: bool = True) -> ShardedArray:
        """In another precision."""
        return self.made(self.local.astype(dtype, copy=copy))

    def contiguous(self) -> ShardedArray:
        """With its rows one after another."""
        local = self.local
        own = np.ascontiguousarray(local) if isinstance(local, np.ndarray) else local.contiguous()
        return self if own is local else self.made(own)

    def copy(self) -> ShardedArray:
        """With memory of its own."""
        return self.made(self.local.copy())

    def reshape(self, *shape: Any) -> Any:
        """The same numbers in another shape with as many rows."""
        given = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        rest = list(given[1:])
        if not given or given[0] not in (len(self), -1) or (given[0] == -1 and -1 in rest):
            return self.whole().reshape(*shape)
        if -1 in rest:
            known = int(np.prod([n for n in rest if n != -1]))
            rest[rest.index(-1)] = int(np.prod(self.shape[1:])) // known
        if np.prod(rest) != np.prod(self.shape[1:]):
            return self.whole().reshape(*shape)
        return self.made(self.local.reshape(len(self.local), *rest))

    def transpose(self, *axes: int) -> Any:
        """The axes in another order; the rows have to stay first."""
        if axes and axes[0] == 0:
            return self.made(self.local.transpose(*axes))
        return self.whole().transpose(*axes)

    def take(self, indices: Any, axis: int | None = None) -> Any:
        """Some of the entries of an axis."""
        if axis is None or axis % self.ndim == 0:
            return self.whole().take(indices, axis=axis)
        return self.made(self.local.take(indices, axis=axis))

    def sum(self, axis: int | None = None, **options: Any) -> Any:
        """Over an axis or all."""
        if axis is None or axis % self.ndim == 0:
            return self.group.total(self.local.sum(axis=axis))
        return self.made(self.local.sum(axis=axis))

    def mean(self, axis: int | None = None, **options: Any) -> Any:
        """Over an axis or all."""
        if axis is None or axis % self.ndim == 0:
            return self.sum(axis) / (self.size if axis is None else len(self))
        return self.made(self.local.mean(axis=axis))

    def min(self) -> Any:
        """Of all."""
        return self._extreme(np.min, np.inf)

    def max(self) -> Any:
        """Of all."""
        return self._extreme(np.max, -np.inf)

    def _extreme(self, of: Callable[..., Any], none: float) -> Any:
        own = float(of(np.asarray(self.local))) if self.local.size else none
        return np.float64(of(self.group.all(np.array([own]))))

    def any(self, **options: Any) -> bool:
        """Whether any entry is true."""
        return bool(self.group.total(float(bool(self.local.any()))) > 0)

    def all(self, **options: Any) -> bool:
        """Whether all entries are."""
        return bool(self.group.total(float(bool(self.local.all()))) == self.group.size)


class Turned:
    """A sharded matrix turned around: its rows are what is summed over."""

    def __init__(self, array: ShardedArray) -> None:
        self.array = array

    def __matmul__(self, other: Any) -> Any:
        """XᵀY, (k, w)."""
        X = self.array
        return X.group.total(np.asarray(X.local.T @ X.own(other), dtype=np.float64))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.asarray(self.array, dtype=dtype).T


def _whole(x: Any) -> Any:
    """The same with all sharded arrays gathered, in lists as well."""
    if isinstance(x, ShardedArray):
        return x.whole()
    if isinstance(x, (list, tuple)):
        return type(x)(_whole(part) for part in x)
    return x


def _matmul(a: Any, b: Any) -> Any:
    if isinstance(b, ShardedArray):
        if b.ndim == np.ndim(a) == 3:
            return b.made(b.own(a) @ b.local)
        if b.ndim == 3 and np.ndim(a) == 2 and not isinstance(a, ShardedArray):
            return b.made(a @ b.local)
        if np.ndim(a) == 1 and len(a) == len(b):
            start, stop = b.span
            own = a.local if isinstance(a, ShardedArray) else a[start:stop]
            return b.group.total(np.asarray(own @ b.local, dtype=np.float64))
    elif isinstance(a, ShardedArray) and a.ndim >= 2 and np.ndim(b) <= 2:
        return a.made(a.local @ b)
    return _whole(a) @ _whole(b)


def _einsum(equation: str, *arrays: Any, **options: Any) -> Any:
    inputs, output = equation.split("->")
    terms = inputs.split(",")
    like = next(x for x in arrays if isinstance(x, ShardedArray))
    lead = terms[next(at for at, x in enumerate(arrays) if x is like)][0]
    for term, x in zip(terms, arrays, strict=True):
        if lead in term[1:] or (isinstance(x, ShardedArray) and term[0] != lead):
            return NotImplemented
    if lead in output[1:]:
        return NotImplemented
    start, stop = like.span
    own = [
        x.local if isinstance(x, ShardedArray) else x[start:stop] if term[:1] == lead else x
        for term, x in zip(terms, arrays, strict=True)
    ]
    found = np.einsum(equation, *own, **options)
    return like.made(found) if output[:1] == lead else like.group.total(np.asarray(found))


def _hstack(arrays: Any, **options: Any) -> Any:
    like = next(x for x in arrays if isinstance(x, ShardedArray))
    if like.ndim != 2 or options:
        return NotImplemented
    return like.made(np.hstack([like.own(x) for x in arrays]))


def _split(array: ShardedArray, cuts: Any) -> list[ShardedArray]:
    """Stretches of rows, each with whoever has them."""
    ends = [0, *cuts, len(array)]
    return [array[start:stop] for start, stop in pairwise(ends)]


def _like(make: Any) -> Callable[..., Any]:
    def made(array: ShardedArray, dtype: Any = None, shape: Any = None, **options: Any) -> Any:
        size = array.shape if shape is None else shape if isinstance(shape, tuple) else (shape,)
        if size[0] != len(array):
            return make(array.local, dtype=dtype, shape=size)
        return array.made(make(array.local, dtype=dtype, shape=(len(array.local), *size[1:])))

    return made


FUNCTIONS |= {
    np.einsum: _einsum,
    np.hstack: _hstack,
    np.split: _split,
    np.zeros_like: _like(np.zeros_like),
    np.empty_like: _like(np.empty_like),
    np.ones_like: _like(np.ones_like),
    np.sum: lambda array, axis=None, **options: array.sum(axis),
    np.mean: lambda array, axis=None, **options: array.mean(axis),
    np.all: lambda array, **options: array.all(),
    np.any: lambda array, **options: array.any(),
    np.shape: lambda array: array.shape,
    np.ndim: lambda array: array.ndim,
}
