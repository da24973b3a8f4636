"""A VCF file of 4,000 sites and 2,000 people, one call in twenty missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .measuring import Case

SITES, PEOPLE, FOUNDERS, MISSING = 4_000, 2_000, 12, 0.05
FIXED = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]


def prepare(folder: Path) -> None:
    """Write unphased genotypes of mosaics of a few founders."""
    rng = np.random.default_rng(0)
    origin = rng.random((SITES, FOUNDERS)) < rng.uniform(0.05, 0.5, (SITES, 1))
    source = rng.integers(0, FOUNDERS, (2, PEOPLE))
    copies = origin[:, source[0]].astype(int) + origin[:, source[1]]
    copies[rng.random(copies.shape) < MISSING] = 3
    texts = np.array(["0/0", "0/1", "1/1", "./."])
    with open(folder / "cohort.vcf", "w") as file:
        file.write("##fileformat=VCFv4.2\n##contig=<ID=22>\n")
        file.write('##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n')
        file.write("\t".join([*FIXED, *(f"p{j}" for j in range(PEOPLE))]) + "\n")
        for i, line in enumerate(copies):
            site = ["22", str(100 * i + 1), f"rs{i}", "A", "G", ".", "PASS", ".", "GT"]
            file.write("\t".join([*site, *texts[line].tolist()]) + "\n")


def steps(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Read, fit and fill, write plain and packed."""
    from bmcg.imputing.vcf import VcfSource

    found: dict[str, Any] = {}

    def read() -> None:
        found["source"] = VcfSource.open(folder / "cohort.vcf")

    def fill() -> None:
        found["filled"], _ = found["source"].fill(random_state=0, max_sweeps=30)

    yield "read the calls", read
    yield "fit (30 sweeps) and fill", fill
    yield "write .vcf", lambda: found["source"].write(folder / "out.vcf", found["filled"])
    yield "write .vcf.gz", lambda: found["source"].write(folder / "out.vcf.gz", found["filled"])


CASE = Case(f"{SITES:,} sites × {PEOPLE:,} people, VCF", prepare, steps)
