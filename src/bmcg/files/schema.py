"""What the arrays of a file must look like, checked before anything is made of them.

Files come from strangers, and compiled code follows positions wherever they lead: types, shapes,
positions and signs are those of a whole model, or the file is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]

# By name: the kind of its numbers, and its axes. Letters are lengths that agree throughout the
# file; m and n are those of the matrix, p of a packed triangle of K. Finite where the kind is "F".
_SIDE = {
    "mean": ("F", "{n},K"),
    "cov": ("F", "{n},C"),
    "energy": ("f", "K,K"),
    "log_det": ("f", "1"),
    "data_precision": ("f", "*,*"),
    "lam": ("f", "K"),
    "constant": ("i", "1"),
    "indptr": ("i", "{n}+1"),
    "indices": ("i", "{s}P"),
    "prior": ("F", "{s}P"),
    "diagonal": ("F", "{n}"),
    "heads": ("i", "{s}E"),
    "tails": ("i", "{s}E"),
    "weights": ("F", "{s}E"),
    "ridge": ("F", "1"),
    "features_data": ("F", "{s}D"),
    "features_indices": ("i", "{s}D"),
    "features_indptr": ("i", "{n}+1"),
    "features_shape": ("i", "2"),
    "beta": ("f", "1"),
    "labels": ("u", "*"),
    "factors": ("F", "{n},K"),
    "means": ("F", "{n},K"),
    "covariances": ("F", "{n},C"),
    "draws": ("F", "S,{n},K"),
}
_WHOLE = {
    "lam_shape": ("F", "k"),
    "lam_rate": ("F", "k"),
    "tau": ("F", "2"),
    "scale": ("f", "*"),
    "family": ("u", "*"),
    "likelihood": ("u", "*"),
    "draws_rows": ("F", "S,m,W"),
    "draws_cols": ("F", "S,n,W"),
    "draws_tau": ("F", "S"),
    "unit_shift": ("F", "n"),
    "unit_scale": ("F", "n"),
    "seen_indptr": ("i", "m+1"),
    "seen_indices": ("i", "*"),
    "elbo_trace": ("f", "*"),
    "rank_trace": ("i", "*"),
    "solve_steps": ("i", "*"),
    "offset_scale": ("F", "2"),
    "offset": ("F", "1"),
    "matrix": ("F", "m,n"),
    "variances": ("F", "m,n"),
    "noise_precision": ("F", "1"),
    "noise_precisions": ("F", "S"),
    "noise_variance": ("F", "1"),
}
MODEL_ARRAYS = _WHOLE | {
    f"{side}_{name}": (kind, axes.format(n=letter, s=side))
    for side, letter in (("row", "m"), ("col", "n"))
    for name, (kind, axes) in _SIDE.items()
}
_KINDS = {"f": "f", "F": "f", "i": "iu", "u": "u"}


def check_model(arrays: Arrays, shape: Any) -> None:
    """Raise ValueError where the arrays are not those of a model of this shape.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    shape : sequence of two int
        As the header says.
    """
    sizes = [int(length) for length in shape]
    if len(sizes) != 2 or min(sizes) < 1 or sizes != list(shape):
        raise ValueError(f"the shape is {str(shape)[:60]}")
    known = dict(zip("mn", sizes, strict=True))
    for name in sorted(arrays):
        if name in MODEL_ARRAYS:
            _check_array(name, arrays[name], *MODEL_ARRAYS[name], known)
    _check_places(arrays, known)


def _check_array(
    name: str, array: NDArray[Any], kind: str, axes: str, known: dict[str, int]
) -> None:
    if array.dtype.kind not in _KINDS[kind]:
        raise ValueError(f"{name} holds {array.dtype}")
    wanted = axes.split(",")
    if array.ndim != len(wanted):
        raise ValueError(f"{name} has {array.ndim} axes")
    for axis, length in zip(wanted, array.shape, strict=True):
        letter, _, more = axis.partition("+")
        if letter.isdigit():
            need = int(letter)
        elif letter == "*":
            continue
        else:
            need = known.setdefault(letter, length - int(more or 0)) + int(more or 0)
        if length != need:
            raise ValueError(f"{name} has shape {array.shape}, which does not fit the rest")
    # One sum is enough: infinity and NaN survive it.
    if kind == "F" and array.size and not np.isfinite(np.add.reduce(array, axis=None)):
        raise ValueError(f"{name} is not finite")


def _check_places(arrays: Arrays, known: dict[str, int]) -> None:
    """Positions lie where they lead to, and precisions are those of distributions."""
    n_columns = known["n"]
    if "seen_indptr" in arrays:
        _check_rows(arrays, "seen_indptr", "seen_indices", n_columns)
    for side, n in (("row", known["m"]), ("col", n_columns)):
        if f"{side}_indptr" in arrays:
            _check_rows(arrays, f"{side}_indptr", f"{side}_indices", n)
            for name in (f"{side}_heads", f"{side}_tails"):
                _within(name, arrays[name], 0, n)
            _within(f"{side}_constant", arrays[f"{side}_constant"], -1, known["K"])
        if f"{side}_features_shape" in arrays:
            wide = arrays[f"{side}_features_shape"]
            if wide[0] != n or not 0 <= wide[1] < 2**31:
                raise ValueError(f"{side}_features_shape is {wide.tolist()}")
            names = f"{side}_features_indptr", f"{side}_features_indices"
            _check_rows(arrays, *names, int(wide[1]))
    for name in ("lam_shape", "lam_rate", "tau", "draws_tau", "unit_scale", "noise_precision"):
        if name in arrays and not (arrays[name] > 0).all():
            raise ValueError(f"{name} must be positive")
    if "scale" in arrays and not (len(arrays["scale"]) >= 4 and arrays["scale"][0] > 0):
        raise ValueError("scale must be positive")


def _check_rows(arrays: Arrays, starts: str, places: str, n: int) -> None:
    """Compressed rows over n columns."""
    indptr, indices = arrays[starts], arrays[places]
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError(f"{starts} does not fit {places}")
    _within(places, indices, 0, n)


def _within(name: str, places: NDArray[Any], low: int, high: int) -> None:
    if len(places) and (places.min() < low or places.max() >= high):
        raise ValueError(f"{name} holds positions outside of {low} to {high - 1}")
