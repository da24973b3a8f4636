"""Small cohorts whose truth is known."""

from __future__ import annotations

import gzip

import numpy as np

HEADER = (
    "##fileformat=VCFv4.2",
    "##contig=<ID=22>",
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
)


def haplotypes(m=120, n=60, founders=8, switch=0.02, seed=0):
    """Alleles of 2n haplotypes at m sites, (m, 2n): mosaics of a few founders."""
    rng = np.random.default_rng(seed)
    frequency = np.clip(rng.beta(0.6, 1.0, m), 0.03, 0.97)
    origin = (rng.random((m, founders)) < frequency[:, None]).astype(int)
    starts = rng.random((m, 2 * n)) < switch
    starts[0] = True
    last = np.maximum.accumulate(np.where(starts, np.arange(m)[:, None], 0), axis=0)
    source = np.take_along_axis(rng.integers(0, founders, (m, 2 * n)), last, axis=0)
    return np.take_along_axis(origin, source, axis=1)


def hidden(shape, share=0.1, seed=1):
    """Which calls are missing."""
    return np.random.default_rng(seed).random(shape) < share


def calls_of(H, gone, between="/"):
    """GT of people with haplotypes H, (m, n) lists of text."""
    first, second = H[:, ::2], H[:, 1::2]
    if between == "/":
        first, second = np.minimum(first, second), np.maximum(first, second)
    text = np.char.add(np.char.add(first.astype(str), between), second.astype(str))
    return np.where(gone, f".{between}.", text).tolist()


def write_vcf(path, calls, form="GT", end="\n", samples=None, chromosome="22", header=HEADER):
    """A VCF file of sites rs0, rs1, ...; returns its path."""
    fixed = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
    names = samples or [f"p{j}" for j in range(len(calls[0]))]
    lines = [*header, "\t".join([*fixed, *names])]
    for i, line in enumerate(calls):
        site = [chromosome, str(1000 + 10 * i), f"rs{i}", "A", "G", ".", "PASS", ".", form]
        lines.append("\t".join([*site, *line]))
    path.write_bytes((end.join(lines) + end).encode())
    return path


def records(path):
    """Cells of the records of a VCF file."""
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]


def fills(path, gone):
    """GT and GP of the calls that were missing, by position in `gone`."""
    lines = records(path)
    at = np.argwhere(gone)
    cells = [
        dict(zip(lines[i][8].split(":"), lines[i][9 + j].split(":"), strict=False)) for i, j in at
    ]
    return [cell["GT"] for cell in cells], np.array(
        [[float(p) for p in cell["GP"].split(",")] for cell in cells]
    )
