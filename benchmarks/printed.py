"""Two printed figures of the paper's own model, looked for: writes docs/results/printed.md.

    BMCG_DATA=/path/to/data python -m benchmarks.printed

Run from the root of the repository; a few minutes. The paper's factorisation (`posterior="column"`,
no biases, graphs at weight one) is behind the printed figure on Douban and, on average, on peppers.
Starts, numbers of components and ridges are varied one by one; the bound says which fit the model
itself prefers. Nothing here is chosen by test entries.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
from benchmarks.reporting import ROOT, machine, table, write_page

from bmcg import BMCG, datasets
from bmcg.datasets import Dataset
from bmcg.metrics import psnr, rmse

PAGE = ROOT / "docs" / "results" / "printed.md"
RANKS, RIDGES = (100, 5, 2, 1), (1e-6, 1e-4, 1e-2, 1.0)
DOUBAN_SEEDS, MASKS = range(3), range(20)
PRINTED_DOUBAN, PRINTED_PEPPERS = 0.7366, 20.5071


class Fit(NamedTuple):
    """How one fit ended."""

    error: float
    rank: int
    bound: float


def fitted(data: Dataset, score: Callable[[BMCG], float], seed: int, **settings: object) -> Fit:
    """The paper's factorisation with one thing changed."""
    paper = {"posterior": "column", "bias": False, "learn_graphs": False, "selection": False}
    model = BMCG(**paper, local=None, random_state=seed, n_jobs=1, **settings)  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the bound tells how a fit ended
        model.fit(data.observations, data.row_graph, data.col_graph)
    return Fit(score(model), int(model.rank_), float(model.elbo_trace_[-1]))


def douban() -> str:
    """RMSE and bound for every ridge and number of components to start from."""
    data = datasets.load_douban()

    def score(model: BMCG) -> float:
        return rmse(data.test_values, model.predict(data.test_rows, data.test_cols))

    rows = []
    for ridge in RIDGES:
        for rank in RANKS:
            found = [fitted(data, score, seed, rank=rank, ridge=ridge) for seed in DOUBAN_SEEDS]
            best = max(found, key=lambda one: one.bound)
            rows.append(
                [f"{ridge:g}", str(rank), _spread([one.error for one in found]), *_told(best)]
            )
    header = ("ridge", "rank to start from", "RMSE", "best bound", "its rank", "its RMSE")
    return table(header, rows)


def peppers() -> tuple[str, list[float]]:
    """PSNR of one draw of pixels and noise after the other, as in `bmcg bench inpainting`."""
    rows, errors = [], []
    for seed in MASKS:
        data = datasets.load_image("peppers", observed=0.1, snr_db=5.0, seed=seed)

        def score(model: BMCG, data: Dataset = data) -> float:
            return psnr(np.asarray(data.truth), model.complete())

        one = fitted(data, score, seed, rank=100)
        errors.append(one.error)
        rows.append([str(seed), f"{one.error:.2f}", str(one.rank), f"{one.bound:,.0f}"])
    return table(("draw", "PSNR, dB", "rank", "bound"), rows), errors


def _told(fit: Fit) -> list[str]:
    return [f"{fit.bound:,.0f}", str(fit.rank), f"{fit.error:.4f}"]


def _spread(values: Iterable[float]) -> str:
    found = list(values)
    return f"{np.mean(found):.4f} ± {np.std(found):.4f}"


def main() -> None:
    """Fit everything and write the page."""
    pictures, errors = peppers()
    reached = sum(error >= PRINTED_PEPPERS - 0.005 for error in errors)
    write_page(
        PAGE,
        f"""# Two printed figures, looked for

`BMCG_DATA=... python -m benchmarks.printed` writes this page. The paper's factorisation,
`posterior="column"` without biases and with graphs at weight one, ends behind two figures that the
paper prints with its own settings as we read them.

{machine()}.

## Douban: the ridge

Printed: {PRINTED_DOUBAN}. The network of Douban leaves 1,831 of its 3,000 users without a friend.
Of them the prior says λ times the ridge and nothing else, and with the ridge of 1e-6 that the paper
states for its drawn data they are not regularised at all: the error is that of users fitted freely.
The bound prefers a ridge of 0.01 by thousands, and one component to two. There the printed figure
is met, and with a ridge of one it is had to the digit. {len(DOUBAN_SEEDS)} seeds; the last columns
are of the seed with the best bound.

{douban()}

The defaults learn the ridge, and biases take what the one component holds.

## Peppers: the draw of pixels

Printed: {PRINTED_PEPPERS:.2f} dB, of one draw of pixels and noise that is not told. Of {len(MASKS)}
draws of ours, {reached} has it or more; their mean is {np.mean(errors):.2f} dB, their standard
deviation {np.std(errors):.2f}, from {min(errors):.2f} to {max(errors):.2f}.

{pictures}
""",
    )


if __name__ == "__main__":
    main()
