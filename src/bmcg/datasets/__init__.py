"""Data sets of the paper, read from their publishers' files, and generators of synthetic ones."""

from __future__ import annotations

from ._files import DatasetFormatError, DatasetUnavailableError
from .dataset import Dataset, Features
from .genotypes import load_chr22
from .images import load_image
from .monti import load_douban, load_flixster, load_monti_movielens, load_synthetic_netflix
from .movielens import load_movielens_1m, load_movielens_100k
from .synthetic import graph_low_rank, netflix_like, random_low_rank

__all__ = [
    "Dataset",
    "DatasetFormatError",
    "DatasetUnavailableError",
    "Features",
    "graph_low_rank",
    "load_chr22",
    "load_douban",
    "load_flixster",
    "load_image",
    "load_monti_movielens",
    "load_movielens_1m",
    "load_movielens_100k",
    "load_synthetic_netflix",
    "netflix_like",
    "random_low_rank",
]
