"""A VCF file of real haplotypes, filled, and read by bcftools and cyvcf2.

BMCG_DATA=... python -m benchmarks.users vcf
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from bmcg.datasets import load_chr22
from reporting import table

LOST = 0.05


def write_vcf(path: Path, copies: np.ndarray, lost: np.ndarray) -> None:
    """Sites by people, with calls and read depths."""
    people = [f"p{j:03d}" for j in range(copies.shape[1])]
    with path.open("w") as file:
        print("##fileformat=VCFv4.2\n##contig=<ID=22>", file=file)
        print('##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">', file=file)
        print('##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Read depth">', file=file)
        fixed = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
        print(*fixed, *people, sep="\t", file=file)
        for i, row in enumerate(copies):
            calls = [
                "./.:0" if gone else f"{('0/0', '0/1', '1/1')[int(n)]}:{10 + i % 7}"
                for n, gone in zip(row, lost[i], strict=True)
            ]
            site = ["22", 1000 + 50 * i, f"rs{i}", "A", "G", ".", "PASS", ".", "GT:DP"]
            print(*site, *calls, sep="\t", file=file)


def page() -> str:
    """Checks, each against the input."""
    import cyvcf2

    # Two neighbouring haplotypes make a person.
    data = load_chr22(observed=0.5, graph="observed")
    haplotypes = np.empty(data.observations.shape)
    seen = data.observations
    haplotypes[seen.row_indices, seen.col_indices] = seen.values
    haplotypes[data.test_rows, data.test_cols] = data.test_values
    copies = (haplotypes[:, 0::2] + haplotypes[:, 1::2]).astype(int)
    lost = np.random.default_rng(0).random(copies.shape) < LOST
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder) / "given.vcf", Path(folder) / "made.vcf.gz"
        write_vcf(given, copies, lost)
        command = Path(sys.executable).with_name("bmcg")
        subprocess.run([command, "impute", given, "-o", made], check=True)
        tool = _bcftools(made)
        before, after = cyvcf2.VCF(str(given)), cyvcf2.VCF(str(made))
        same_samples = before.samples == after.samples
        pairs = list(zip(before, after, strict=True))
        sites = sum(_site(was) == _site(now) for was, now in pairs)
        kept = filled = right = 0
        for i, (was, now) in enumerate(pairs):
            known = ~lost[i]
            same = was.gt_types == now.gt_types
            depth = was.format("DP")[:, 0] == now.format("DP")[:, 0]
            kept += int((same & depth)[known].sum())
            filled += int((now.gt_types != 2)[lost[i]].sum())
            # cyvcf2's codes of no, one and two copies.
            found = np.select([now.gt_types == 0, now.gt_types == 1], [0, 1], 2)
            right += int((found == copies[i])[lost[i]].sum())
    n, gone = copies.size, int(lost.sum())
    rows = [
        ["bcftools index, stats and query", tool],
        ["samples as in the input (cyvcf2)", "yes" if same_samples else "no"],
        ["sites as in the input (cyvcf2)", f"{sites} of {len(copies)}"],
        ["observed calls and depths unchanged", f"{kept} of {n - gone}"],
        ["unobserved calls filled", f"{filled} of {gone}"],
        ["of these right", f"{right / gone:.1%}"],
    ]
    return (
        f"{copies.shape[0]} sites of {copies.shape[1]} people of HapMap (chromosome 22), "
        f"{LOST:.0%} of the calls lost.\n\n" + table(["check", "found"], rows)
    )


def _site(record: object) -> tuple[object, ...]:
    return tuple(getattr(record, name) for name in ("CHROM", "POS", "ID", "REF", "ALT", "FILTER"))


def _bcftools(path: Path) -> str:
    """Accepted, or what it says."""
    for command in (["index", "-t"], ["stats"], ["query", "-f", "[%GT %DS %GP\\n]"]):
        ended = subprocess.run(
            ["bcftools", *command, str(path)], capture_output=True, text=True, check=False
        )
        if ended.returncode or ended.stderr:
            return f"{command[0]}: {ended.stderr.strip()}"
    return "accepted without a word"
