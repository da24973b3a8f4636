"""The functions of NumPy that the mathematics uses, on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .array import FUNCTIONS, KINDS, UFUNCS, DeviceArray, operand, to_device, to_host

# Numbers of one piece of a sum in float64: what is cast at once.
PIECE = 1 << 24


def _first(arrays: Sequence[Any]) -> Tensor:
    """The first tensor among arrays: where the others go, and in which precision."""
    return next(x.tensor for x in arrays if isinstance(x, DeviceArray))


def _pair(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """A function of two tensors for which numbers will do."""

    def made(a: Any, b: Any) -> Tensor:
        like = a if isinstance(a, Tensor) else b
        # A number is a tensor without axes, on the host: it meets any device, in its precision.
        a, b = (x if isinstance(x, Tensor) else torch.tensor(x, dtype=like.dtype) for x in (a, b))
        return function(a, b)

    return made


def _matmul(a: Tensor, b: Tensor) -> Any:
    if a.ndim == 1:
        # A sum over the rows: back on the host, in float64.
        return _summed("i,ij->j" if b.ndim == 2 else "i,i->", [a, b])
    return torch.matmul(a, b)


UFUNCS |= {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negative": operator.neg,
    "matmul": _matmul,
    "maximum": _pair(torch.maximum),
    "minimum": _pair(torch.minimum),
    "square": torch.square,
    "sqrt": torch.sqrt,
    "log": torch.log,
    "exp": torch.exp,
    "log1p": torch.log1p,
    "expm1": torch.expm1,
    "tanh": torch.tanh,
    "expit": torch.sigmoid,
    "ndtr": torch.special.ndtr,
    "ndtri": torch.special.ndtri,
    "log_ndtr": torch.special.log_ndtr,
    "gammaln": torch.lgamma,
    "absolute": torch.abs,
    "sign": torch.sign,
    "isfinite": torch.isfinite,
    "isnan": torch.isnan,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "invert": operator.invert,
}


def _joined(join: Callable[..., Tensor]) -> Callable[..., DeviceArray]:
    def made(arrays: Sequence[Any], **options: Any) -> DeviceArray:
        like = _first(arrays)
        given = [operand(x, like) for x in arrays]
        return DeviceArray(
            join(given, **{{"axis": "dim"}[name]: at for name, at in options.items()})
        )

    return made


def _like(make: Callable[..., Tensor]) -> Callable[..., DeviceArray]:
    def made(
        array: DeviceArray, dtype: Any = None, shape: Any = None, **options: Any
    ) -> DeviceArray:
        x = array.tensor
        size = x.shape if shape is None else shape if isinstance(shape, tuple) else (shape,)
        kind = x.dtype if dtype is None else KINDS[np.dtype(dtype)]
        return DeviceArray(make(size, dtype=kind, device=x.device))

    return made


def einsum(equation: str, *arrays: Any, **options: Any) -> Any:
    """Sums over the leading axis come back in float64; other sums stay."""
    like = _first(arrays)
    given = [operand(x, like) for x in arrays]
    lead = equation[next(at for at, x in _terms(equation, arrays) if isinstance(x, DeviceArray))]
    if lead not in equation.split("->")[1]:
        return _summed(equation, given)
    return DeviceArray(torch.einsum(equation, *given))


def _terms(equation: str, arrays: Sequence[Any]) -> list[tuple[int, Any]]:
    """Where each operand's letters begin in the equation."""
    starts, at = [], 0
    for part in equation.split("->")[0].split(","):
        starts.append(at)
        at += len(part) + 1
    return list(zip(starts, arrays, strict=True))


