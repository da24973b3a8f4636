"""Haplotypes of a coalescent with recombination; runs in this benchmark's own environment.

    .venv/bin/python simulate.py SITES HAPLOTYPES SEED OUT.npz

A population of 10,000, 1 cM and 1.25e-8 mutations a base and million bases; sites of a minor allele
of 1 % or more, drawn evenly from them, one a kilobase.
"""

from __future__ import annotations

import sys

import msprime
import numpy as np

PER_SITE = 1_000
LEAST_MINOR = 0.01


def main(n_sites: int, n_haplotypes: int, seed: int, path: str) -> None:
    """Simulate and keep alleles (sites, haplotypes) and positions."""
    history = msprime.sim_ancestry(
        n_haplotypes // 2,
        sequence_length=PER_SITE * n_sites,
        recombination_rate=1e-8,
        population_size=1e4,
        random_seed=seed,
    )
    model = msprime.BinaryMutationModel()
    found = msprime.sim_mutations(history, rate=1.25e-8, random_seed=seed + 1, model=model)
    alleles = found.genotype_matrix()
    positions = np.array([int(site.position) for site in found.sites()])
    share = alleles.mean(axis=1)
    usable = np.minimum(share, 1 - share) >= LEAST_MINOR
    usable[1:] &= positions[1:] != positions[:-1]
    at = np.flatnonzero(usable)
    at = np.sort(np.random.default_rng(seed).choice(at, n_sites, replace=False))
    np.savez_compressed(path, alleles=alleles[at].astype(np.int8), positions=positions[at] + 1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
