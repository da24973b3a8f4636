"""Genotypes in VCF: missing calls are written with GT, DS and GP, all else passes through.

Lines are edited as text: a call that was there keeps every character it has, and gains its
dosage at its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from ..files.storage import write_atomically
from .genotype_fill import fill_genotypes
from .genotypes import FIELDS, INFO, Array, FilledGenotypes, Genotypes, distinct_names
from .linkage import Copied
from .matrix import Filled
from .positions import Place
from .vcf_calls import Codes
from .vcf_lines import lines_of, write_lines
from .vcf_reading import FIXED, Site, Unsupported, VcfReader
from .wide import write_wide

# Of a record: which samples were filled, and their GT, DS and GP.
Fills = dict[int, tuple[bytes, bytes, bytes]]


@dataclass(frozen=True)
class VcfSource:
    """A VCF file; see `Source`. Rows are sites with one alternative allele, columns samples.

    Attributes
    ----------
    path : Path
    stamp : tuple of int
        Size and time of the file when it was read.
    genotypes : Genotypes
    codes : ndarray of shape (m, n)
        Calls as `CallReader` has them.
    texts, dosages : list of bytes
        By code, the GT of a call and its dosage, which is empty where the call is missing.
    row_groups : ndarray of shape (m,)
        Chromosome of each site.
    records : ndarray of int, shape (m,)
        Which record of the file each row is.
    places : list of Place or None
        Where the sites lie; None where a position is not a whole number.
    """

    path: Path
    stamp: tuple[int, int]
    genotypes: Genotypes
    codes: Codes
    texts: list[bytes]
    dosages: list[bytes]
    row_names: NDArray[Any] | None
    col_names: NDArray[Any] | None
    row_groups: NDArray[Any]
    records: NDArray[np.int64]
    places: list[Place] | None
    notes: list[str] = field(default_factory=list)
    standardize: bool | None = False

    @property
    def values(self) -> Array:
        """Copies of the alternative allele for two chromosomes, shape (m, n)."""
        return self.genotypes.copies

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
        stamp = _stamp(path)
        reader = VcfReader(path, unsupported)
        reader.read()
        genotypes, codes, notes = reader.genotypes()
        sites, samples = reader.sites, reader.samples
        assert samples is not None
        dosages = [
            b"" if np.isnan(call.copies) else f"{call.copies * call.ploidy / 2:.5g}".encode()
            for call in reader.reader.calls
        ]
        return cls(
            path,
            stamp,
            genotypes,
            codes,
            [text.encode("utf-8", "surrogateescape") for text in reader.reader.texts],
            dosages,
            distinct_names([s.identifier for s in sites], [s.name for s in sites]),
            np.array(samples, dtype=object),
            np.array([s.chromosome for s in sites], dtype=object),
            np.array([s.record for s in sites], dtype=np.int64),
            _places(sites),
            notes,
        )

    def fill(
        self, row_graph: Any = None, col_graph: Any = None, **parameters: Any
    ) -> tuple[FilledGenotypes, BMCG | Copied | None]:
        """Fill the missing calls; see `fill_genotypes`."""
        names = (self.row_names, self.col_names)
        return fill_genotypes(self.genotypes, row_graph, col_graph, names=names, **parameters)

    def write(self, path: Path, filled: Filled) -> None:
        """Write the file again, its missing calls filled."""
        assert isinstance(filled, FilledGenotypes)
        if _stamp(self.path) != self.stamp:
            raise ValueError(f"{self.path} has changed since it was read; run the command again")
        write_atomically(path, lambda temporary: write_lines(temporary, path, self._new(filled)))

    def write_std(self, path: Path, filled: Filled) -> None:
        """Write a table of sites and samples."""
        write_wide(path, filled, self.row_names, self.col_names)

    def _new(self, filled: FilledGenotypes) -> Iterator[bytes]:
        rows = {record: row for row, record in enumerate(self.records.tolist())}
        starts = np.searchsorted(filled.rows, np.arange(len(rows) + 1))
        texts = [[text.encode() for text in part] for part in filled.texts()]
        definitions = {**INFO, **FIELDS}
        record = 0
        for line in lines_of(self.path):
            if line.startswith(b"##"):
                for name in [name for name in definitions if _defines(line, name)]:
                    del definitions[name]
            elif line.startswith(b"#"):
                yield from (text.encode() for text in definitions.values())
            elif line:
                row = rows.get(record)
                if row is not None:
                    here = range(starts[row], starts[row + 1])
                    fills = {
                        int(filled.cols[e]): (texts[0][e], texts[1][e], texts[2][e]) for e in here
                    }
                    line = self._edited(line, row, fills, float(filled.accuracy[row]))
                record += 1
            yield line

    def _edited(self, line: bytes, row: int, fills: Fills, accuracy: float) -> bytes:
        """A record with its missing calls filled, and the dosage of those that were there."""
        *head, rest = line.split(b"\t", FIXED)
        keys = head[8].split(b":")
        codes = self.codes[row].tolist()
        if len(keys) == 1:
            calls = [self._plain[code] for code in codes]
        else:
            dosages = [self.dosages[code] for code in codes]
            calls = _with_dosages(rest.split(b"\t"), dosages, _added(keys, b"DS"))
        at = _added(keys, b"DS")
        if fills:
            last = _added(keys, b"GP")
            head[7] = _with_info(head[7], len(fills), accuracy)
        for j, (gt, ds, gp) in fills.items():
            parts = calls[j].split(b":")
            parts += [b"."] * (len(keys) - len(parts))
            parts[0], parts[at], parts[last] = gt, ds, gp
            calls[j] = b":".join(parts)
        head[8] = b":".join(keys)
        return b"\t".join([*head, *calls])

    @cached_property
    def _plain(self) -> list[bytes]:
        """By code, a whole call of a record that has GT alone."""
        pairs = zip(self.texts, self.dosages, strict=True)
        return [b":".join((text, one)) if one else text for text, one in pairs]


def _places(sites: list[Site]) -> list[Place] | None:
    found = [Place(s.chromosome, s.bp, *s.alleles) for s in sites if s.bp is not None]
    return found if len(found) == len(sites) else None


def _added(keys: list[bytes], name: bytes) -> int:
    """Where a key stands in FORMAT, at its end if it was not there."""
    if name not in keys:
        keys.append(name)
    return keys.index(name)


def _with_dosages(cells: list[bytes], dosages: list[bytes], at: int) -> list[bytes]:
    """Calls with their dosage, where there is one, as field `at`, unless they have it."""
    found = []
    for cell, one in zip(cells, dosages, strict=True):
        missing = at - cell.count(b":")
        found.append(cell + b":." * (missing - 1) + b":" + one if one and missing > 0 else cell)
    return found


def _with_info(info: bytes, n_filled: int, accuracy: float) -> bytes:
    """INFO with the number of filled calls and how well the site is predicted."""
    ours = [b"IMPUTED", b"DR2"]
    kept = [part for part in info.split(b";") if part.split(b"=")[0] not in ours and part != b"."]
    kept.append(f"IMPUTED={n_filled}".encode())
    if np.isfinite(accuracy):
        kept.append(f"DR2={accuracy:.3f}".encode())
    return b";".join(kept)


def _defines(line: bytes, name: str) -> bool:
    column = "FORMAT" if name in FIELDS else "INFO"
    return line.startswith(f"##{column}=<ID={name},".encode())


def _stamp(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
