"""The sets of the field: what they are called, how they are read, and what kind they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bmcg import datasets
from bmcg.datasets import Dataset

RATINGS, AFFINITY, BINARY, GENOTYPES = "ratings", "affinity", "0/1", "genotypes"
SENSORS, TABLE, CELLS, PICTURE = "sensors", "table", "cells", "picture"


@dataclass(frozen=True)
class FieldSet:
    """One set.

    Attributes
    ----------
    kind : str
    read : callable
        The set under a seed. Where the publishers give one split, all seeds have it, and only the
        methods draw anew.
    what : str
        What comes with it.
    """

    kind: str
    read: Callable[[int], Dataset]
    what: str


def _table(name: str, hidden: int) -> FieldSet:
    return FieldSet(TABLE, lambda seed: datasets.load_table(name, hidden), "nothing")  # type: ignore[arg-type]


def _sensors(read: Callable[..., Dataset], mask: str) -> FieldSet:
    return FieldSet(SENSORS, lambda seed: read(mask), "the chain of times")


def _picture(name: str) -> FieldSet:
    return FieldSet(
        PICTURE,
        lambda seed: datasets.load_image(name, observed=0.3, snr_db=None, seed=seed),
        "chains of lines and columns",
    )


SETS: dict[str, FieldSet] = {
    "flixster": FieldSet(RATINGS, lambda seed: datasets.load_flixster(), "graphs of both sides"),
    "douban": FieldSet(RATINGS, lambda seed: datasets.load_douban(), "friends"),
    "ml-100k": FieldSet(
        RATINGS, lambda seed: datasets.load_monti_movielens(), "graphs of both sides"
    ),
    "ml-1m": FieldSet(
        RATINGS, lambda seed: datasets.load_movielens_1m(seed=seed), "graphs and features"
    ),
    "ciaodvd": FieldSet(RATINGS, lambda seed: datasets.load_ciaodvd(), "trust, genres"),
    "movietweetings": FieldSet(
        RATINGS, lambda seed: datasets.load_movietweetings(), "genres, years"
    ),
    "bookcrossing": FieldSet(RATINGS, lambda seed: datasets.load_bookcrossing(), "authors, ages"),
    "davis": FieldSet(AFFINITY, lambda seed: datasets.load_davis(0), "two dense similarities"),
    "fdataset": FieldSet(
        BINARY, lambda seed: datasets.load_fdataset(seed=seed), "two dense similarities"
    ),
    "dti_enzyme": FieldSet(
        BINARY, lambda seed: datasets.load_dti_enzyme(seed=seed), "a dense similarity"
    ),
    "chr22": FieldSet(
        BINARY,
        lambda seed: datasets.load_chr22(0.2, seed, graph="observed"),
        "neighbours by observed entries",
    ),
    "mice": FieldSet(GENOTYPES, lambda seed: datasets.load_mice(), "pedigree, map"),
    **{f"hangzhou-{mask}": _sensors(datasets.load_hangzhou, mask) for mask in ("RM40", "NM40")},
    **{f"birmingham-{mask}": _sensors(datasets.load_birmingham, mask) for mask in ("RM40", "NM40")},
    "aqi36": FieldSet(SENSORS, lambda seed: datasets.load_aqi36(), "positions, the chain of hours"),
    **{
        f"{name}-{hidden}": _table(name, hidden)
        for name in ("spam", "concrete", "energy", "wine_red", "yacht")
        for hidden in (20, 50)
    },
    "sc_mixology": FieldSet(
        CELLS, lambda seed: datasets.load_sc_mixology(seed=seed), "plates of cells"
    ),
    **{f"image-{name}": _picture(name) for name in ("house", "peppers", "barbara")},
}


def load(name: str, seed: int = 0) -> Dataset:
    """A set of the field.

    Parameters
    ----------
    name : str
        A key of `SETS`.
    seed : int
    """
    if name not in SETS:
        raise ValueError(f"{name!r} is no set of the field: choose from {', '.join(SETS)}")
    return SETS[name].read(seed)
