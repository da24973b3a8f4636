"""VCF files of simulated calls, and what a program made of them."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from .environment import Panel

UNPHASED = np.array(["0/0", "0/1", "0/1", "1/1", "./."], dtype=object)
PHASED = np.array(["0|0", "0|1", "1|0", "1|1", ".|."], dtype=object)
MISSING = 4
FIXED = 9


def write_vcf(path: Path, panel: Panel, gone: np.ndarray, phased: bool) -> None:
    """Sites by people of two haplotypes; `gone` (m, n) calls are missing, NaN sites left out."""
    first, second = panel.alleles[:, ::2], panel.alleles[:, 1::2]
    codes = np.where(gone, MISSING, 2 * first + second)
    texts = PHASED if phased else UNPHASED
    people = [f"p{j:04d}" for j in range(first.shape[1])]
    with path.open("w") as file:
        print("##fileformat=VCFv4.2\n##contig=<ID=22>", file=file)
        print('##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">', file=file)
        fixed = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
        print(*fixed, *people, sep="\t", file=file)
        for i, position in enumerate(panel.positions):
            site = [22, position, f"s{i}", "A", "G", ".", "PASS", ".", "GT"]
            print(*site, *texts[codes[i]], sep="\t", file=file)


def read_chances(path: Path, gone: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Copies of the calls that were gone, (k,), and their GP, (k, 3), None where there is none."""
    copies: list[int] = []
    chances: list[list[float]] = []
    i = 0
    with gzip.open(path, "rt") as file:
        for line in file:
            if line.startswith("#"):
                continue
            cells = line.rstrip("\n").split("\t")
            keys = cells[FIXED - 1].split(":")
            at = keys.index("GP") if "GP" in keys else None
            for j in np.flatnonzero(gone[i]).tolist():
                parts = cells[FIXED + j].split(":")
                copies.append(parts[0].count("1"))
                if at is not None:
                    chances.append([float(part) for part in parts[at].split(",")])
            i += 1
    full = len(chances) == len(copies)
    return np.array(copies), np.array(chances) if full else None
