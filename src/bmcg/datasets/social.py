"""Ratings with something beside them: trust, genres, authors."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from ..checks import check_choice
from ..graphs import edge_graph
from ._archives import RESEARCH, Archive, DataDir, entries_dataset, field_archive, indicators
from .dataset import Dataset, Features


def load_ciaodvd(data_dir: DataDir = None) -> Dataset:
    """CiaoDVD: 17,615 users × 16,121 films, ratings 1 to 5, trust among users, genres.

    Parameters
    ----------
    data_dir : path, optional
        Folder that holds ``field/ciaodvd/ciaodvd.npz``; by default ``BMCG_DATA``.
    """
    archive = field_archive("CiaoDVD", "ciaodvd/ciaodvd.npz", "guoguibing/librec", data_dir)
    genres = indicators(archive["item_genre"], "genre")
    shape = len(archive["user_rawid"]), len(genres.values)
    trust = edge_graph(archive["trust"], n_nodes=shape[0])
    return _ratings("ciaodvd", archive, shape, (trust, None), (None, genres), "trust as given")


def load_movietweetings(
    split: Literal["random", "time"] = "random", data_dir: DataDir = None
) -> Dataset:
    """MovieTweetings: 16,554 users × 10,506 films, ratings 0 to 10, genres and years.

    Parameters
    ----------
    split : {"random", "time"}
        Whether a fifth of the ratings is held out at random, or the last ones.
    data_dir : path, optional
        Folder that holds ``field/movietweetings/mt100k.npz``; by default ``BMCG_DATA``.
    """
    check_choice("split", split, ("random", "time"))
    archive = field_archive(
        "MovieTweetings", "movietweetings/mt100k.npz", "sidooms/MovieTweetings", data_dir
    )
    genres, year = archive.floats("item_genre"), archive.floats("item_year", 1)
    names = *(str(name) for name in archive["genre_name"]), "year"
    films = Features(np.column_stack((genres, year)), names)
    shape = int(archive["user"].max()) + 1, len(year)
    part = "test" if split == "random" else "test_time"
    return _ratings("movietweetings", archive, shape, (None, None), (None, films), "", part)


def load_bookcrossing(data_dir: DataDir = None) -> Dataset:
    """BookCrossing: 1,295 users × 14,684 books, ratings 1 to 10, authors and ages.

    Books of one author are joined, for authors are too many for a column each.

    Parameters
    ----------
    data_dir : path, optional
        Folder that holds ``field/bookcrossing/bx.npz``; by default ``BMCG_DATA``.
    """
    archive = field_archive(
        "BookCrossing",
        "bookcrossing/bx.npz",
        "caserec/Datasets-for-Recommender-Systems (Ziegler et al. 2005)",
        data_dir,
    )
    author, age = archive["item_author"], archive.floats("user_age", 1)
    books = np.arange(len(author))
    wrote = sp.csr_array((np.ones(len(author)), (books, author.astype(np.int64))))
    joined = sp.csr_array(wrote @ wrote.T - sp.eye_array(len(author)))
    joined.eliminate_zeros()
    readers = Features(age[:, None], ("age",))
    return _ratings(
        "bookcrossing",
        archive,
        (len(age), len(author)),
        (None, joined),
        (readers, None),
        "books of one author are joined; ages as given, not cleaned",
    )


def _ratings(
    name: str,
    archive: Archive,
    shape: tuple[int, int],
    graphs: tuple[sp.csr_array | None, sp.csr_array | None],
    features: tuple[Features | None, Features | None],
    about: str,
    part: str = "test",
) -> Dataset:
    return entries_dataset(
        name,
        archive["user"],
        archive["item"],
        archive.floats("rating", 1),
        archive[part].astype(bool),
        shape,
        graphs=graphs,
        features=features,
        provenance=f"a fifth of the ratings held out (`{part}`); {about or 'no graph'}.",
        licence=RESEARCH,
    )
