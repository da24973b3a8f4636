"""Tables of sensors: the publishers' masks, and one that is drawn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from bmcg.datasets import (
    Dataset,
    load_aqi36,
    load_birmingham,
    load_davis,
    load_hangzhou,
    load_movielens_100k,
)
from bmcg.observations import Observations

Bool = NDArray[np.bool_]
STEPS = {"hangzhou": 108, "birmingham": 18}
HANGZHOU = ("RM40", "NM40", "RM60", "RM30T", "RM70T", "RM90T", "NM30", "NM70", "BM30")
MASKS = (*(f"hangzhou-{mask}" for mask in HANGZHOU), "birmingham-RM40", "birmingham-RM60")
MASKS = (*MASKS, "birmingham-NM40")
TABLES = ("aqi36", "simulated")
# Nothing is alike along rows or columns as they are numbered.
NOTHING = ("ml-100k", "davis", "independent")
# Steps of a day, seconds of each, and when the first begins: the publishers' hours of service.
CLOCKS = {
    "hangzhou": (108, 600, 6),
    "birmingham": (18, 1800, 8),
    "aqi36": (24, 3600, 0),
    "simulated": (96, 900, 0),
    "independent": (96, 900, 0),
}
SENSORS, TIMES, DAY, BLOCK = 200, 2000, 96, 12


def load(name: str) -> tuple[Dataset, dict[str, Bool]]:
    """A set, and the parts of its held-out entries that are judged apart."""
    if name in ("simulated", "independent"):
        return _drawn(name == "simulated")
    if name in NOTHING:
        data = load_davis() if name == "davis" else load_movielens_100k()
        # By position, not by name.
        seen = replace(data.observations, row_labels=None, col_labels=None)
        everywhere = np.ones(len(data.test_values), dtype=bool)
        return replace(data, observations=seen), {"all": everywhere}
    family, _, mask = name.partition("-")
    if family == "aqi36":
        data = load_aqi36()
    else:
        data = {"hangzhou": load_hangzhou, "birmingham": load_birmingham}[family](mask)  # type: ignore[operator]
    return data, {"all": np.ones(len(data.test_values), dtype=bool)}


def clock(name: str, n: int) -> NDArray[np.datetime64]:
    """Times of the n columns of a set, from a first day on."""
    steps, seconds, hour = CLOCKS[name.partition("-")[0]]
    at = np.arange(n)
    passed = at // steps * 86_400 + hour * 3_600 + at % steps * seconds
    return np.datetime64("2024-01-01", "s") + passed.astype("timedelta64[s]")


def _drawn(smooth: bool) -> tuple[Dataset, dict[str, Bool]]:
    """Quarter hours: a daily pattern of rank three, drift and local noise, or noise alone.

    Thirty per cent of single entries are held out, and blocks of three hours besides.
    """
    rng = np.random.default_rng(21)
    hours = 2.0 * np.pi * np.arange(TIMES) / DAY
    pattern = np.stack((np.sin(hours), np.cos(hours), np.sin(2.0 * hours)))
    X = rng.normal(size=(SENSORS, 3)) @ pattern
    if smooth:
        for length, size in ((DAY, 0.7), (4, 0.5)):
            keep, walk = np.exp(-1.0 / length), rng.normal(size=SENSORS)
            for t in range(TIMES):
                walk = keep * walk + np.sqrt(1.0 - keep**2) * rng.normal(size=SENSORS)
                X[:, t] += size * walk
    X = 20.0 + 3.0 * (X + 0.2 * rng.normal(size=X.shape))
    single = rng.random(X.shape) < 0.3
    block = np.zeros(X.shape, dtype=bool)
    for i in range(SENSORS):
        for start in rng.integers(0, TIMES - BLOCK, 10):
            block[i, start : start + BLOCK] = True
    hidden = single | block
    i, j = np.nonzero(~hidden)
    rows, cols = np.nonzero(hidden)
    data = Dataset(
        "simulated" if smooth else "independent",
        Observations.from_triples(i, j, X[i, j], X.shape),
        rows,
        cols,
        X[rows, cols],
        None,
        None,
        None,
        None,
        None,
        "drawn by benchmarks/local/sets.py",
        "none",
    )
    within = block[rows, cols]
    return data, {"single": ~within, "blocks": within}
