"""Tables of features: of a fit, and of rows and columns that come after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from ..graphs.table import ColumnCode
from ..observations.labels import Labels, listed
from ..serving import ServingModel
from .names import label_names
from .outcome import UserError
from .tables import Dialect, column_names, read_table

# In the place of a file: which entries each row or column has.
PATTERN = Path("pattern")
# How Python writes what Arrow reads from true and false.
TRUTHS = {"True", "False"}


def feature_file(given: Path | None) -> Path | None:
    """The file that an option names, if it names one."""
    return None if given == PATTERN else given


def read_features(
    path: Path | None,
    option: str,
    labels: Labels | None,
    dialect: Dialect,
    columns: tuple[ColumnCode, ...] = (),
) -> Any:
    """A table of features with its key column, as `BMCG` takes it; None where there is no file.

    Parameters
    ----------
    path : Path or None
    option : str
        The option it was given by, for messages.
    labels : Labels or None
        Say what the key column is called and what type labels have; without them lines count.
    dialect : Dialect
    columns : tuple of ColumnCode
        What the columns held in the fit. A few lines do not tell: a category may be written
        like a number, and numbers may all be missing.
    """
    if path is None:
        return None
    names = column_names(path, dialect)
    absent = [code.name for code in columns if code.name not in names]
    if absent:
        raise UserError(
            f"{option}: {path} has no column {listed(absent)}, which the fit had; its columns are "
            f"{listed(names)}"
        )
    texts = tuple(code.name for code in columns if _is_text(code))
    if labels is None:
        return _with_numbers(read_table(path, texts, dialect=dialect), columns)
    key = labels.name if labels.name in names else names[0]
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise UserError(f"{option}: {path} has more than one column {listed(twice)}")
    if len(names) < 2:
        raise UserError(f"{option}: {path} has labels and nothing beside them")
    table = _with_numbers(read_table(path, (key, *texts), dialect=dialect), columns)
    found = label_names(table, key, path).like(labels)
    return table.set_column(names.index(key), key, [found.values.tolist()]), key


def new_features(
    model: ServingModel, given: Path | None, side: str, labels: Labels | None, dialect: Dialect
) -> Any:
    """Features of newcomers as `BMCG.fold_in` and `BMCG.update` take them.

    Parameters
    ----------
    model : ServingModel
        `check_features` has found that it can use them.
    given : Path or None
    side : {"rows", "cols"}
    labels : Labels or None
        Of the newcomers; those of the model where nothing else names them.
    dialect : Dialect
    """
    code = model.feature_codes_.get(side)
    columns = () if code is None or code.table is None else code.table.columns
    return read_features(feature_file(given), _option(side), labels, dialect, columns)


def check_features(model: ServingModel, given: Path | None, side: str) -> None:
    """Raise where a model has no use for the features that newcomers are given."""
    if given is None:
        return
    option, code = f"{_option(side)} {given}", model.feature_codes_.get(side)
    if code is None:
        raise UserError(
            f"{option}: the model was fitted without features of its {_word(side)}; leave it out"
        )
    if code.kind == "matrix":
        raise UserError(
            f"{option}: the model was fitted on a sparse matrix of features, which no table "
            "holds; pass such a matrix in Python"
        )
    if code.kind == "pattern" and given != PATTERN:
        raise UserError(
            f"{option}: the features of the model are the observation pattern, which their "
            "entries tell; leave it out"
        )
    if code.kind == "table" and given == PATTERN:
        raise UserError(f"{option}: the features of the model were a table; pass one")
    weight = model.graph_weights_[side].get("features")
    if weight is not None and weight.share > 0 and not _uses(model, side):
        raise UserError(
            f"{option}: this model no longer holds the features it was fitted with; pass the "
            "one that was fitted, not one of newcomers"
        )


def require_features(model: ServingModel, given: Path | None, side: str) -> None:
    """Raise where a model counts on features of newcomers and there are none."""
    code = model.feature_codes_.get(side)
    if given is None and code is not None and code.kind == "table" and _uses(model, side):
        raise UserError(
            f"{_option(side)} is missing: the model uses features of its {_word(side)}; pass a "
            f"table with those of the new {_word(side)}, empty cells where they are not known"
        )


def _is_text(code: ColumnCode) -> bool:
    """Whether a column is read as it is written, since the fit had categories there."""
    return code.categories is not None and not set(code.categories) <= TRUTHS


def _with_numbers(table: pa.Table, columns: tuple[ColumnCode, ...]) -> pa.Table:
    """Columns of numbers that are empty throughout, as numbers."""
    for code in columns:
        at = table.schema.get_field_index(code.name)
        if code.categories is None and at >= 0 and pa.types.is_null(table.schema.types[at]):
            table = table.set_column(at, code.name, table.column(at).cast(pa.float64()))
    return table


def _uses(model: ServingModel, side: str) -> bool:
    fitted = model.fitted_.rows if side == "rows" else model.fitted_.cols
    return fitted.features is not None


def _option(side: str) -> str:
    return f"--{side[:3]}-features"


def _word(side: str) -> str:
    return "rows" if side == "rows" else "columns"
