"""Bytes that work needs beyond what the process holds, from its shapes.

Coefficients count arrays that are alive together at the worst moment, and are held to within 30 %
of what is measured by `python -m benchmarks.survive --memory`.
"""

from __future__ import annotations

from .here import GIB, left
from .work import Work

NUMBER = 8
# Less than this is not looked at: it is as much as libraries take for themselves.
SMALL = 64.0 * 2**20

# Packed blocks of a row, numbers of a row for each component, numbers of an entry: by posterior.
_HELD = {
    "column": (1.9, 15.0, 2.0),
    "row": (5.6, 12.0, 2.0),
    "joint": (7.4, 10.0, 2.0),
    "sampled": (2.5, 6.0, 2.0),
}
# Bytes for each byte of text, line, byte of a model file, pixel.
_TEXT, _LINE, _FILE, _PIXEL = 1.0, 110.0, 2.0, 2000.0
# Bytes for each line of recommendations, and of what is alike.
_LISTED, _ALIKE = 500.0, 180.0
# Bytes for each genotype that is filled by copying, and for each allele of a panel.
_CALL, _ALLELE = 190.0, 6.0
# Bytes for each cell, and for each empty one that is written as text.
_CELL, _HOLE = 120.0, 330.0
# Bytes for each pair, and what labels that are text add.
_PAIR, _WORDS = 150.0, 170.0
# Copies of a completed matrix: alone, and as a table.
_ARRAY, _FRAMED = 1.3, 3.0
# Copies of the draws: those that are kept one by one, stacked, and as a model has them.
_DRAWS = 2.1
# Numbers of draws that are turned together, and copies of them (`inference/sampled.py`).
_TURNED, _TURNS = float(1 << 23), 4.0


def fit(work: Work) -> float:
    """A fit with as many components as `work` has."""
    blocks, vectors, entries = _HELD[work.kind]
    k, n = work.components, work.rows + work.cols
    numbers = n * (blocks * k * (k + 1) / 2 + vectors * k) + entries * work.entries
    # Draws are in single precision, with the constants that biases meet.
    draws = _DRAWS * work.draws * n * (k + 1) / 2
    draws += _TURNS * min(_TURNED, float(work.draws) * max(work.rows, work.cols) * k)
    moments = 8.0 * work.entries * work.moments
    return NUMBER * (numbers + draws + moments + 6.0 * work.nodes)


def table(text: float, lines: float) -> float:
    """Entries read from lines of a table of so many bytes, to where they are grouped."""
    return _TEXT * text + _LINE * lines


def cells(text: float, count: float, holes: float = 0.0) -> float:
    """A table whose cells are the matrix, filled and written again; holes of a text by one."""
    return _TEXT * text + _CELL * count + _HOLE * holes


def model(file: float) -> float:
    """A model read from a file of so many bytes."""
    return _FILE * file


def matrix(rows: int, cols: int, framed: bool) -> float:
    """Every entry, as an array or as a table."""
    return NUMBER * float(rows) * cols * (_FRAMED if framed else _ARRAY)


def pairs(count: float, text: bool) -> float:
    """Predictions at pairs of a table, whose labels may be text."""
    return (_PAIR + _WORDS * text) * count


def lists(lines: float) -> float:
    """Recommendations as a table."""
    return _LISTED * lines


def alike(lines: float) -> float:
    """Columns that are alike as a table."""
    return _ALIKE * lines


def copied(calls: float, alleles: float) -> float:
    """Genotypes filled by copying, from a panel with so many alleles."""
    return _CALL * calls + _ALLELE * alleles


def picture(pixels: float) -> float:
    """A picture that is filled in."""
    return _PIXEL * pixels


def require(need: float, what: str, advice: str) -> None:
    """Raise where less is left than some work needs.

    Parameters
    ----------
    need : float
        Bytes.
    what : str
        The work, as the beginning of a sentence.
    advice : str
        The way out.
    """
    if need < SMALL:
        return
    found = left()
    if need > found.bytes:
        raise MemoryError(
            f"{what} needs about {size(need)} of memory, and {size(found.bytes)} are left of "
            f"{found.of}: {advice}"
        )


def size(count: float) -> str:
    """Bytes, for people."""
    return f"{count / GIB:.1f} GiB" if count >= GIB else f"{count / 2**20:.0f} MiB"
