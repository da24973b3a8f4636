"""Whether the local term stays: gaps like those of the data are hidden, and predicted without it.

A term that is smooth along a line fills single gaps from both neighbours, and says little of the
middle of a long one. So what is left out are runs along the lines, as long as the gaps that are
there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations
from .folds import LEAST_ENTRIES, SHARE, Fold
from .form import Form
from .grid import Grid
from .local import Ground
from .questions import Answer, Clock, Standing, Trials

TERM = "a local term"


def ask_local(trials: Trials, standing: Standing) -> Answer:
    """Whether gaps are predicted better with one, by more than twice the standard error.

    Twice, because a model with the term can do less: it takes no new rows and gives no draws. Of
    several the one that predicts best.
    """
    settings = standing.settings
    if not settings.local_open:
        return standing, ()
    clock, judge = Clock(trials), trials.judge(standing)
    less = replace(settings, local=None, bias=settings.bias is not False)
    without = replace(standing, settings=replace(settings, local=None))
    fold = gaps_like_those(trials.observations, settings.local_open, settings.seed)
    if len(fold.values) < LEAST_ENTRIES // 2:
        rule = f"because fewer than {LEAST_ENTRIES // 2} entries say nothing"
        return without, (clock.verdict("local", TERM, False, rule, np.nan, np.nan),)
    judge.folds = [fold]
    plain = judge.score(Form(), less, "without a local term")
    full = [
        judge.score(Form(), replace(less, local=lines), f"with a local term ({lines.along})")
        for lines in settings.local_open
    ]
    trials.sweeps += judge.sweeps
    best = int(np.argmin([score.losses.mean() for score in full]))
    gain = plain.losses - full[best].losses
    taken = bool(gain.mean() > 2.0 * gain.std(ddof=1) / np.sqrt(len(gain)))
    verdict = clock.verdict("local", TERM, taken, plain.measure, plain.error, full[best].error)
    chosen = replace(standing, settings=replace(settings, local=settings.local_open[best]))
    return chosen if taken else without, (verdict,)


def gaps_like_those(observations: Observations, ways: Sequence[Ground], seed: int) -> Fold:
    """About a tenth of the entries left out in runs, as long as gaps there are.

    Along every line that one of the ways is smooth along, each with its share of the entries;
    single entries where no way has an order.
    """
    rng = np.random.default_rng([seed, 5])
    rows, cols, x = observations.row_indices, observations.col_indices, observations.values
    orders = _orders(ways)
    hidden = np.zeros(len(x), dtype=bool)
    if not orders:
        hidden = rng.random(len(x)) < SHARE
    for number, (along, order) in enumerate(orders.items(), start=1):
        line, node = (rows, cols) if along == "cols" else (cols, rows)
        _hide_runs(hidden, line, node, order, SHARE * number / len(orders), rng)
    kept = ~hidden
    part = Observations.from_triples(rows[kept], cols[kept], x[kept], observations.shape)
    out = rows[hidden].astype(np.intp), cols[hidden].astype(np.intp)
    return Fold(part, *out, x[hidden])


def _orders(ways: Sequence[Ground]) -> dict[str, NDArray[np.intp]]:
    """Orders of the nodes along the graphs of the columns, of the rows, or of both."""
    found: dict[str, NDArray[np.intp]] = {}
    for way in ways:
        if isinstance(way, Grid):
            named = zip(("rows", "cols"), way.bands, strict=True)
            found |= {along: bands.order for along, bands in named if bands is not None}
        else:
            found[way.along] = way.bands.order
    return found


def _hide_runs(
    hidden: NDArray[np.bool_],
    line: NDArray[np.integer],
    node: NDArray[np.integer],
    order: NDArray[np.intp],
    share: float,
    rng: np.random.Generator,
) -> None:
    """Mark runs of entries along lines until `share` of all entries is hidden."""
    n = len(order)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    key = line.astype(np.int64) * n + place[node]
    by_key = np.argsort(key)
    lengths = gap_lengths(line[by_key], place[node][by_key], n)
    key, count = key[by_key], int(hidden.sum())
    while count < share * len(hidden):
        # From an entry on, along its line, for as long as some gap that there is.
        first = int(rng.integers(len(by_key)))
        end = (key[first] // n + 1) * n
        stop = min(key[first] + lengths[int(rng.integers(len(lengths)))], end)
        run = by_key[first : np.searchsorted(key, stop)]
        count += len(run) - int(hidden[run].sum())
        hidden[run] = True


def gap_lengths(line: NDArray[np.integer], place: NDArray[np.integer], n: int) -> list[int]:
    """Lengths of the gaps between entries of a line, in order; [1] where there are none.

    Lines without an entry are no gaps: nothing along them is known.
    """
    same = line[1:] == line[:-1]
    between = (np.diff(place) - 1)[same]
    starts = np.flatnonzero(np.append(True, ~same))
    ends = np.append(starts[1:], len(line)) - 1
    found = np.concatenate((between, place[starts], n - 1 - place[ends]))
    found = found[found > 0]
    return found.tolist() or [1]
