"""Files whose insides were changed before they were packed, so that no sum gives them away."""

from __future__ import annotations

import gzip
import io
import warnings
import zipfile
from random import Random
from typing import Any

import numpy as np

from .mutations import mutated

VALUES = (np.nan, np.inf, -np.inf, -1.0, 0.0, 1e300, 2.0**31, 2.0**62)
WORDS = ("", "x", "csr_matrix", "csc_matrix", "array", "dataframe", "0.1.0", "../../x", "a" * 3000)


def gzipped(data: bytes, r: Random) -> bytes:
    """Text changed, then compressed."""
    plain = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else b"x,y\n1,2\n"
    return gzip.compress(mutated(plain, r, True), 1)


def blocked(data: bytes, r: Random) -> bytes:
    """Text changed, then compressed in the blocks of genome tools."""
    from .seeds import bgzf

    return bgzf((mutated(gzip.decompress(data), r, True),))[0]


def zipped(data: bytes, r: Random) -> bytes:
    """One array of an .npz file changed, or under another name."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        names = old.namelist()
        chosen = r.choice(names)
        for name in names:
            plain = old.read(name)
            if name == chosen and r.random() < 0.1:
                name = r.choice(("../../x.npy", "/x.npy", "x", "data.npy"))
            elif name == chosen:
                plain = mutated(plain, r, r.random() < 0.3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                new.writestr(name, plain)
    return out.getvalue()


def annotated(data: bytes, r: Random) -> bytes:
    """One array or attribute of an HDF5 file changed, moved or gone."""
    import h5py

    out = io.BytesIO(data)
    with h5py.File(out, "r+") as file:
        names: list[str] = []
        file.visit(names.append)
        for _ in range(r.choice((1, 1, 2))):
            name = r.choice(names)
            if name in file:
                _edit(file, name, r)
    return out.getvalue()


def _edit(file: Any, name: str, r: Random) -> None:
    at, how = file[name], r.random()
    if how < 0.1:
        del file[name]
    elif how < 0.45 and len(at.attrs):
        key = r.choice(sorted(at.attrs))
        if r.random() < 0.2:
            del at.attrs[key]
        else:
            at.attrs[key] = r.choice((*WORDS, r.randrange(-1, 5), 1.5, [3, 3], [2**62, 4]))
    elif hasattr(at, "dtype"):
        _edit_array(file, name, r)
    else:
        file.move(name, f"{name}_")


def _edit_array(file: Any, name: str, r: Random) -> None:
    array = np.asarray(file[name][()])
    kept = dict(file[name].attrs)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = _edited(array, r)
    del file[name]
    file[name] = array
    file[name].attrs.update(kept)


def _edited(array: Any, r: Random) -> Any:
    how = r.randrange(4)
    if how == 0:
        return array[: r.randrange(len(array) + 1)] if array.ndim else array[None]
    if how == 1:
        return np.concatenate([array, array]) if array.ndim else array
    if how == 2 and array.dtype.kind in "fiu":
        return array.astype(r.choice(("f4", "f8", "i8", "i1", "u1", "?", "c16", "S3")))
    flat = array.reshape(-1)
    if array.dtype.kind in "fiu" and array.size:
        flat[r.randrange(array.size)] = np.asarray(r.choice(VALUES)).astype(array.dtype)
    elif array.size:
        flat[0] = r.choice(WORDS)
    return array
