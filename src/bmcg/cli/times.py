"""Labels that are moments: numbers, dates and times, with zones or without."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .outcome import UserError


def parse_times(
    names: NDArray[Any], column: str, form: str | None = None, option: str = "--time"
) -> NDArray[Any]:
    """Labels as numbers, or as moments in microseconds, shape (n,).

    Times with a zone are moments of the one clock that all zones share; those without are
    taken as they stand. The two cannot be compared, so a column holds one kind.

    Parameters
    ----------
    names : ndarray of shape (n,)
        Numbers or text.
    column : str
        Where they stand, for messages.
    form : str or None
        How dates are written, in the letters of `strptime`, such as "%d.%m.%Y %H:%M". Numbers
        and ISO 8601 by default.
    option : str
        That names the column, for messages; `--time` goes with `--time-format`.
    """
    if form is None:
        try:
            return names.astype(np.float64)
        except (TypeError, ValueError):
            pass
    moments = [_moment(str(name), f"{option} {column}", form) for name in names.tolist()]
    zoned = [moment.tzinfo is not None for moment in moments]
    if any(zoned) and not all(zoned):
        with_zone, without = names[zoned.index(True)], names[zoned.index(False)]
        raise UserError(
            f"{option} {column}: {with_zone} has a zone and {without} has none; they cannot be "
            "put in one order, write all of them one way"
        )
    if any(zoned):
        moments = [moment.astimezone(UTC).replace(tzinfo=None) for moment in moments]
    return np.array(moments, dtype="datetime64[us]")


def _moment(name: str, where: str, form: str | None) -> datetime:
    try:
        if form is not None:
            return datetime.strptime(name.strip(), form)
        return _iso(name.strip())
    except ValueError:
        expected = (
            "numbers or dates such as 2024-05-01 13:30 or 2024-05-01T13:30+02:00"
            if form is None
            else f"--time-format {form}"
        )
        if form is None and where.startswith("--time"):
            expected += "; --time-format '%d.%m.%Y %H:%M' takes other ways to write them"
        raise UserError(f"{where}: {name!r} does not read as {expected}") from None


def _iso(name: str) -> datetime:
    try:
        return datetime.fromisoformat(name)
    except ValueError:
        # A month or a year alone, which NumPy knows.
        moment = np.datetime64(name.replace(" ", "T"), "us").item()
        if not isinstance(moment, datetime):
            raise ValueError(name) from None
        return moment
