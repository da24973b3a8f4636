"""Where a sweep's time goes: every pass over rows is counted, in seconds and operations."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import numpy as np

from bmcg.backends import NumbaBackend
from bmcg.linalg.engines import SparseEngine

# Floating-point operations of one call of a back end, from its arguments. Symmetric blocks count
# once.
OPERATIONS: dict[str, Callable[..., float]] = {
    "row_sums": lambda side, S, *_: len(side.indices) * S.shape[1],
    "gram_and_sums": lambda side, F, *_: len(side.indices) * F.shape[1] * (F.shape[1] + 3),
    "weighted_sums": lambda side, F, *_: 2 * len(side.indices) * F.shape[1],
    "affine_sums": lambda side, F, *_: 2 * len(side.indices) * F.shape[1],
    "gram_product": lambda side, F, X: 4 * len(side.indices) * F.shape[1],
    "squared_error": lambda side, U, V, *_: len(side.indices) * (2 * U.shape[1] + 3),
    "block_product": lambda B, X, *_: 2 * X.size * X.shape[1],
    "lower_products": lambda L, X: X.size * X.shape[1],
    "invert_blocks": lambda P: len(P) * rank(P) ** 3,
    "cholesky_blocks": lambda P: len(P) * rank(P) ** 3 / 3,
    "second_moments": lambda F, C, *_: 2 * C.size,
    "expected_trace": lambda G, F, C: 4 * G.size,
    "precision_blocks": lambda tau, G, own, lam: G.size + 2 * len(G) * len(lam),
}


def rank(P: Any) -> int:
    """k of packed blocks (n, k(k+1)/2)."""
    return int((np.sqrt(8 * P.shape[1] + 1) - 1) / 2 + 0.5)


@dataclass
class Tally:
    """Seconds, operations and calls of each kind of work."""

    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    operations: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    calls: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def total_operations(self) -> float:
        """Of all kinds together."""
        return sum(self.operations.values())

    def timed(self, name: str, function: Callable[..., Any], count: Callable[..., float]) -> Any:
        """The function with its calls counted."""

        def call(*arguments: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            found = function(*arguments, **options)
            self.seconds[name] += time.perf_counter() - begin
            self.operations[name] += count(*arguments)
            self.calls[name] += 1
            return found

        return call


@contextmanager
def stopwatch() -> Iterator[Tally]:
    """Count every pass and every sparse factor within the block."""
    tally = Tally()
    timed = {
        name: _counted(tally, name, getattr(NumbaBackend, name), count)
        for name, count in OPERATIONS.items()
    }
    columns = tally.timed(
        "sparse factor and inverse",
        SparseEngine.columns,
        lambda engine, prior, D, lam, *_: engine.symbolic.flops * len(lam),
    )
    with ExitStack() as patches:
        patches.enter_context(patch.multiple(NumbaBackend, **timed))
        patches.enter_context(
            patch.object(SparseEngine, "columns", lambda *arguments: columns(*arguments))
        )
        yield tally


def _counted(
    tally: Tally, name: str, method: Callable[..., Any], count: Callable[..., float]
) -> Any:
    timed = tally.timed(name, method, lambda backend, *arguments: count(*arguments))
    return lambda *arguments, **options: timed(*arguments, **options)
