"""Where the time of a whole fit goes, in seconds of one processor and in bytes passed over.

    BMCG_DATA=/path/to/data python -m benchmarks.speed profile half hangzhou

Every operation of the back end is timed, and the arrays it is given and returns are counted once a
call: what a pass over memory costs at the least. Work between operations is what NumPy and Python
do themselves. Writes a section for each case into docs/results/profile.md.
"""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmarks.reporting import ROOT, machine, table, write_page
from benchmarks.speed.cases import CASES

from bmcg import BMCG
from bmcg.backends import NumbaBackend, SparseRows
from bmcg.inference import sampling, variational
from bmcg.linalg import engines

PAGE = ROOT / "docs" / "results" / "profile.md"
HEAD = """# Profiles

`BMCG_DATA=... python -m benchmarks.speed profile CASE ...` writes a section of this page: where a
fit with the defaults spends its processor seconds, on one thread. Bytes are those of the arrays
that an operation is given and gives back, once a call. Operations called by others are counted
with those alone.
"""
OPERATIONS = (
    "row_sums", "weighted_sums", "affine_sums", "gram_and_sums", "entry_products", "squared_error",
    "residual_sums", "block_product", "invert_blocks", "solve_blocks", "draw_rows",
    "cholesky_blocks", "lower_products", "second_moments", "precision_blocks", "expected_trace",
    "log_diagonals", "inner", "advance", "redirect", "couple", "local_estimate", "edge_spread",
)  # fmt: skip
STEPS: dict[str, list[tuple[Any, str]]] = {
    "variances along a graph": [
        (engine, "columns")
        for engine in (engines.DenseEngine, engines.BandedEngine, engines.SparseEngine)
    ],
    "strengths of graphs": [(variational, "learn_strengths")],
    "which components to drop": [(variational, "surplus")],
    "precisions and noise drawn": [(sampling, "draw_precisions")],
}


class Account:
    """Seconds, calls and bytes of each kind of work; what is called from within counts there."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.bytes: dict[str, float] = defaultdict(float)
        self.calls: dict[str, int] = defaultdict(int)
        self._busy = False

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with its outermost calls counted."""

        def call(*given: Any, **options: Any) -> Any:
            if self._busy:
                return function(*given, **options)
            self._busy, begin = True, time.process_time()
            try:
                found = function(*given, **options)
            finally:
                self._busy = False
            self.seconds[name] += time.process_time() - begin
            self.calls[name] += 1
            self.bytes[name] += sum(_size(x) for x in (*given, found))
            return found

        return call


@contextmanager
def counted() -> Iterator[Account]:
    """Account for every operation and step within the block."""
    account = Account()
    with ExitStack() as patches:
        for name in OPERATIONS:
            whole = account.around(name, getattr(NumbaBackend, name))
            patches.enter_context(patch.object(NumbaBackend, name, _method(whole)))
        for name, places in STEPS.items():
            for place, attribute in places:
                if hasattr(place, attribute):
                    whole = account.around(name, getattr(place, attribute))
                    made = _method(whole) if isinstance(place, type) else whole
                    patches.enter_context(patch.object(place, attribute, made))
        yield account


def run(names: list[str]) -> None:
    """Profile cases and write their sections."""
    for name in names:
        if name not in CASES:
            raise SystemExit(f"{name!r} is no case: choose from {', '.join(CASES)}")
        text = section(name)
        print(text, flush=True)
        write_page(PAGE, _page({**_stored(), name: text}))


def section(name: str) -> str:
    """The profile of one case."""
    X, given, held = CASES[name].read()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        BMCG(random_state=0, n_jobs=1, max_sweeps=2).fit(X, **given)
        with counted() as account:
            begin = time.process_time()
            model = BMCG(random_state=0, n_jobs=1).fit(X, **given)
            total = time.process_time() - begin
    error = model.predict(held[0], held[1]) - held[2]
    asked = sum(verdict.sweeps for verdict in model.selection_.verdicts)
    rest = total - sum(account.seconds.values())
    lines = [
        [what, str(account.calls[what]), f"{seconds:.2f}", f"{seconds / total:.0%}",
         f"{account.bytes[what] / 2**30:.2f}"]
        for what, seconds in sorted(account.seconds.items(), key=lambda item: -item[1])
        if seconds >= 0.005 * total
    ]  # fmt: skip
    lines.append(["NumPy and Python between them", "", f"{rest:.2f}", f"{rest / total:.0%}", ""])
    verdicts = "\n".join(f"- {verdict.sentence}" for verdict in model.selection_.verdicts)
    return (
        f"{machine()}. {total:.1f} s of one processor; {model.n_sweeps_} sweeps of the fit and "
        f"{asked} of its questions; `{model.posterior_}`, rank {model.rank_}, held-out RMSE "
        f"{np.sqrt(np.mean(error**2)):.4f}.\n\n"
        f"{table(['where', 'calls', 'CPU s', 'share', 'GiB'], lines)}\n\n{verdicts}"
    )


def _method(whole: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *given, **options: whole(*given, **options)


def _size(x: Any) -> float:
    if isinstance(x, tuple):
        return sum(_size(part) for part in x)
    if isinstance(x, SparseRows):
        return float(x.indices.nbytes + x.values.nbytes)
    return float(x.nbytes) if isinstance(x, np.ndarray) else 0.0


def _stored() -> dict[str, str]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    parts = [part.partition("\n") for part in text.split("\n## ")[1:]]
    return {name: body.strip() for name, _, body in parts}


def _page(sections: dict[str, str]) -> str:
    ordered = [f"## {name}\n\n{sections[name]}" for name in CASES if name in sections]
    return HEAD + "\n" + "\n\n".join(ordered) + "\n"
