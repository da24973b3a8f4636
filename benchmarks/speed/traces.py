"""The error of a running fit on held-out entries, against the seconds it has taken."""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from bmcg.backends import open_backend
from bmcg.datasets import Dataset
from bmcg.graphs.precision import stack_graphs
from bmcg.inference import design
from bmcg.inference.fit import Progress, Settings, SideInput
from bmcg.inference.state import State
from bmcg.inference.variational import run
from bmcg.likelihoods.gaussian import root_mean_square
from bmcg.metrics import rmse

Array = NDArray[np.float64]


class Trace(NamedTuple):
    """Held-out error after every sweep.

    Attributes
    ----------
    seconds : ndarray of shape (n_sweeps,)
        Wall time since the fit began, the error's own computation left out.
    errors : ndarray of shape (n_sweeps,)
    ranks : ndarray of shape (n_sweeps,)
    total : float
        Seconds of the whole fit.
    converged : bool
    """

    seconds: Array
    errors: Array
    ranks: NDArray[np.int64]
    total: float
    converged: bool

    def seconds_to(self, error: float) -> float:
        """Until the error was first at most this; infinite if it never was."""
        reached = np.flatnonzero(self.errors <= error)
        return float(self.seconds[reached[0]]) if len(reached) else np.inf


def trace_fit(data: Dataset, settings: Settings, *, ridge: float, n_jobs: int | None) -> Trace:
    """Fit a data set with its graphs and note the error after every sweep."""
    observations = data.observations
    offset = float(observations.values.mean()) if settings.bias else 0.0
    scale = root_mean_square(observations.values - offset)
    notes: list[tuple[float, float, int]] = []
    begin, paused = time.perf_counter(), 0.0

    def note(progress: Progress) -> None:
        nonlocal paused
        now = time.perf_counter()
        found = held_out(data, progress.state, offset, scale)
        notes.append((now - begin - paused, rmse(data.test_values, found), progress.rank))
        paused += time.perf_counter() - now

    with open_backend(n_jobs) as pool:
        sides = [
            _side(graph, size, ridge)
            for graph, size in zip(
                (data.row_graph, data.col_graph), observations.shape, strict=True
            )
        ]
        fit = run(observations, sides[0], sides[1], settings, backend=pool, callback=note)
    total = time.perf_counter() - begin - paused
    seconds, errors, ranks = (np.asarray(part) for part in zip(*notes, strict=True))
    return Trace(seconds, errors, ranks, total, fit.converged)


def _side(graph: sp.csr_array | None, n: int, ridge: float) -> SideInput:
    if graph is None:
        return SideInput(stack_graphs([], n), 1.0)
    return SideInput(stack_graphs([graph], n), ridge)


def held_out(data: Dataset, state: State, offset: float, scale: float) -> Array:
    """Predictions of the held-out entries at a state, shape (n_test,)."""
    U = design.own_mean(state.rows, state.biased)[data.test_rows]
    V = design.partner_mean(state.cols, state.biased)[data.test_cols]
    return offset + scale * np.einsum("ir,ir->i", U, V)
