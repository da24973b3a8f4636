"""Several ways to fill a table of series, weighed by gaps that were really left out.

Gaps like those of the table are put elsewhere, every way fills them, and errors tell three things,
each for every kind of gap (`outages.kinds`): how the ways are weighed, which of them are not
needed, and how wide the bands have to be.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ...caller import user_level
from ...estimators import BMCG
from ...estimators.scaling import Scale
from ..matrix import Filled
from .days import find_days
from .outages import gaps_elsewhere, independence, kinds
from .units import series_scale
from .ways import AFTER, WAYS, Cells, Table, has_roots
from .weights import by_kind, needed, weights_of, widths_of

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]
Index = NDArray[np.intp]

# Known cells that a trial is made with at most, and sensors and days that it keeps at least.
MOST_CELLS = 60_000
FEWEST_SENSORS, FEWEST_DAYS = 20, 28
# Trials of a small table at most, and sweeps of a fit in one.
MOST_TRIALS, TRIAL_SWEEPS = 2, 30
# A way whose squared error is so many times the least one's is hopeless, and so are its variants.
HOPELESS = 2.0
# Known cells without which gaps say nothing.
LEAST_CELLS = 400


@dataclass(frozen=True, eq=False)
class Blend:
    """What left-out gaps say of the ways.

    Attributes
    ----------
    names : tuple of str
        Of the ways that are used.
    weights : dict of int to ndarray of shape (n_ways,)
        By kind of gap; -1 for all others.
    spreads : dict of int to float
        Root mean squared error by kind, likewise.
    widths : dict of int to float
        What deviations are multiplied with, likewise.
    models : tuple of BMCG
        That the answer was made of.
    """

    names: tuple[str, ...]
    weights: dict[int, Array]
    spreads: dict[int, float]
    widths: dict[int, float]
    models: tuple[BMCG, ...] = ()

    def __str__(self) -> str:
        shares = zip(self.names, self.weights[-1], strict=True)
        return ", ".join(f"{name} {share:.0%}" for name, share in shares)

    def combine(self, found: list[Cells], kind: Index) -> tuple[Array, Array]:
        """Means and deviations of cells of the given kinds, (n_cells,) each."""
        W = by_kind(self.weights, kind)
        spread = by_kind(self.spreads, kind)
        means = np.stack([cells.mean for cells in found], axis=1)
        variances = np.stack([cells.variance for cells in found], axis=1)
        variances = np.where(np.isnan(variances), spread[:, None] ** 2, variances)
        mean = (W * means).sum(axis=1)
        # The law of total variance: what ways disagree on is not known.
        variance = (W * (variances + (means - mean[:, None]) ** 2)).sum(axis=1)
        return mean, by_kind(self.widths, kind) * np.sqrt(variance)


def fill_series(
    values: Array,
    times: NDArray[Any],
    col_graph: Any = None,
    *,
    scale: Scale = "auto",
    fold: bool | str = "auto",
    **parameters: Any,
) -> tuple[Filled, Blend] | None:
    """Fill a table of series; None where there is too little to leave gaps out of.

    Parameters
    ----------
    values : ndarray of shape (n_times, n_sensors)
        NaN where missing.
    times : ndarray of numbers or dates, shape (n_times,)
        In any order.
    col_graph : optional
        Which sensors are alike, as in `BMCG.fit`.
    scale : {"auto", True, False}
        Whether columns are brought to one scale; "auto" does not where they share a unit.
    fold : {"auto", True, False}
        Whether days may be laid side by side; "auto" does where times are dates that repeat.
    **parameters
        Of `BMCG`.

    Returns
    -------
    filled : Filled
    blend : Blend
    """
    missing = np.isnan(values)
    if (~missing).sum() < LEAST_CELLS or len(values) < 8 or not missing.any():
        return None
    order = np.argsort(times, kind="stable")
    moments = times[order]
    days = find_days(moments) if fold in ("auto", True) else None
    if fold is True and days is None:
        raise ValueError("times are no dates whose times of the day repeat: days cannot be folded")
    columns = series_scale(values, scale, parameters.get("n_jobs"))
    table = Table(columns.forward(values)[order], moments, days, col_graph, parameters)
    with warnings.catch_warnings():
        # Fits are short on purpose.
        warnings.simplefilter("ignore", ConvergenceWarning)
        blend = weigh(table)
        rows, cols = np.nonzero(np.isnan(table.values))
        blend, found = _fill(table, blend, rows, cols)
    mean, std = blend.combine(found, kinds(np.isnan(table.values))[rows, cols])
    rows = order[rows]
    again = np.lexsort((cols, rows))
    rows, cols = rows[again], cols[again]
    mean, std = columns.mean(mean[again], cols), columns.std(std[again], cols)
    filled = Filled(values.shape, rows, cols, mean, std)
    return filled, blend


def weigh(table: Table) -> Blend:
    """Leave gaps out and see how each way fills them; of small tables, several times."""
    rng = np.random.default_rng([int(table.parameters.get("random_state") or 0), 7])
    known = int((~np.isnan(table.values)).sum())
    n_sensors, names, trials = table.values.shape[1], list(WAYS), list[_Trial]()
    for _ in range(min(-(-MOST_CELLS // known), MOST_TRIALS)):
        if trials:
            kind, errors = trials[0].kind, trials[0].errors(names)
            told = independence(kind, n_sensors)
            names = [names[k] for k in needed(errors, kind, told)]
        trial = _trial(table, rng, names)
        if trial.found:
            trials.append(trial)
            names = [name for name in names if name in trial.found]
    kind, truth, odd = (
        np.concatenate(parts) for parts in zip(*(trial[:3] for trial in trials), strict=True)
    )
    found = [_joined([trial.found[name] for trial in trials]) for name in names]
    errors = np.stack([cells.mean - truth for cells in found], axis=1)
    told = independence(kind, n_sensors)
    chosen = needed(errors, kind, told)
    names, found = [names[k] for k in chosen], [found[k] for k in chosen]
    blend = Blend(tuple(names), *weights_of(errors[:, chosen], kind, told), {-1: 1.0})
    scores = np.empty(len(truth))
    for here in (odd, ~odd) if odd.any() and not odd.all() else (np.ones_like(odd),):
        # Weights that have seen a cell say too little of its error: those of the other half do.
        rest = ~here if not here.all() else here
        fitted = weights_of(errors[rest][:, chosen], kind[rest], told[rest])
        own = [Cells(cells.mean[here], cells.variance[here], None) for cells in found]
        mean, std = Blend(tuple(names), *fitted, {-1: 1.0}).combine(own, kind[here])
        scores[here] = (mean - truth[here]) / std
    return replace(blend, widths=widths_of(scores, kind))


class _Trial(NamedTuple):
    """Kinds and values of cells that were left out, halves of them by sensor, and what ways say."""

    kind: Index
    truth: Array
    odd: Bool
    found: dict[str, Cells]

    def errors(self, names: list[str]) -> Array:
        """Of some ways, (n_cells, n_ways)."""
        return np.stack([self.found[name].mean - self.truth for name in names], axis=1)


def _trial(table: Table, rng: np.random.Generator, names: list[str]) -> _Trial:
    part = _part(table, rng)
    missing = np.isnan(part.values)
    none = np.zeros(len(missing), dtype=np.intp)
    day, step = (part.days.day, part.days.step) if part.days is not None else (none, none)
    hidden = gaps_elsewhere(missing, day, step, rng)
    rows, cols = np.nonzero(hidden)
    sweeps = min(TRIAL_SWEEPS, int(part.parameters.get("max_sweeps", TRIAL_SWEEPS)))
    short = part.parameters | {"max_sweeps": sweeps}
    less = replace(part, values=np.where(hidden, np.nan, part.values), parameters=short)
    truth, found = part.values[rows, cols], dict[str, Cells]()
    errors: dict[str, float] = {}
    for name in (name for name in _possible(part) if name in names):
        first = AFTER.get(name)
        if first in errors and errors[first] > HOPELESS * min(errors.values()):
            continue
        cells = _tried(name, less, rows, cols)
        if cells is not None:
            found[name] = _whole(cells)
            errors[name] = float(np.mean((cells.mean - truth) ** 2))
    kind = kinds(np.isnan(less.values))[rows, cols]
    return _Trial(kind, truth, cols % 2 == 1, found)


def _possible(table: Table) -> list[str]:
    """Names of the ways that a table has what they need for."""
    roots = has_roots(table.values)
    return [
        name
        for name in WAYS
        if (table.days is not None or not name.startswith("days"))
        and (roots or not name.endswith("roots"))
    ]


def _joined(parts: list[Cells]) -> Cells:
    mean, variance = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
    return Cells(mean, variance, None)


def _fill(table: Table, blend: Blend, rows: Index, cols: Index) -> tuple[Blend, list[Cells]]:
    """All ways on all cells; an interrupt, or a fit that fails, leaves those that are there."""
    found: dict[str, Cells] = {}
    for name in blend.names:
        cells = _tried(name, table, rows, cols)
        if cells is not None:
            found[name] = cells
            if cells.model is not None and cells.model.stop_reason_ == "interrupted":
                break
    if not found:
        found["lines"] = WAYS["lines"](table, rows, cols)
        blend = replace(blend, names=("lines",), weights={-1: np.ones(1)})
    there = [k for k, name in enumerate(blend.names) if name in found]
    kept = {kind: _whole_shares(own[there]) for kind, own in blend.weights.items()}
    models = tuple(cells.model for cells in found.values() if cells.model is not None)
    blend = replace(blend, names=tuple(found), weights=kept, models=models)
    return blend, list(found.values())


def _tried(name: str, table: Table, rows: Index, cols: Index) -> Cells | None:
    """What a way says; None, with a warning, where its arithmetic breaks down."""
    try:
        return WAYS[name](table, rows, cols)
    except (FloatingPointError, np.linalg.LinAlgError) as error:
        words = f"{name} is left out, because its fit broke down: {error}"
        warnings.warn(words, UserWarning, stacklevel=user_level())
        return None


def _whole_shares(own: Array) -> Array:
    return own / own.sum() if own.sum() > 0 else np.full(len(own), 1.0 / len(own))


def _whole(cells: Cells) -> Cells:
    if cells.model is not None and cells.model.stop_reason_ == "interrupted":
        # A trial has nothing to save: the interrupt is the caller's.
        raise KeyboardInterrupt
    return cells


def _part(table: Table, rng: np.random.Generator) -> Table:
    """A part of a large table: fewer days in one stretch, then fewer sensors."""
    known = int((~np.isnan(table.values)).sum())
    if known <= MOST_CELLS:
        return table
    n, days = len(table.values), table.days
    least = n
    if days is not None and days.n_days > FEWEST_DAYS:
        least = -(-n * FEWEST_DAYS // days.n_days)
    length = int(np.clip(n * MOST_CELLS / known, least, n))
    first = int(rng.integers(n - length + 1))
    rows = slice(first, first + length)
    values = table.values[rows]
    count = (~np.isnan(values)).sum()
    m = values.shape[1]
    few = int(np.clip(m * MOST_CELLS / max(count, 1), min(FEWEST_SENSORS, m), m))
    cols = np.sort(rng.permutation(m)[:few])
    graph = None if table.col_graph is None else table.col_graph[cols][:, cols]
    times = table.times[rows]
    return replace(
        table,
        values=values[:, cols],
        times=times,
        days=None if days is None else find_days(times),
        col_graph=graph,
    )
