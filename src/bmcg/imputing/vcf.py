"""Genotypes in VCF: missing calls are written with GT, DS and GP, all else passes through.

Lines are edited as text: a call that was there keeps every character it has. Trailing fields
of a call may be left out in VCF, so new ones need not be added to the calls that stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..files.storage import write_atomically
from .genotypes import FIELDS, call_text, distinct_names, genotype_probabilities
from .matrix import Filled
from .vcf_lines import lines_of, write_lines
from .wide import write_wide

Array = NDArray[np.float64]
Unsupported = Literal["error", "keep"]

FIXED = 9  # columns before the samples: CHROM ... INFO, FORMAT


class Call(NamedTuple):
    """What a GT says: copies of the alternative allele, for two chromosomes.

    `copies` is NaN for a missing call; `problem` says why a call cannot be used.
    """

    copies: float
    ploidy: int
    problem: str | None


@dataclass(frozen=True)
class VcfSource:
    """A VCF file; see `Source`. Rows are sites with one alternative allele, columns samples.

    Attributes
    ----------
    path : Path
    row_groups : ndarray of shape (m,)
        Chromosome of each site.
    records : ndarray of int, shape (m,)
        Which record of the file each row is.
    ploidies : dict
        Chromosomes of each missing call, by (row, column); two where it is not listed.
    """

    path: Path
    values: Array
    row_names: NDArray[Any] | None
    col_names: NDArray[Any] | None
    row_groups: NDArray[Any]
    records: NDArray[np.int64]
    ploidies: dict[tuple[int, int], int]
    notes: list[str] = field(default_factory=list)
    standardize: bool | None = False

    @classmethod
    def open(cls, path: Path, unsupported: Unsupported = "error") -> VcfSource:
        """Read the calls of a file.

        Parameters
        ----------
        path : Path
            .vcf, .vcf.gz or .bcf.
        unsupported : {"error", "keep"}
            Records with several alternative alleles, and calls of which half is missing:
            refuse the file, or leave them as they are and out of the fit.
        """
        reader = _Reader(path, unsupported)
        for line in lines_of(path):
            reader.take(line)
        return reader.source(cls)

    def write(self, path: Path, filled: Filled) -> None:
        """Write the file again, its missing calls filled."""
        calls = self._calls(filled)
        write_atomically(path, lambda temporary: write_lines(temporary, path, self._new(calls)))

    def write_std(self, path: Path, filled: Filled) -> None:
        """Write a table of sites and samples."""
        write_wide(path, filled, self.row_names, self.col_names)

    def _calls(self, filled: Filled) -> dict[int, dict[int, tuple[str, str, str]]]:
        """GT, DS and GP of the missing calls, by record and sample."""
        out: dict[int, dict[int, tuple[str, str, str]]] = {}
        spots = list(zip(filled.rows.tolist(), filled.cols.tolist(), strict=True))
        ploidies = np.array([self.ploidies.get(spot, 2) for spot in spots])
        for ploidy in set(ploidies.tolist()) - {0}:
            at = np.flatnonzero(ploidies == ploidy)
            chances = genotype_probabilities(filled.mean[at], filled.std[at], int(ploidy))
            for entry, chance in zip(at.tolist(), chances, strict=True):
                row, col = spots[entry]
                out.setdefault(int(self.records[row]), {})[col] = call_text(chance)
        return out

    def _new(self, calls: dict[int, dict[int, tuple[str, str, str]]]) -> Iterator[str]:
        defined: set[str] = set()
        record = 0
        for line in lines_of(self.path):
            if line.startswith("##"):
                defined |= {name for name in FIELDS if line.startswith(f"##FORMAT=<ID={name},")}
            elif line.startswith("#"):
                yield from (text for name, text in FIELDS.items() if name not in defined)
            else:
                if record in calls:
                    line = _edited(line, calls[record])
                record += 1
            yield line


class _Reader:
    """Collects the calls of a file line by line."""

    def __init__(self, path: Path, unsupported: Unsupported) -> None:
        self.path, self.unsupported = path, unsupported
        self.samples: list[str] | None = None
        self.rows: list[Array] = []
        self.sites: list[tuple[str, str, str]] = []
        self.records: list[int] = []
        self.missing: dict[tuple[int, int], int] = {}
        self.haploid: set[tuple[str, int]] = set()
        self.known: dict[str, Call] = {}
        self.n_records = self.n_left = self.n_half = 0

    def take(self, line: str) -> None:
        if line.startswith("##"):
            self._check_definition(line)
        elif line.startswith("#"):
            self.samples = line.split("\t")[FIXED:]
        elif line:
            if self.samples is None:
                raise ValueError(f"{self.path} is not a VCF file: no line starts with #CHROM")
            self._take_record(line.split("\t"))
            self.n_records += 1

    def _check_definition(self, line: str) -> None:
        for name in FIELDS:
            if line.startswith(f"##FORMAT=<ID={name},") and "Type=Float" not in line:
                raise ValueError(
                    f"{self.path} defines {name} as another type than Float; remove it first: "
                    f"bcftools annotate -x FORMAT/{name}"
                )

    def _take_record(self, cells: list[str]) -> None:
        assert self.samples is not None
        where = ":".join(cells[:2])
        if len(cells) != FIXED + len(self.samples):
            raise ValueError(
                f"{self.path}: the record at {where} has {len(cells)} columns, expected "
                f"{FIXED + len(self.samples)} for {len(self.samples)} samples"
            )
        reason = self._left_out(cells)
        if reason is not None:
            if self.unsupported == "error" and "alternative" in reason:
                raise ValueError(
                    f"{self.path}: {where} has {reason}; split such records with "
                    "bcftools norm -m -any, or pass --unsupported keep to leave them as they are"
                )
            self.n_left += 1
            return
        row = np.full(len(self.samples), np.nan)
        for j, cell in enumerate(cells[FIXED:]):
            row[j] = self._copies(cell.split(":", 1)[0], where, cells[0], j)
        self.rows.append(row)
        self.sites.append((cells[0], cells[2], ":".join((cells[0], cells[1], *cells[3:5]))))
        self.records.append(self.n_records)

    def _left_out(self, cells: list[str]) -> str | None:
        """Why a record is no row of the matrix."""
        if "," in cells[4]:
            return f"{cells[4].count(',') + 1} alternative alleles ({cells[4]})"
        if cells[4] == ".":
            return "no alternative"
        return None if cells[8].split(":")[0] == "GT" else "no GT"

    def _copies(self, gt: str, where: str, chromosome: str, j: int) -> float:
        call = self.known.get(gt)
        if call is None:
            call = self.known[gt] = read_call(gt)
        if call.problem is not None:
            assert self.samples is not None
            if self.unsupported == "error":
                raise ValueError(
                    f"{self.path}: sample {self.samples[j]} at {where} has the call {gt!r}, "
                    f"{call.problem}; correct it (bcftools +setGT makes such calls missing), or "
                    "pass --unsupported keep to leave such calls as they are"
                )
            self.n_half += 1
            # Neither known nor to be filled: it counts as a fill that is never written.
            self.missing[len(self.rows), j] = 0
        elif np.isnan(call.copies):
            self.missing[len(self.rows), j] = call.ploidy
        elif call.ploidy == 1:
            self.haploid.add((chromosome, j))
        return call.copies

    def source(self, kind: type[VcfSource]) -> VcfSource:
        if not self.samples:
            raise ValueError(f"{self.path} has no samples, so there are no genotypes to fill")
        if not self.rows:
            raise ValueError(
                f"{self.path} has no site with one alternative allele and genotypes (GT)"
            )
        ploidies = {
            (i, j): 2 if n == 1 and (self.sites[i][0], j) not in self.haploid else n
            for (i, j), n in self.missing.items()
        }
        notes = []
        if self.n_left:
            notes.append(f"{self.n_left} records without exactly one alternative are kept as is")
        if self.n_half:
            notes.append(f"{self.n_half} half-missing calls are kept as they are")
        return kind(
            self.path,
            np.array(self.rows),
            distinct_names([s[1] for s in self.sites], [s[2] for s in self.sites]),
            distinct_names(self.samples),
            np.array([s[0] for s in self.sites], dtype=object),
            np.array(self.records, dtype=np.int64),
            {spot: n for spot, n in ploidies.items() if n != 2},
            notes,
        )


def read_call(gt: str) -> Call:
    """The meaning of a GT such as 0/1, 1|1, ./. or 0."""
    alleles = re.split("[/|]", gt)
    n_missing = alleles.count(".")
    if n_missing == len(alleles):
        return Call(np.nan, len(alleles), None)
    if n_missing:
        return Call(np.nan, len(alleles), "which is half missing")
    if not all(allele in ("0", "1") for allele in alleles):
        return Call(np.nan, len(alleles), "which names an allele that the site does not have")
    return Call(2.0 * alleles.count("1") / len(alleles), len(alleles), None)


def _edited(line: str, calls: dict[int, tuple[str, str, str]]) -> str:
    """A record with some calls replaced; DS and GP join its FORMAT where they are not in it."""
    cells = line.split("\t")
    keys = cells[8].split(":")
    keys += [name for name in FIELDS if name not in keys]
    cells[8] = ":".join(keys)
    for j, values in calls.items():
        parts = cells[FIXED + j].split(":")
        parts += ["."] * (len(keys) - len(parts))
        for name, value in zip(("GT", *FIELDS), values, strict=True):
            parts[keys.index(name)] = value
        cells[FIXED + j] = ":".join(parts)
    return "\t".join(cells)
