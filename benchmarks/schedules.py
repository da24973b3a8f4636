"""How often each order of updates ends at the better bound.

    python benchmarks/schedules.py
    python benchmarks/schedules.py --problems 10 --no-page

The bound has several optima, and every schedule only climbs. Three of them start from the same
means on small random problems, in the paper's column-wise family at a fixed rank: the paper's
column after column, all means of a side solved together, and that with the columns' scales
balanced between sweeps, as the library does it. Prints a table and puts it into
docs/decisions/013-schedule.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from bmcg import Observations
from bmcg.backends import NumbaBackend, SparseRows
from bmcg.graphs import knn_graph
from bmcg.graphs.precision import graph_precision, identity_precision
from bmcg.inference.covariance import Diagonal
from bmcg.inference.elbo import elbo
from bmcg.inference.rotation import rotate
from bmcg.inference.side import Prior, Side
from bmcg.inference.start import initial_state
from bmcg.inference.state import Factors, Gamma, State
from bmcg.inference.updates import sweep
from bmcg.linalg.engines import DenseEngine, DiagonalEngine
from paper import PaperState, expected_error
from paper import algorithm_one as paper_sweep
from reporting import ROOT, machine, replace_section, table

Array = NDArray[np.float64]

PRIOR = Prior()
RANK, TRUE_RANK = 3, 2
SHAPE = (24, 18)
# Bounds within this many nats of the best are as good: a column that dies takes hundreds of
# sweeps to gain the last of them.
TIE = 0.5
NAMES = ("column after column (the paper)", "all means together", "together, rescaled (ours)")


@dataclass(frozen=True)
class Problem:
    """A small matrix with its sides ready for the updates, and its truth."""

    M: Array
    mask: Array
    truth: Array
    rows: Side
    cols: Side


def draw(seed: int, graphs: bool, observed: float) -> Problem:
    """Two smooth factors, noise at 10 dB, 5-NN graphs of noisy positions or none."""
    rng = np.random.default_rng(seed)
    places = [rng.normal(size=(size, 2)) for size in SHAPE]
    U, V = (
        np.sin(x @ rng.normal(size=(2, TRUE_RANK)) + rng.normal(size=TRUE_RANK)) for x in places
    )
    truth = U @ V.T / np.sqrt(np.mean((U @ V.T) ** 2))
    mask = rng.random(SHAPE) < observed
    M = np.where(mask, truth + 10**-0.5 * rng.normal(size=SHAPE), 0.0)
    scale = np.sqrt(np.mean(M[mask] ** 2))
    M, truth = M / scale, truth / scale
    found = Observations.from_any(np.where(mask, M, np.nan))
    halves = []
    for view, points in zip((found.by_row, found.by_col), places, strict=True):
        pool = NumbaBackend(1)
        side = SparseRows(view.indptr, view.indices, view.values, pool)
        if graphs:
            adjacency: sp.csr_array = knn_graph(points, n_neighbors=5)
            engine = DenseEngine(pool)
            prior = engine.prepare(graph_precision(adjacency, 1e-6))
            halves.append(Side(side, prior, engine))
        else:
            bare = DiagonalEngine(pool)
            halves.append(Side(side, bare.prepare(identity_precision(len(points))), bare))
    return Problem(M, mask.astype(float), truth, halves[0], halves[1])


def algorithm_one(problem: Problem, state: State) -> State:
    """One pass of the paper's Algorithm 1, with the moments that the bound needs."""
    L_r, L_c = (half.prior.precision.toarray() for half in (problem.rows, problem.cols))
    literal = PaperState(
        state.rows.mean,
        state.cols.mean,
        *(np.stack([np.diag(c) for c in F.cov.T]) for F in (state.rows, state.cols)),
        state.lam.shape,
        state.lam.rate,
        float(state.tau.shape),
        float(state.tau.rate),
    )
    new = paper_sweep(literal, problem.M, problem.mask, L_r, L_c, PRIOR)
    sides = [
        Factors(
            F,
            Diagonal(np.stack([np.diag(C) for C in S], axis=1)),
            float(-np.linalg.slogdet(S)[1].sum()),
            np.diag([f @ L @ f + np.trace(C @ L) for f, C in zip(F.T, S, strict=True)]),
        )
        for F, S, L in ((new.U, new.S_u, L_r), (new.V, new.S_v, L_c))
    ]
    tau = Gamma(np.asarray(new.tau_shape), np.asarray(new.tau_rate))
    error = expected_error(new, problem.M, problem.mask)
    return State(sides[0], sides[1], Gamma(new.lam_shape, new.lam_rate), tau, error)


