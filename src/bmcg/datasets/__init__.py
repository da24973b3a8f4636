"""Data sets of the paper and of other fields, read from files, and generators of synthetic ones."""

from __future__ import annotations

from ._files import DatasetFormatError, DatasetUnavailableError
from .dataset import Dataset, Features
from .field import (
    load_davis,
    load_dti_enzyme,
    load_fdataset,
    load_mice,
    load_sc_mixology,
    load_table,
)
from .genotypes import load_chr22
from .images import load_image
from .monti import load_douban, load_flixster, load_monti_movielens, load_synthetic_netflix
from .movielens import load_movielens_1m, load_movielens_100k
from .sensors import load_aqi36, load_birmingham, load_hangzhou
from .social import load_bookcrossing, load_ciaodvd, load_movietweetings
from .synthetic import graph_low_rank, netflix_like, random_low_rank

__all__ = [
    "Dataset",
    "DatasetFormatError",
    "DatasetUnavailableError",
    "Features",
    "graph_low_rank",
    "load_aqi36",
    "load_birmingham",
    "load_bookcrossing",
    "load_chr22",
    "load_ciaodvd",
    "load_davis",
    "load_douban",
    "load_dti_enzyme",
    "load_fdataset",
    "load_flixster",
    "load_hangzhou",
    "load_image",
    "load_mice",
    "load_monti_movielens",
    "load_movielens_1m",
    "load_movielens_100k",
    "load_movietweetings",
    "load_sc_mixology",
    "load_synthetic_netflix",
    "load_table",
    "netflix_like",
    "random_low_rank",
]
