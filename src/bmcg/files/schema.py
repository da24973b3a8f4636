"""What the arrays of a file must look like, checked before anything is made of them.

Files come from strangers, and compiled code follows positions wherever they lead: types, shapes,
positions and signs are those of a whole model, or the file is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends.packed import packed_diagonal

Arrays = Mapping[str, NDArray[Any]]

# By name: the kind of its numbers, and its axes. Letters are lengths that agree throughout the
# file; m and n are those of the matrix, p of a packed triangle of K. Finite where the kind is "F",
# and where it is "B" small enough for products of several: the fit has one unit.
_SIDE = {
    "mean": ("B", "{n},K"),
    "cov": ("B", "{n},C"),
    "energy": ("f", "K,K"),
    "log_det": ("f", "1"),
    "data_precision": ("B", "*,*"),
    "lam": ("B", "K"),
    "constant": ("i", "1"),
    "indptr": ("i", "{n}+1"),
    "indices": ("i", "{s}P"),
    "prior": ("B", "{s}P"),
    "diagonal": ("B", "{n}"),
    "heads": ("i", "{s}E"),
    "tails": ("i", "{s}E"),
    "weights": ("B", "{s}E"),
    "ridge": ("B", "1"),
    "features_data": ("F", "{s}D"),
    "features_indices": ("i", "{s}D"),
    "features_indptr": ("i", "{n}+1"),
    "features_shape": ("i", "2"),
    "beta": ("F", "1"),
    "labels": ("u", "*"),
    "factors": ("F", "{n},K"),
    "means": ("F", "{n},K"),
    "covariances": ("F", "{n},C"),
    "draws": ("F", "S,{n},K"),
}
_WHOLE = {
    "lam_shape": ("B", "k"),
    "lam_rate": ("B", "k"),
    "tau": ("B", "2"),
    "scale": ("f", "*"),
    "family": ("u", "*"),
    "likelihood": ("u", "*"),
    "draws_rows": ("B", "S,m,W"),
    "draws_cols": ("B", "S,n,W"),
    "draws_tau": ("B", "S"),
    "own_row_exposure": ("F", "m"),
    "own_col_exposure": ("F", "n"),
    "draws_own_row_exposure": ("F", "S,m"),
    "draws_own_col_exposure": ("F", "S,n"),
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
CHECKPOINT_ARRAYS = {
    "trace": ("f", "*"),
    "ranks": ("i", "*"),
    "steps": ("i", "*"),
    "may_grow": ("b", "1"),
    "squared_error": ("F", "1"),
    "momentum_steps": ("i", "1"),
    "momentum_rows": ("F", "rowN,K"),
    "momentum_cols": ("F", "colN,K"),
    "tau": ("F", "2"),
    "entry_mean": ("F", "O"),
    "entry_variance": ("F", "O"),
    "rows": ("F", "rowN,K"),
    "cols": ("F", "colN,K"),
    "chain_numbers": ("i", "R"),
    "chain_burnt": ("i", "R"),
    "chain_settled": ("b", "R"),
    "numbers": ("F", "6"),
    "age": ("i", "1"),
    "kept_rows": ("F", "S,m,W"),
    "kept_cols": ("F", "S,n,W"),
    "kept_tau": ("F", "S"),
} | {
    f"{head}{side}_{name}": (kind, axes.format(n=letter, s=side))
    for head in ("", "now_", "anchor_")
    for side, letter in (("row", "m"), ("col", "n"))
    for name, (kind, axes) in {
        "mean": ("F", "{s}N,K"),
        "cov": ("F", "{n},C"),
        "energy": ("F", "K,K"),
        "log_det": ("F", "1"),
        "draws": ("F", "{s}N,K,*"),
        "graphs": ("F", "{s}G"),
        "scalars": ("F", "2"),
    }.items()
}
# Libraries whose frames are read and handed back, by their import names.
FRAMES = ("pandas", "polars", "pyarrow", "modin", "cudf", "dask", "ibis", "duckdb")
ROUNDING = 1e-6
# Of numbers in the unit of the fit, and of units: values are below a hundredth of it.
BOUND, FARTHEST = 1e60, 1e102
_KINDS = {"b": "b", "f": "f", "F": "f", "B": "f", "i": "iu", "u": "u"}


def check_model(arrays: Arrays, header: Mapping[str, Any]) -> None:
    """Raise ValueError where arrays and header are not those of one model.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    header : mapping
        Its shape is what the arrays are held to.
    """
    backend, shape = header["frame_backend"], header["shape"]
    if backend is not None and backend not in FRAMES:
        raise ValueError(f"frames of {str(backend)[:60]!r}")
    sizes = [int(length) for length in shape]
    if len(sizes) != 2 or min(sizes) < 1 or sizes != list(shape):
        raise ValueError(f"the shape is {str(shape)[:60]}")
    known = dict(zip("mn", sizes, strict=True))
    _check_all(arrays, MODEL_ARRAYS, known)
    _check_places(arrays, known)


def check_checkpoint(arrays: Arrays, shape: tuple[int, int] | None) -> None:
    """Raise ValueError where arrays are not those of one place in a fit of this shape."""
    known = {} if shape is None else dict(zip("mn", shape, strict=True))
    _check_all(arrays, CHECKPOINT_ARRAYS, known)
    for part in _origins(arrays):
        _check_all(part, CHECKPOINT_ARRAYS, known)
        if not (part["lam"] > 0).all():
            raise ValueError("lam must be positive")
        if part["age"][0] < 0:
            raise ValueError("the age of a place is negative")
    for nodes, n in (("rowN", "m"), ("colN", "n")):
        # Weights of features are nodes behind those of the side.
        if known.get(nodes, 0) < known.get(n, 0):
            raise ValueError(f"{known.get(nodes)} rows of a side of {known[n]}")
    if "chain_numbers" in arrays and (
        (arrays["chain_numbers"] < np.maximum(arrays["chain_burnt"], 0)).any()
    ):
        raise ValueError("chain_burnt is beyond chain_numbers")
    for name in ("lam", "tau", "kept_tau"):
        if name in arrays and not (arrays[name] > 0).all():
            raise ValueError(f"{name} must be positive")


def _origins(arrays: Arrays) -> Iterator[Arrays]:
    """Places where chains begin, each with the names that the place of a chain has."""
    number = 0
    while f"{(prefix := f'origin_{number}_')}age" in arrays:
        yield {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}
        number += 1


def _check_all(
    arrays: Arrays, schema: Mapping[str, tuple[str, str]], known: dict[str, int]
) -> None:
    for name in sorted(arrays):
        if name in schema:
            _check_array(name, arrays[name], *schema[name], known)


def _check_array(
    name: str, array: NDArray[Any], kind: str, axes: str, known: dict[str, int]
) -> None:
    if array.dtype.kind not in _KINDS[kind] or array.dtype == np.float16:
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
    if kind in "FB" and array.size:
        # Two passes without a copy: NaN survives them.
        most = max(abs(float(array.min())), abs(float(array.max())))
        if not most <= (BOUND if kind == "B" else np.finfo(np.float64).max):
            raise ValueError(f"{name} holds {most:g}")


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
    if "family" in arrays:
        _check_spread(arrays, known)


def _check_spread(arrays: Arrays, known: dict[str, int]) -> None:
    """Precisions and variances are those of distributions, and of the posterior's kind."""
    scale, K = arrays["scale"], known["K"]
    if len(scale) < 4 or not scale[0] > 0:
        raise ValueError("scale must be positive")
    # Between them stand the limits of values, which may be infinite.
    if not (np.abs(np.delete(scale, (2, 3))) <= FARTHEST).all():
        raise ValueError(f"scale holds more than {FARTHEST:g}")
    for name in ("lam_shape", "lam_rate", "tau", "draws_tau", "unit_scale"):
        if name in arrays and not (arrays[name] > 0).all():
            raise ValueError(f"{name} must be positive")
    diagonal = bytes(arrays["family"]) == b"column"
    if known["C"] != (K if diagonal else K * (K + 1) // 2):
        raise ValueError(f"covariances of width {known['C']} for {K} components")
    for side, n in (("row", known["m"]), ("col", known["n"])):
        for part in ("diagonal", "weights", "ridge", "lam", "beta", "cov", "data_precision"):
            array = arrays.get(f"{side}_{part}", np.zeros(0))
            if array.ndim == 2:
                array = array if diagonal else _variances(array)
            # Of columns that are constant, rounding may leave a little less than nothing.
            if array.size and array.min() < -ROUNDING * np.abs(array).max():
                raise ValueError(f"{side}_{part} must not be negative")
        constant = int(arrays[f"{side}_constant"][0])
        free = np.delete(arrays[f"{side}_lam"], constant if 0 <= constant < K else [])
        # A solve divides by them.
        if not (free > 0).all():
            raise ValueError(f"{side}_lam must be positive")
        k = K - (constant >= 0)
        found = arrays[f"{side}_data_precision"].shape
        if found != (0, 0) and found != (n, k if diagonal else k * (k + 1) // 2):
            raise ValueError(f"{side}_data_precision has shape {found}")


def _variances(packed: NDArray[Any]) -> NDArray[Any]:
    """Diagonals of packed triangles, one a row."""
    return packed[:, packed_diagonal(int(np.sqrt(2 * packed.shape[1])))]


def _check_rows(arrays: Arrays, starts: str, places: str, n: int) -> None:
    """Compressed rows over n columns."""
    indptr, indices = arrays[starts], arrays[places]
    if indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError(f"{starts} does not fit {places}")
    _within(places, indices, 0, n)


def _within(name: str, places: NDArray[Any], low: int, high: int) -> None:
    if len(places) and (places.min() < low or places.max() >= high):
        raise ValueError(f"{name} holds positions outside of {low} to {high - 1}")
