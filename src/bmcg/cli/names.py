"""Labels as files hold them: in their own type, the same in every file, many at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ..observations.labels import Labels
from .outcome import UserError

# Whole numbers as people write them. "007" and "1e3" are names: they would not come back.
WHOLE = r"^(0|-?[1-9][0-9]{0,17})$"


class Names(NamedTuple):
    """A column of labels, each distinct one once.

    Attributes
    ----------
    codes : ndarray of int32, shape (n_lines,)
        Which of the distinct labels a line has.
    distinct : ndarray of shape (n_distinct,)
        In order: whole numbers where all of them are, else text.
    """

    codes: NDArray[np.int32]
    distinct: NDArray[Any]

    @property
    def values(self) -> NDArray[Any]:
        """The label of each line, shape (n_lines,)."""
        return self.distinct[self.codes]

    def like(self, known: Labels | None) -> Names:
        """The same labels in the type that known ones have."""
        return self._replace(distinct=of_one_kind(self.distinct, known))


def label_names(table: pa.Table, name: str, path: Path) -> Names:
    """Labels of a column of a table; the path is for messages."""
    column = table.column(name)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type):
        # Beyond 2⁵³ a float does not tell which whole number it is.
        exact = pc.less_equal(pc.abs(column), 2.0**53)
        if pc.all(pc.and_(exact, pc.equal(pc.floor(column), column))).as_py():
            column = pc.cast(column, pa.int64())
    if not (pa.types.is_integer(column.type) or pa.types.is_string(column.type)):
        column = column.cast(pa.string())
    _check_present(column, name, path)
    # Hashed by Arrow: Python handles each distinct label once, not each line.
    found = column.combine_chunks().dictionary_encode()
    if isinstance(found, pa.ChunkedArray):
        found = found.combine_chunks()
    distinct = found.dictionary
    if pa.types.is_integer(distinct.type):
        names: NDArray[Any] = distinct.cast(pa.int64()).to_numpy()
    else:
        names = as_whole_numbers(distinct.to_numpy(zero_copy_only=False))
    codes = np.asarray(found.indices, dtype=np.int32)
    order = np.argsort(names, kind="stable")
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return Names(rank[codes], names[order])


def label_column(table: pa.Table, name: str, path: Path) -> NDArray[Any]:
    """Labels of a column: whole numbers where all of them are, else text, shape (n_lines,)."""
    return label_names(table, name, path).values


def as_whole_numbers(names: NDArray[Any]) -> NDArray[Any]:
    """Text labels as whole numbers, where every one of them is written like one."""
    text = pa.array(names.tolist(), pa.string())
    if len(text) and pc.all(pc.match_substring_regex(text, WHOLE)).as_py():
        return text.cast(pa.int64()).to_numpy()
    return names


def like_known(names: NDArray[Any], known: Labels | None) -> NDArray[Any]:
    """Labels of one file in the type that those of another have, so that 7 and "7" meet."""
    if known is None or len(names) == 0:
        return names
    kind = known.values.dtype.kind
    if kind == "O" and names.dtype.kind == "i":
        return np.array([str(name) for name in names.tolist()], dtype=object)
    if kind in "iu" and names.dtype.kind == "O":
        return as_whole_numbers(names)
    return names


def of_one_kind(names: NDArray[Any], known: Labels | None) -> NDArray[Any]:
    """Labels as those of a model are; one that cannot be is refused by name.

    Beside a name, whole numbers would be text, and strangers to a model that knows them.
    """
    found = like_known(names, known)
    if known is None or len(found) == 0 or known.values.dtype.kind not in "iu":
        return found
    if found.dtype.kind != "O":
        return found
    text = pa.array([str(name) for name in found.tolist()], pa.string())
    odd = found[~np.asarray(pc.match_substring_regex(text, WHOLE).to_pylist(), dtype=bool)]
    raise UserError(
        f"label {odd[0]!r} ({len(odd)} such) among {known.side} labels that are whole numbers, "
        f"such as {known.values[0]}: give it a number, or leave its lines out"
    )


def extended(labels: Labels, more: NDArray[Any]) -> Labels:
    """Labels with further names after them, those that are new."""
    names = like_known(more, labels)
    values = labels.values
    if values.dtype.kind != names.dtype.kind:
        # Numbers beside names: all are names.
        values, names = (np.array([str(x) for x in a.tolist()], object) for a in (values, names))
    known = set(values.tolist())
    new = [name for name in dict.fromkeys(names.tolist()) if name not in known]
    added = np.empty(len(new), dtype=values.dtype)
    added[:] = new
    return Labels(np.concatenate((values, added)), labels.side, labels.name)


def title(labels: Labels | None, otherwise: str) -> str:
    """What a side's labels are called in tables."""
    return otherwise if labels is None or labels.name is None else labels.name


def _check_present(column: Any, name: str, path: Path) -> None:
    missing = column.is_null()
    if pa.types.is_string(column.type):
        missing = pc.or_(missing, pc.fill_null(pc.equal(column, ""), True))
    if pc.any(missing).as_py():
        line = int(np.argmax(missing.to_numpy(zero_copy_only=False)))
        raise UserError(f"{path}: column {name!r} holds labels, but that of entry {line} is empty")
