"""Which splits, which methods, and what is known of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bmcg import datasets
from bmcg.datasets import Dataset
from bmcg.inference.families import FAMILIES

PEERS = (
    "smurff",
    "myfm",
    "myfm-features",
    "cmfrec",
    "implicit",
    "surprise-svd",
    "surprise-svdpp",
)
RACE, RACE_TARGET, RACE_SHARE = "ml-1m", 0.8360, 0.25


@dataclass(frozen=True)
class Split:
    """A data set and how our families are run on it."""

    title: str
    load: Callable[[], Dataset]
    ridge: float
    bias: bool
    families: tuple[str, ...] = FAMILIES


SPLITS = {
    "ml-100k": Split("MovieLens 100K u1", datasets.load_monti_movielens, 1e-6, False),
    "flixster": Split("Flixster", datasets.load_flixster, 1e-6, False),
    "douban": Split("Douban", datasets.load_douban, 0.1, False),
    "ml-1m": Split("MovieLens 1M 90/10", datasets.load_movielens_1m, 1e-6, True, ("row", "column")),
}

# RMSE that the same versions reached on the same splits before: adapters are held to them.
BEFORE = {
    "smurff": {"ml-100k": "0.908", "flixster": "0.905", "douban": "0.741", "ml-1m": "0.8351"},
    "myfm": {"ml-100k": "0.909", "flixster": "0.887–0.894", "douban": "0.731–0.733"},
    "myfm-features": {"ml-100k": "0.8915", "flixster": "0.8766", "douban": "0.7225"},
    "cmfrec": {"ml-100k": "0.931", "flixster": "0.896", "douban": "0.737", "ml-1m": "0.851"},
    "surprise-svd": {"ml-100k": "0.951", "flixster": "0.898", "douban": "0.743"},
    "surprise-svdpp": {"ml-100k": "0.933", "douban": "0.736"},
}


def package(method: str) -> str:
    """The package that a method needs."""
    return method.partition("-")[0]


def contestants(turn: int) -> tuple[str, str]:
    """Who runs first and who second in a round of the race."""
    return ("smurff", "bmcg") if turn % 2 == 0 else ("bmcg", "smurff")