def joint_sweep(problem: Problem, state: State) -> State:
    """One sweep with all means of a side solved together."""
    return sweep("column", problem.rows, problem.cols, PRIOR, state, gain_tol=1e-9)[0]


def rescaled_sweep(problem: Problem, state: State) -> State:
    """The same from balanced columns."""
    if np.isfinite(state.rows.log_det):
        state = rotate(state, PRIOR)
    return joint_sweep(problem, state)


SCHEDULES: dict[str, Callable[[Problem, State], State]] = dict(
    zip(NAMES, (algorithm_one, joint_sweep, rescaled_sweep), strict=True)
)


@dataclass(frozen=True)
class End:
    """Where a schedule came to rest."""

    bound: float
    sweeps: int
    error: float


def climb(problem: Problem, name: str, seed: int, most: int) -> End:
    """Sweep until ten sweeps gain less than a hundredth of a nat."""
    state = initial_state(problem.rows, problem.cols, "column", RANK, seed)
    state = replace(state, rows=replace(state.rows, mean=np.zeros_like(state.rows.mean)))
    trace: list[float] = []
    while len(trace) < most:
        state = SCHEDULES[name](problem, state)
        trace.append(elbo(state, problem.rows, problem.cols, PRIOR))
        if len(trace) > 10 and trace[-1] - trace[-11] < 0.01:
            break
    missing = problem.mask == 0
    residual = (state.rows.mean @ state.cols.mean.T - problem.truth)[missing]
    return End(trace[-1], len(trace), float(np.sqrt(np.mean(residual**2))))


def compare(graphs: bool, observed: float, count: int, most: int) -> list[list[str]]:
    """One line for each schedule over `count` problems of a kind."""
    ends = []
    for seed in range(count):
        problem = draw(seed, graphs, observed)
        ends.append([climb(problem, name, seed, most) for name in NAMES])
    bounds = np.array([[end.bound for end in row] for row in ends])
    short = bounds.max(axis=1, keepdims=True) - bounds
    kind = f"{'graphs' if graphs else 'no graphs'}, {100 * observed:.0f} % observed"
    return [
        [
            kind,
            name,
            f"{(short[:, s] <= TIE).sum()} of {count}",
            f"{((short[:, s] <= TIE) & ((short <= TIE).sum(axis=1) == 1)).sum()}",
            f"{short[:, s].mean():.2f}",
            f"{short[:, s].max():.2f}",
            f"{np.median([row[s].sweeps for row in ends]):.0f}",
            f"{np.mean([row[s].error for row in ends]):.4f}",
        ]
        for s, name in enumerate(NAMES)
    ]


HEADER = (
    "problems",
    "schedule",
    "reaches the best bound",
    "alone",
    "mean shortfall, nats",
    "largest",
    "median sweeps",
    "RMSE, unobserved",
)


def main() -> None:
    """Print the table and put it into the page of the decision."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=12, help="of each kind")
    parser.add_argument("--sweeps", type=int, default=300, help="at most")
    parser.add_argument("--no-page", action="store_true", help="print only")
    options = parser.parse_args()
    rows = []
    for graphs in (True, False):
        for observed in (0.3, 0.6):
            # Matrices this small only lose by the threads of BLAS.
            with threadpool_limits(1):
                rows += compare(graphs, observed, options.problems, options.sweeps)
            print("\n".join(" | ".join(row) for row in rows[-len(NAMES) :]), flush=True)
    text = (
        f"`python benchmarks/schedules.py` ({machine()}; {options.problems} problems of each kind, "
        f"{SHAPE[0]} × {SHAPE[1]}, true rank {TRUE_RANK}, fitted with {RANK} columns, at most "
        f"{options.sweeps} sweeps; bounds within {TIE} nats count as equal)\n\n"
        f"{table(HEADER, rows)}"
    )
    print(text)
    if not options.no_page:
        replace_section(ROOT / "docs" / "decisions" / "013-schedule.md", text)


if __name__ == "__main__":
    main()
