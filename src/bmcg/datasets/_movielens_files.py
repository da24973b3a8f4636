"""Strict readers for the text files of MovieLens."""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ._files import DatasetFormatError, Source
from .dataset import Features, Floats

# Both editions were written before UTF-8 was usual: titles are in Latin-1.
_ENCODING = "latin-1"
_YEAR = re.compile(r"\b(1[89]\d\d|20\d\d)\b(?!.*\b(?:1[89]\d\d|20\d\d)\b)")


@dataclass(frozen=True)
class Edition:
    """What GroupLens ships in one edition, and so what a reader must find.

    Attributes
    ----------
    title, folder : str
    separator : str
        Between the fields of a line of users or movies.
    user_fields : (int, int, int)
        Where a line of users holds age, gender and occupation.
    source : Source
    n_users, n_items : int
    n_ratings : (int, int)
        Fewest and most ratings in the whole edition.
    """

    title: str
    folder: str
    separator: str
    user_fields: tuple[int, int, int]
    source: Source
    n_users: int
    n_items: int
    n_ratings: tuple[int, int]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The users, or the movies, of an edition.

    Attributes
    ----------
    ids : ndarray of int64, shape (n,)
        The publisher's numbers, ascending.
    features : Features
    n_graph_features : int
        The graph is built from this many of the first features.
    """

    ids: NDArray[np.int64]
    features: Features
    n_graph_features: int

    @property
    def graph_values(self) -> Floats:
        """Features the graph is built from, shape (n, n_graph_features)."""
        return self.features.values[:, : self.n_graph_features]


def read_ratings(path: Path, separator: str, size: tuple[int, int]) -> NDArray[np.int64]:
    """User, movie and rating of each line.

    Parameters
    ----------
    path : Path
    separator : str
    size : (int, int)
        Fewest and most lines the file may have.

    Returns
    -------
    ndarray of int64, shape (n_ratings, 3)
    """
    expected = f"whole numbers user{separator}movie{separator}rating{separator}timestamp"
    text = path.read_text(_ENCODING).replace(separator, "\t")
    if not text.strip():
        raise DatasetFormatError(f"{path} is empty, expected {size[0]} lines of {expected!r}")
    try:
        table = np.loadtxt(
            io.StringIO(text), dtype=np.int64, delimiter="\t", ndmin=2, comments=None
        )
    except ValueError as error:
        raise DatasetFormatError(f"{path}: expected lines of {expected!r}: {error}") from None
    if table.shape[1] != 4:
        raise DatasetFormatError(
            f"{path}: expected lines of {expected!r}, found {table.shape[1]} fields"
        )
    if not size[0] <= len(table) <= size[1]:
        wanted = f"{size[0]}" if size[0] == size[1] else f"{size[0]} to {size[1]}"
        raise DatasetFormatError(
            f"{path} has {len(table)} ratings, expected {wanted}: the file is truncated, "
            "or of another edition"
        )
    outside = (table[:, 2] < 1) | (table[:, 2] > 5)
    if outside.any():
        line = int(outside.argmax())
        raise DatasetFormatError(
            f"{path}, line {line + 1}: rating {table[line, 2]}, expected 1 to 5"
        )
    return table[:, :3]


def read_users(path: Path, edition: Edition) -> Catalogue:
    """Users with age, gender and occupation (one column a level).

    Parameters
    ----------
    path : Path
    edition : Edition
    """
    lines = _read_fields(path, edition.separator, 5, edition.n_users)
    at_age, at_gender, at_occupation = edition.user_fields
    gender = [line[at_gender] for line in lines]
    if not set(gender) <= {"F", "M"}:
        line = next(i for i, g in enumerate(gender) if g not in ("F", "M"))
        raise DatasetFormatError(f"{path}, line {line + 1}: gender {gender[line]!r}, not F or M")
    age = [_whole(line[at_age], path, i) for i, line in enumerate(lines)]
    occupation = [line[at_occupation] for line in lines]
    levels = sorted(set(occupation))
    columns = [age, [g == "M" for g in gender], *([o == u for o in occupation] for u in levels)]
    names = ("age", "gender=M", *(f"occupation={level}" for level in levels))
    features = Features(np.array(columns, dtype=np.float64).T.copy(), names)
    return Catalogue(_ids(lines, path), features, len(names))


def read_items_100k(path: Path, genre_path: Path, edition: Edition) -> Catalogue:
    """Movies of the 100K edition: a flag for each genre and the release year.

    Parameters
    ----------
    path, genre_path : Path
        ``u.item`` and ``u.genre``.
    edition : Edition
    """
    genres = [g.split("|")[0] for g in genre_path.read_text(_ENCODING).splitlines() if g.strip()]
    lines = _read_fields(path, edition.separator, 5 + len(genres), edition.n_items)
    flags = []
    for i, line in enumerate(lines):
        if not set(line[5:]) <= {"0", "1"}:
            raise DatasetFormatError(f"{path}, line {i + 1}: genre flags must be 0 or 1")
        flags.append([float(flag) for flag in line[5:]])
    return _movies(lines, path, genres, flags, [line[2] for line in lines])


def read_items_1m(path: Path, edition: Edition) -> Catalogue:
    """Movies of the 1M edition: a flag for each genre and the release year.

    Parameters
    ----------
    path : Path
        ``movies.dat``.
    edition : Edition
    """
    lines = _read_fields(path, edition.separator, 3, edition.n_items)
    of_movie = [set(line[2].split("|")) for line in lines]
    genres = sorted(set().union(*of_movie))
    flags = [[float(genre in own) for genre in genres] for own in of_movie]
    return _movies(lines, path, genres, flags, [line[1] for line in lines])


def _movies(
    lines: list[list[str]],
    path: Path,
    genres: list[str],
    flags: list[list[float]],
    dated: list[str],
) -> Catalogue:
    found = [_YEAR.search(text) for text in dated]
    year = np.array([float(hit.group()) if hit else np.nan for hit in found])
    if np.isnan(year).all():
        raise DatasetFormatError(f"{path}: no line has a release year")
    # One movie of the 100K edition has no date; the median says the least about it.
    year[np.isnan(year)] = np.nanmedian(year)
    names = (*(f"genre={genre}" for genre in genres), "year")
    features = Features(np.column_stack([np.array(flags), year]), names)
    return Catalogue(_ids(lines, path), features, len(genres))


def _read_fields(path: Path, separator: str, n_fields: int, n_lines: int) -> list[list[str]]:
    lines = [line.split(separator) for line in path.read_text(_ENCODING).split("\n") if line]
    for i, line in enumerate(lines):
        line[-1] = line[-1].rstrip("\r")
        if len(line) != n_fields:
            raise DatasetFormatError(
                f"{path}, line {i + 1}: expected {n_fields} fields separated by {separator!r}, "
                f"found {len(line)}"
            )
    if len(lines) != n_lines:
        raise DatasetFormatError(f"{path} has {len(lines)} lines, expected {n_lines}")
    return lines


def _whole(text: str, path: Path, line: int) -> int:
    try:
        return int(text)
    except ValueError:
        raise DatasetFormatError(
            f"{path}, line {line + 1}: expected a whole number, found {text!r}"
        ) from None


def _ids(lines: list[list[str]], path: Path) -> NDArray[np.int64]:
    ids = np.array([_whole(line[0], path, i) for i, line in enumerate(lines)], dtype=np.int64)
    if ids[0] < 1 or (np.diff(ids) <= 0).any():
        raise DatasetFormatError(f"{path}: the ids in the first field must ascend from 1")
    return ids
