"""Genotypes in PLINK's bed, bim and fam: missing calls get the most probable genotype."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.storage import write_atomically
from .genotypes import FIELDS, call_text, distinct_names, genotype_probabilities
from .matrix import Filled
from .vcf_lines import write_lines
from .wide import write_wide

Array = NDArray[np.float64]
Codes = NDArray[np.uint8]

MAGIC = b"\x6c\x1b\x01"  # the third byte: one site after the other
# Two bits a call. Copies of the first allele (A1), which VCF calls the alternative.
COPIES = np.array([2.0, np.nan, 1.0, 0.0])
CODE_OF_COPIES = np.array([3, 2, 0], dtype=np.uint8)
MISSING = 1


@dataclass(frozen=True)
class PlinkSource:
    """A trio of files; see `Source`. Rows are sites, columns are samples.

    Attributes
    ----------
    path : Path
        The .bed file; .bim and .fam lie beside it.
    codes : ndarray of uint8, shape (m, n)
        Two-bit codes of all calls.
    sites, samples : list of list of str
        Fields of the lines of .bim and .fam.
    """

    path: Path
    codes: Codes
    sites: list[list[str]]
    samples: list[list[str]]
    values: Array
    row_names: NDArray[Any] | None
    col_names: NDArray[Any] | None
    row_groups: NDArray[Any]
    notes: list[str] = field(default_factory=list)
    standardize: bool | None = False

    @classmethod
    def open(cls, path: Path) -> PlinkSource:
        """Read the three files."""
        sites = _fields(path.with_suffix(".bim"), 6)
        samples = _fields(path.with_suffix(".fam"), 6)
        data = np.fromfile(path, dtype=np.uint8)
        stride = (len(samples) + 3) // 4
        if data[:3].tobytes() != MAGIC:
            raise ValueError(f"{path} is not a PLINK .bed file with one site after the other")
        if len(data) != 3 + stride * len(sites):
            raise ValueError(
                f"{path} has {len(data)} bytes, but {len(sites)} sites (.bim) of {len(samples)} "
                f"samples (.fam) take {3 + stride * len(sites)}: the files do not belong together"
            )
        packed = data[3:].reshape(len(sites), stride)
        quads = (packed[:, :, None] >> np.array([0, 2, 4, 6], dtype=np.uint8)) & 3
        codes = quads.reshape(len(sites), -1)[:, : len(samples)].astype(np.uint8)
        ids, people = [site[1] for site in sites], [person[1] for person in samples]
        return cls(
            path,
            codes,
            sites,
            samples,
            COPIES[codes],
            distinct_names(ids),
            distinct_names(people),
            np.array([site[0] for site in sites], dtype=object),
        )

    def write(self, path: Path, filled: Filled) -> None:
        """Write .bed, .bim and .fam, or VCF where the name asks for it."""
        chances = genotype_probabilities(filled.mean, filled.std, 2)
        if path.suffix.lower() == ".bed":
            self._write_bed(path, filled, np.argmax(chances, axis=1))
        else:
            lines = self._vcf_lines(filled, chances)
            write_atomically(path, lambda temporary: write_lines(temporary, path, lines))

    def write_std(self, path: Path, filled: Filled) -> None:
        """Write a table of sites and samples."""
        write_wide(path, filled, self.row_names, self.col_names)

    def _write_bed(self, path: Path, filled: Filled, copies: NDArray[np.intp]) -> None:
        codes = np.zeros((len(self.sites), 4 * ((len(self.samples) + 3) // 4)), dtype=np.uint8)
        codes[:, : len(self.samples)] = self.codes
        codes[filled.rows, filled.cols] = CODE_OF_COPIES[copies]
        four = codes.reshape(len(codes), -1, 4)
        packed = (four << np.array([0, 2, 4, 6], dtype=np.uint8)).sum(axis=2, dtype=np.uint8)

        def fam(temporary: str) -> None:
            shutil.copyfile(self.path.with_suffix(".fam"), temporary)

        def bim(temporary: str) -> None:
            shutil.copyfile(self.path.with_suffix(".bim"), temporary)
            write_atomically(path.with_suffix(".fam"), fam)

        def bed(temporary: str) -> None:
            Path(temporary).write_bytes(MAGIC + packed.tobytes())
            write_atomically(path.with_suffix(".bim"), bim)

        # One inside the other: all three are on the disk before any takes its name.
        write_atomically(path, bed)

    def _vcf_lines(self, filled: Filled, chances: Array) -> Iterator[str]:
        yield "##fileformat=VCFv4.2"
        yield from (f"##contig=<ID={name}>" for name in dict.fromkeys(s[0] for s in self.sites))
        yield '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">'
        yield from FIELDS.values()
        people = [person[1] for person in self.samples]
        fixed = ["CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
        yield "#" + "\t".join([*fixed, *people])
        made: dict[tuple[int, int], str] = {
            (i, j): ":".join(call_text(chance))
            for i, j, chance in zip(
                filled.rows.tolist(), filled.cols.tolist(), chances, strict=True
            )
        }
        known = ("1/1", "./.", "0/1", "0/0")
        for i, (chromosome, name, _, position, alternative, reference) in enumerate(self.sites):
            calls = [made.get((i, j), known[code]) for j, code in enumerate(self.codes[i])]
            start = [chromosome, position, name, reference, alternative, ".", ".", "."]
            yield "\t".join([*start, "GT:DS:GP", *calls])


def _fields(path: Path, n_fields: int) -> list[list[str]]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}, which belongs to the .bed file")
    lines = [line.split() for line in path.read_text().splitlines() if line.strip()]
    for number, line in enumerate(lines, start=1):
        if len(line) != n_fields:
            raise ValueError(f"{path}: line {number} has {len(line)} fields, expected {n_fields}")
    if not lines:
        raise ValueError(f"{path} is empty")
    return lines
