"""Whether the local term stays: gaps like those of the data are hidden, and predicted without it.

A term that is smooth along a line fills single gaps from both neighbours, and says little of the
middle of a long one. So what is left out are runs along the lines, as long as the gaps that are
there.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..observations import Observations
from .folds import LEAST_ENTRIES, SHARE, Fold
from .form import Form
from .local import Lines
from .questions import Answer, Clock, Standing, Trials

TERM = "a local term"


def ask_local(trials: Trials, standing: Standing) -> Answer:
    """Whether gaps are predicted better with it, by more than twice the standard error.

    Twice, because a model with the term can do less: it takes no new rows and gives no draws.
    """
    settings = standing.settings
    if settings.local is None or not settings.local_open:
        return standing, ()
    clock, judge = Clock(trials), trials.judge(standing)
    less = replace(settings, local=None, bias=settings.bias is not False)
    without = replace(standing, settings=replace(settings, local=None))
    fold = gaps_like_those(trials.observations, settings.local, settings.seed)
    if len(fold.values) < LEAST_ENTRIES // 2:
        rule = f"because fewer than {LEAST_ENTRIES // 2} entries say nothing"
        return without, (clock.verdict("local", TERM, False, rule, np.nan, np.nan),)
    judge.folds = [fold]
    plain = judge.score(Form(), less, "without a local term")
    full = judge.score(Form(), replace(less, local=settings.local), "with a local term")
    trials.sweeps += judge.sweeps
    gain = plain.losses - full.losses
    taken = bool(gain.mean() > 2.0 * gain.std(ddof=1) / np.sqrt(len(gain)))
    verdict = clock.verdict("local", TERM, taken, plain.measure, plain.error, full.error)
    return standing if taken else without, (verdict,)


def gaps_like_those(observations: Observations, lines: Lines, seed: int) -> Fold:
    """About a tenth of the entries left out in runs along the lines, as long as gaps there are."""
    rng = np.random.default_rng([seed, 5])
    rows, cols, x = observations.row_indices, observations.col_indices, observations.values
    place = np.empty(lines.stack.n, dtype=np.intp)
    place[lines.bands.order] = np.arange(lines.stack.n)
    line, node = lines.places(rows, cols)
    key = line.astype(np.int64) * lines.stack.n + place[node]
    order = np.argsort(key)
    lengths = gap_lengths(line[order], place[node][order], lines)
    hidden, count, key = np.zeros(len(x), dtype=bool), 0, key[order]
    while count < SHARE * len(x):
        # From an entry on, along its line, for as long as some gap that there is.
        first = int(rng.integers(len(order)))
        end = (key[first] // lines.stack.n + 1) * lines.stack.n
        stop = min(key[first] + lengths[int(rng.integers(len(lengths)))], end)
        run = order[first : np.searchsorted(key, stop)]
        count += len(run) - int(hidden[run].sum())
        hidden[run] = True
    kept = ~hidden
    part = Observations.from_triples(rows[kept], cols[kept], x[kept], observations.shape)
    out = rows[hidden].astype(np.intp), cols[hidden].astype(np.intp)
    return Fold(part, *out, x[hidden])


def gap_lengths(line: NDArray[np.integer], place: NDArray[np.integer], lines: Lines) -> list[int]:
    """Lengths of the gaps between entries of a line, in order; [1] where there are none.

    Lines without an entry are no gaps: nothing along them is known.
    """
    same = line[1:] == line[:-1]
    between = (np.diff(place) - 1)[same]
    starts = np.flatnonzero(np.append(True, ~same))
    ends = np.append(starts[1:], len(line)) - 1
    found = np.concatenate((between, place[starts], lines.stack.n - 1 - place[ends]))
    found = found[found > 0]
    return found.tolist() or [1]