def _summed(equation: str, given: Sequence[Tensor]) -> Any:
    """A sum over the leading axis, piece by piece in float64."""
    inputs, output = equation.split("->")
    parts = inputs.split(",")
    if parts == ["ir", "ir"] and output == "r":
        # As matrix products, columns would be multiplied one by one.
        return to_host((given[0] * given[1]).sum(0, dtype=torch.float64))
    lead = parts[0][0]
    n = given[0].shape[0]
    width = max(1, max(x.numel() // max(n, 1) for x in given))
    step = max(1, PIECE // width)
    total = None
    for start in range(0, max(n, 1), step):
        piece = [
            (x[start : start + step] if part[:1] == lead else x).double()
            for part, x in zip(parts, given, strict=True)
        ]
        found = torch.einsum(equation, *piece)
        total = found if total is None else total + found
    assert total is not None
    return to_host(total) if output else np.float64(total.item())


def _where(condition: Any, a: Any, b: Any) -> DeviceArray:
    like = next((x.tensor for x in (a, b) if isinstance(x, DeviceArray)), None)
    at = condition.tensor if isinstance(condition, DeviceArray) else condition
    if like is None:
        like = torch.empty(0, dtype=torch.float64, device=at.device)
    if not isinstance(at, Tensor):
        at = torch.as_tensor(at, device=like.device)
    return DeviceArray(torch.where(at, operand(a, like), operand(b, like)))


def _pad(array: DeviceArray, width: Any, **options: Any) -> DeviceArray:
    flat = [int(end) for pair in reversed(list(width)) for end in pair]
    return DeviceArray(torch.nn.functional.pad(array.tensor, flat))


def _repeat(array: DeviceArray, repeats: Any, axis: int | None = None) -> DeviceArray:
    times = operand(repeats, array.tensor)
    return DeviceArray(torch.repeat_interleave(array.tensor, times, dim=axis))


def _taken(table: Any, places: DeviceArray, axis: int) -> DeviceArray:
    """Numbers of a short table of the host, in its precision, at places on the device."""
    return DeviceArray(to_device(table, places.tensor.device)[places.tensor])


def _placed(edges: Any, values: DeviceArray) -> DeviceArray:
    """Where values are among sorted ones, which are rounded as they are."""
    x = values.tensor
    return DeviceArray(torch.searchsorted(to_device(edges, x.device, x.dtype), x.contiguous()))


def _counted(codes: DeviceArray, weights: Any = None, minlength: int = 0) -> Any:
    """Sums over each of a few codes, one after the other: always in the same order."""
    at, size = codes.tensor, max(minlength, int(codes.tensor.max().item()) + 1 if len(codes) else 0)
    if weights is None:
        return np.array([int((at == code).sum().item()) for code in range(size)])
    w = weights.tensor
    zero = torch.zeros((), dtype=w.dtype, device=w.device)
    parts = [torch.where(at == code, w, zero).sum(dtype=torch.float64) for code in range(size)]
    return to_host(torch.stack(parts))


def _clipped(array: DeviceArray, low: Any, high: Any, **options: Any) -> Any:
    return np.minimum(np.maximum(array, low), high)


def _unique(array: DeviceArray, return_counts: bool = False) -> Any:
    found, counts = torch.unique(array.tensor, return_counts=True)
    return (to_host(found), to_host(counts)) if return_counts else to_host(found)


def _full(array: DeviceArray, value: float, **options: Any) -> DeviceArray:
    return DeviceArray(torch.full_like(array.tensor, float(value)))


FUNCTIONS |= {
    np.hstack: _joined(torch.hstack),
    np.concatenate: _joined(torch.cat),
    np.stack: _joined(torch.stack),
    np.empty_like: _like(torch.empty),
    np.zeros_like: _like(torch.zeros),
    np.ones_like: _like(torch.ones),
    np.full_like: _full,
    np.einsum: einsum,
    np.take_along_axis: _taken,
    np.searchsorted: _placed,
    np.bincount: _counted,
    np.clip: _clipped,
    np.unique: _unique,
    np.flatnonzero: lambda array: DeviceArray(torch.nonzero(array.tensor.ravel()).ravel()),
    np.cumsum: lambda array, axis: DeviceArray(torch.cumsum(array.tensor, axis)),
    np.where: _where,
    np.pad: _pad,
    np.repeat: _repeat,
    np.sum: lambda array, axis=None, **options: array.sum(axis),
    np.mean: lambda array, axis=None, **options: array.mean(axis),
    np.all: lambda array, **options: array.all(),
    np.any: lambda array, **options: array.any(),
    np.shape: lambda array: array.shape,
    np.ndim: lambda array: array.ndim,
    np.diagonal: lambda array, offset=0, axis1=0, axis2=1: DeviceArray(
        torch.diagonal(array.tensor, offset, axis1, axis2)
    ),
}
