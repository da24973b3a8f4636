"""Genotypes in PLINK's bed, bim and fam: missing calls get the most probable genotype."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from ..files.storage import write_atomically
from .genotype_fill import fill_genotypes
from .genotypes import (
    FIELDS,
    INFO,
    Array,
    Bools,
    FilledGenotypes,
    Genotypes,
    base_pairs,
    distinct_names,
    sample_names,
)
from .linkage import Copied
from .matrix import Filled
from .positions import Place
from .vcf_lines import write_lines
from .wide import write_wide

Codes = NDArray[np.uint8]

MAGIC = b"\x6c\x1b\x01"  # the third byte: one site after the other
# Two bits a call. Copies of the first allele (A1), which VCF calls the alternative.
COPIES = np.array([2.0, np.nan, 1.0, 0.0])
CODE_OF_COPIES = np.array([3, 2, 0], dtype=np.uint8)
MISSING, HETEROZYGOUS = 1, 2
# Chromosomes of which a man has one, and those of which everyone has.
ONE_IN_MEN = ("23", "X", "chrX", "24", "Y", "chrY")
ONE_IN_ALL = ("26", "MT", "M", "chrM", "chrMT")
MALE = "1"
# What PLINK itself marks a site with whose reference is a guess.
PROVISIONAL = (
    '##INFO=<ID=PR,Number=0,Type=Flag,Description="Provisional reference allele, may not be '
    'based on real reference genome">'
)


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
    genotypes : Genotypes
    """

    path: Path
    codes: Codes
    sites: list[list[str]]
    samples: list[list[str]]
    genotypes: Genotypes
    row_names: NDArray[Any] | None
    col_names: NDArray[Any] | None
    row_groups: NDArray[Any]
    notes: list[str] = field(default_factory=list)
    standardize: bool | None = False

    @property
    def values(self) -> Array:
        """Copies of A1, shape (m, n)."""
        return self.genotypes.copies

    @property
    def places(self) -> list[Place] | None:
        """Where the sites lie; None where a position is not a whole number."""
        found = [
            Place(chromosome, at, second, first, _centimorgans(cm))
            for chromosome, _, cm, bp, first, second in self.sites
            if (at := base_pairs(bp)) is not None
        ]
        return found if len(found) == len(self.sites) else None

    @classmethod
    def open(cls, path: Path) -> PlinkSource:
        """Read the three files."""
        sites = _fields(path.with_suffix(".bim"), 6)
        samples = _fields(path.with_suffix(".fam"), 6)
        codes = _read_codes(path, len(sites), len(samples))
        copies, haploid = COPIES[codes], _haploid(sites, samples)
        odd = haploid & (codes == HETEROZYGOUS)
        copies[odd] = np.nan
        ploidy = np.where(odd, 0, np.where(haploid, 1, 2)).astype(np.uint8)
        notes = []
        if odd.any():
            notes.append(
                f"{int(odd.sum())} heterozygous calls of chromosomes that a sample has once are "
                "kept as they are"
            )
        return cls(
            path,
            codes,
            sites,
            samples,
            Genotypes(copies, ploidy, None, None, np.zeros(len(samples), dtype=bool)),
            distinct_names([site[1] for site in sites]),
            _names(path.with_suffix(".fam"), samples),
            np.array([site[0] for site in sites], dtype=object),
            notes,
        )

    def fill(
        self, row_graph: Any = None, col_graph: Any = None, **parameters: Any
    ) -> tuple[FilledGenotypes, BMCG | Copied | None]:
        """Fill the missing calls; see `fill_genotypes`."""
        names = (self.row_names, self.col_names)
        return fill_genotypes(self.genotypes, row_graph, col_graph, names=names, **parameters)

    def write(self, path: Path, filled: Filled) -> None:
        """Write .bed, .bim and .fam, or VCF where the name asks for it."""
        assert isinstance(filled, FilledGenotypes)
        if path.suffix.lower() == ".bed":
            copies = np.argmax(filled.chances, axis=1)
            self._write_bed(path, filled, np.where(filled.ploidy == 1, 2 * copies, copies))
            return
        warnings.warn(
            f"{path}: A2 and A1 of all {len(self.sites)} sites are written as REF and ALT; .bim "
            "does not say which is the reference, so the sites are marked PR (bcftools +fixref "
            "or plink2 --ref-from-fa put them right)",
            stacklevel=2,
        )
        lines = self._vcf_lines(filled)
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

    def _vcf_lines(self, filled: FilledGenotypes) -> Iterator[bytes]:
        assert self.col_names is not None
        header = ["##fileformat=VCFv4.2"]
        header += [f"##contig=<ID={name}>" for name in dict.fromkeys(s[0] for s in self.sites)]
        header += ['##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">']
        header += [*FIELDS.values(), *INFO.values(), PROVISIONAL]
        fixed = ["CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
        header.append("#" + "\t".join([*fixed, *self.col_names]))
        yield from (line.encode("utf-8", "surrogateescape") for line in header)
        starts = np.searchsorted(filled.rows, np.arange(len(self.sites) + 1))
        texts = [":".join(parts) for parts in zip(*filled.texts(), strict=True)]
        haploid = _haploid(self.sites, self.samples)
        for i in range(len(self.sites)):
            known = np.where(haploid[i], _SINGLE[self.codes[i]], _PAIR[self.codes[i]]).tolist()
            here = slice(starts[i], starts[i + 1])
            for j, text in zip(filled.cols[here].tolist(), texts[here], strict=True):
                known[j] = text
            yield self._vcf_line(i, known, starts[i + 1] - starts[i], filled.accuracy[i])

    def _vcf_line(self, i: int, calls: list[str], n_filled: int, accuracy: float) -> bytes:
        chromosome, name, _, position, first, second = self.sites[i]
        info = ["PR"] + ([f"IMPUTED={n_filled}"] if n_filled else [])
        if n_filled and np.isfinite(accuracy):
            info.append(f"DR2={accuracy:.3f}")
        # A zero is an allele that was never seen.
        alternative, reference = (".", first)[first != "0"], ("N", second)[second != "0"]
        start = [chromosome, position, name, reference, alternative, ".", ".", ";".join(info)]
        return "\t".join([*start, "GT:DS:GP", *calls]).encode("utf-8", "surrogateescape")


_PAIR = np.array(["1/1:2", "./.", "0/1:1", "0/0:0"], dtype=object)
_SINGLE = np.array(["1:1", ".", "0/1:1", "0:0"], dtype=object)


def _read_codes(path: Path, m: int, n: int) -> Codes:
    """Two-bit codes of the calls, shape (m, n)."""
    data = np.fromfile(path, dtype=np.uint8)
    stride = (n + 3) // 4
    if data[:3].tobytes() != MAGIC:
        raise ValueError(f"{path} is not a PLINK .bed file with one site after the other")
    if len(data) != 3 + stride * m:
        raise ValueError(
            f"{path} has {len(data)} bytes, but {m} sites (.bim) of {n} samples (.fam) take "
            f"{3 + stride * m}: the files do not belong together"
        )
    packed = data[3:].reshape(m, stride)
    quads = (packed[:, :, None] >> np.array([0, 2, 4, 6], dtype=np.uint8)) & 3
    codes = quads.reshape(m, -1)
    if codes[:, n:].any():
        raise ValueError(
            f"{path} has calls of more samples than the {n} of .fam: the files do not belong "
            "together"
        )
    return codes[:, :n].astype(np.uint8)


def _haploid(sites: list[list[str]], samples: list[list[str]]) -> Bools:
    """Calls of a chromosome that the sample has once, shape (m, n)."""
    in_men, in_all = (
        np.array([site[0] in names for site in sites])[:, None]
        for names in (ONE_IN_MEN, ONE_IN_ALL)
    )
    return (in_men & np.array([person[4] == MALE for person in samples])) | in_all


def _centimorgans(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _names(path: Path, samples: list[list[str]]) -> NDArray[Any]:
    """Of the samples: their own, with that of the family where one is there twice."""
    own = [person[1] for person in samples]
    if len(set(own)) == len(own):
        return np.array(own, dtype=object)
    return sample_names(path, [f"{person[0]}_{person[1]}" for person in samples])


def _fields(path: Path, n_fields: int) -> list[list[str]]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}, which belongs to the .bed file")
    # Bytes that are not UTF-8 pass through unchanged.
    lines = [
        [part.decode("utf-8", "surrogateescape") for part in line.split()]
        for line in path.read_bytes().splitlines()
        if line.strip()
    ]
    for number, line in enumerate(lines, start=1):
        if len(line) != n_fields:
            raise ValueError(f"{path}: line {number} has {len(line)} fields, expected {n_fields}")
    if not lines:
        raise ValueError(f"{path} is empty")
    return lines
