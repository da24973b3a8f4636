"""The calls of a VCF file, record by record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .genotypes import FIELDS, Bools, Genotypes, base_pairs, sample_names
from .haplotypes import samples_to_split
from .vcf_calls import CallReader, Codes
from .vcf_lines import lines_of

Unsupported = Literal["error", "keep"]

FIXED = 9  # columns before the samples: CHROM ... INFO, FORMAT
_TYPES = {**dict.fromkeys(FIELDS, "Float"), "DR2": "Float", "IMPUTED": "Integer"}


@dataclass(frozen=True)
class Site:
    """What names a record."""

    chromosome: str
    position: str
    identifier: str
    alleles: tuple[str, str]
    record: int

    @property
    def name(self) -> str:
        """By place and alleles."""
        return ":".join((self.chromosome, self.position, *self.alleles))

    @property
    def bp(self) -> int | None:
        """The position, None where it is no whole number of base pairs."""
        return base_pairs(self.position)


class VcfReader:
    """Collects the calls of a file line by line.

    Parameters
    ----------
    path : Path
    unsupported : {"error", "keep"}
        As `VcfSource.open` says.
    """

    def __init__(self, path: Path, unsupported: Unsupported) -> None:
        self.path, self.unsupported = path, unsupported
        self.samples: list[str] | None = None
        self.reader = CallReader()
        self.rows: list[Codes] = []
        self.sites: list[Site] = []
        self.n_records = self.n_several = self.n_without = self.n_unusable = 0
        self.phase_sets = False

    def read(self) -> None:
        """Read the whole file."""
        for line in lines_of(self.path):
            if line.startswith(b"##"):
                self._check_definition(line)
            elif line.startswith(b"#"):
                names = line.decode("utf-8", "surrogateescape").split("\t")[FIXED:]
                self.samples = sample_names(self.path, names).tolist()
            elif line:
                if self.samples is None:
                    raise ValueError(f"{self.path} is not a VCF file: no line starts with #CHROM")
                self._take_record(line)
                self.n_records += 1
        if not self.samples:
            raise ValueError(f"{self.path} has no samples, so there are no genotypes to fill")
        if not self.rows:
            raise ValueError(
                f"{self.path} has no site with one alternative allele and genotypes (GT)"
            )

    def _check_definition(self, line: bytes) -> None:
        for name, kind in _TYPES.items():
            column = "FORMAT" if name in FIELDS else "INFO"
            if line.startswith(f"##{column}=<ID={name},".encode()) and (
                f"Type={kind}".encode() not in line
            ):
                raise ValueError(
                    f"{self.path} defines {name} as another type than {kind}; remove it first: "
                    f"bcftools annotate -x {column}/{name}"
                )

    def _take_record(self, line: bytes) -> None:
        assert self.samples is not None
        *head, calls = (line + b"\t").split(b"\t", FIXED)
        fixed = [part.decode("utf-8", "surrogateescape") for part in head]
        where = ":".join(fixed[:2])
        n_columns = line.count(b"\t") + 1
        if n_columns != FIXED + len(self.samples):
            raise ValueError(
                f"{self.path}: the record at {where} has {n_columns} columns, expected "
                f"{FIXED + len(self.samples)} for {len(self.samples)} samples"
            )
        if not self._belongs(fixed, where):
            return
        self.phase_sets |= "PS" in fixed[8].split(":")
        codes = self.reader.read(calls[:-1])
        self._check_calls(codes, where)
        self.rows.append(codes)
        alleles = (fixed[3], fixed[4])
        self.sites.append(Site(fixed[0], fixed[1], fixed[2], alleles, self.n_records))

    def _belongs(self, fixed: list[str], where: str) -> bool:
        """Whether a record is a row of the matrix."""
        alternatives, keys = fixed[4], fixed[8].split(":")
        if "," in alternatives:
            if self.unsupported == "error":
                raise ValueError(
                    f"{self.path}: {where} has {alternatives.count(',') + 1} alternative alleles "
                    f"({alternatives}); split such records with bcftools norm -m -any, or pass "
                    "--unsupported keep to leave them as they are"
                )
            self.n_several += 1
            return False
        if "GT" in keys[1:]:
            raise ValueError(
                f"{self.path}: {where} has GT as a later field of its FORMAT ({fixed[8]}); VCF "
                "wants it first (bcftools view writes it so)"
            )
        if alternatives == "." or keys[0] != "GT":
            self.n_without += 1
            return False
        return True

    def _check_calls(self, codes: Codes, where: str) -> None:
        for j in np.flatnonzero(self.reader.unusable(codes)).tolist():
            if self.unsupported == "error":
                assert self.samples is not None
                call, text = self.reader.calls[codes[j]], self.reader.texts[codes[j]]
                raise ValueError(
                    f"{self.path}: sample {self.samples[j]} at {where} has the call {text!r}, "
                    f"{call.problem}; correct it (bcftools +setGT makes such calls missing), or "
                    "pass --unsupported keep to leave such calls as they are"
                )
            self.n_unusable += 1

    def genotypes(self) -> tuple[Genotypes, Codes, list[str]]:
        """The calls as a matrix and as codes, and what a person should know of them."""
        codes, table = np.array(self.rows), self.reader.table()
        copies, phased = table.copies[codes], table.phased[codes]
        groups = np.array([site.chromosome for site in self.sites], dtype=object)
        ploidy = _resolved(table.ploidy[codes], np.isnan(copies), groups)
        ploidy[~table.usable[codes]] = 0
        notes = self._notes()
        first, second = table.first[codes], table.second[codes]
        split, n_unphased = samples_to_split(first, second, phased, ploidy)
        if self.phase_sets and split.any():
            notes.append("phase holds within phase sets (PS) alone: genotypes are filled unphased")
            split[:] = False
        if not split.any():
            return Genotypes(copies, ploidy, None, None, split), codes, notes
        unphased = (first != second) & (second >= 0) & ~phased
        first, second = (np.where(unphased, -1, part).astype(np.int8) for part in (first, second))
        notes += _phase_notes(split, np.asarray(phased.any(axis=0)), n_unphased)
        return Genotypes(copies, ploidy, first, second, split), codes, notes

    def _notes(self) -> list[str]:
        counts = (
            (self.n_several, "records with several alternative alleles are kept as they are"),
            (self.n_without, "records without an alternative allele or GT are kept as they are"),
            (self.n_unusable, "calls that are half missing or name another allele are kept"),
        )
        return [f"{n} {words}" for n, words in counts if n]


def _resolved(
    ploidy: NDArray[np.uint8], missing: Bools, groups: NDArray[np.object_]
) -> NDArray[np.uint8]:
    """Ploidies where a single dot is one chromosome only of samples that have one elsewhere.

    Of the same chromosome: many programs write a dot for a missing pair.
    """
    out = ploidy.copy()
    for chromosome in dict.fromkeys(groups.tolist()):
        at = groups == chromosome
        haploid = ((ploidy[at] == 1) & ~missing[at]).any(axis=0)
        out[at] = np.where(missing[at] & (ploidy[at] == 1) & ~haploid, 2, ploidy[at])
    return out


def _phase_notes(split: Bools, phased: Bools, n_unphased: int) -> list[str]:
    n, notes = len(split), []
    if not split.all():
        mixed = int((phased & ~split).sum())
        notes.append(
            f"{int(split.sum())} of {n} samples are phased and filled as haplotypes, the others "
            "as genotypes" + (f"; {mixed} of those are phased in part" if mixed else "")
        )
    if n_unphased:
        notes.append(
            f"{n_unphased} unphased heterozygotes of phased samples are left out of the fit"
        )
    return notes
