"""Tables of exposures: a label and a number a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..observations.labels import Labels, listed
from .names import label_names
from .outcome import UserError
from .tables import Dialect, column_names, read_table


def read_exposure(path: Path | None, side: str, labels: Labels | None, dialect: Dialect) -> Any:
    """Exposures by label, as `BMCG.fit` takes them; by line where the data has no labels.

    Parameters
    ----------
    path : Path or None
    side : {"row", "col"}
    labels : Labels or None
    dialect : Dialect
    """
    if path is None:
        return None
    option, names = f"--{side}-exposure", column_names(path, dialect)
    known = 1 if labels is None else 2
    if len(names) != known:
        wanted = "one column, the exposures" if known == 1 else "two: labels and exposures"
        raise UserError(
            f"{option}: {path} has {len(names)} columns ({listed(names)}), expected {wanted}"
        )
    if len(set(names)) < len(names):
        raise UserError(f"{option}: {path} has more than one column {names[0]!r}; rename one")
    if labels is None:
        return read_table(path, (), dialect=dialect).column(0).to_pylist()
    key = labels.name if labels.name in names else names[0]
    table = read_table(path, (key,), dialect=dialect)
    found = label_names(table, key, path).like(labels).values.tolist()
    pairs = list(zip(found, table.column(1 - names.index(key)).to_pylist(), strict=True))
    wrong = [name for name, x in pairs if not isinstance(x, (int, float))]
    if wrong:
        raise UserError(f"{option}: {path} has no number for {listed(wrong)}")
    given: dict[Any, float] = {}
    for name, x in pairs:
        if given.setdefault(name, x) != x:
            raise UserError(f"{option}: {path} has {name!r} twice, with {given[name]} and {x}")
    return given
