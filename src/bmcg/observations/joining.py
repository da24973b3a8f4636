"""Tables about rows or columns, put in the order of the labels they speak of."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from .frames import eager
from .labels import Labels, as_label_array, listed, missing_labels


class Joined(NamedTuple):
    """A table brought to the nodes of one side.

    Attributes
    ----------
    table : data frame of the library it came from, n lines
        Line i speaks of node i. The key column is not part of it.
    note : str
        What was matched with what, in words.
    """

    table: Any
    note: str


def join_table(
    table: Any, labels: Labels | None, n: int, argument: str, key: str | None = None
) -> Joined:
    """The lines of a table in the order of labels.

    Lines are found by the key column, else by an index or a column that has the title of the
    labels, else by an index that was set. Data without labels has positions only: line i is
    node i, and there must be n lines.

    Parameters
    ----------
    table : data frame (pandas, polars, arrow, ...)
    labels : Labels or None
        Of the nodes.
    n : int
        Number of nodes.
    argument : str
        What to call the table in messages.
    key : str, optional
        Title of the column that holds the labels.

    Returns
    -------
    Joined
    """
    frame = eager(table, argument)
    if labels is None:
        if key is not None:
            raise ValueError(
                f"{argument}: key column {key!r}, but the data has no labels there; "
                "leave it out to match lines by position"
            )
        return Joined(frame.to_native(), by_position(len(frame), n, argument))
    if key is not None and key not in frame.columns:
        raise ValueError(
            f"{argument}: key column {key!r} is not in the table; its columns are "
            f"{listed(frame.columns)}"
        )
    column = key if key is not None else _key_column(frame, labels, argument)
    source = nw.maybe_get_index(frame) if column is None else frame.get_column(column)
    names = as_label_array(source)
    where = "the index" if column is None else f"column {column!r}"
    at = match(names, labels, f"{argument}, {where}")
    found = frame if column is None else frame.drop(column)
    left = len(names) - len(at)
    note = f"{len(at)} lines joined by {where}" + (f", {left} left out" if left else "")
    return Joined(found[at].to_native(), note)


def by_position(lines: int, n: int, argument: str) -> str:
    """The note of lines that carry no labels, of which there must be n."""
    if lines != n:
        raise ValueError(f"{argument} has {lines} lines, but the data has {n} nodes there")
    return f"{n} lines by position"


def match(names: NDArray[Any], labels: Labels, what: str) -> NDArray[np.intp]:
    """The line of each label, shape (len(labels),); missing and repeated labels are refused.

    Parameters
    ----------
    names : ndarray of shape (n_lines,)
        The label of each line.
    labels : Labels
        The labels sought.
    what : str
        What holds the names, for messages.
    """
    lost = missing_labels(names)
    if lost.any():
        raise ValueError(f"{what}: line {int(lost.argmax())} has no label ({lost.sum()} such)")
    if labels.values.dtype.kind == "M" and names.dtype == object:
        with suppress(TypeError, ValueError):
            names = names.astype("datetime64[us]")
    keys = names.tolist()
    if len(set(keys)) < len(keys):
        twice = [key for key, count in Counter(keys).items() if count > 1]
        raise ValueError(f"{what}: labels must be distinct, but {listed(twice)} came repeatedly")
    at = Labels(names, labels.side).find(labels.values)
    absent = labels.values[at < 0].tolist()
    if absent:
        shown = f"; labels there look like {keys[0]!r}" if keys else ""
        raise ValueError(
            f"{what}: {len(absent)} of {len(labels)} {labels.side} labels missing: "
            f"{listed(absent)}{shown}"
        )
    return at


def _key_column(frame: nw.DataFrame[Any], labels: Labels, argument: str) -> str | None:
    """Title of the column with the labels, None for the index; refused where it is not clear."""
    index = nw.maybe_get_index(frame)
    own, title = getattr(index, "name", None), labels.name
    if title is not None and own != title and title in frame.columns:
        return title
    if own is not None:
        return None
    holding = [name for name in frame.columns if holds(frame.get_column(name), labels)]
    if index is not None and _is_set(index, labels):
        # Numbers are often a count of lines rather than names.
        rivals = [name for name in holding if not np.array_equal(frame.get_column(name), index)]
        if not (_is_numbers(index) and rivals):
            return None
    advice = (
        f"pass (table, {holding[0]!r}), since that column holds them all"
        if holding
        else "pass (table, key) with the title of the column that holds them"
    )
    raise ValueError(
        f"{argument}: the data has {labels.side} labels such as "
        f"{labels.values[:1].tolist()[0]!r}, and it is not clear where the table has them: {advice}"
        + ("" if index is None else ", or set them as its index and give that a name")
    )


def holds(column: nw.Series[Any], labels: Labels) -> bool:
    """Whether a column has every label."""
    if column.dtype.is_float() or column.dtype.is_nested():
        return False
    known = set(as_label_array(column).tolist())
    return all(name in known for name in labels.values.tolist())


def _is_set(index: Any, labels: Labels) -> bool:
    """Whether an index means something: 0, 1, 2, ... is what a table gets that was given none."""
    count = np.arange(len(index))
    if not (_is_numbers(index) and np.array_equal(index, count)):
        return True
    return _is_numbers(labels.values) and np.array_equal(labels.values, count)


def _is_numbers(names: Any) -> bool:
    return names.dtype.kind in "iu"
