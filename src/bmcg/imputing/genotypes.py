"""From a predicted dosage and its spread to the probabilities of the genotypes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# What a call gains in VCF, with the definition that the header needs.
FIELDS = {
    "DS": '##FORMAT=<ID=DS,Number=A,Type=Float,Description="Expected copies of the alternative '
    'allele, by bmcg">',
    "GP": '##FORMAT=<ID=GP,Number=G,Type=Float,Description="Probabilities of the genotypes, '
    'by bmcg">',
}


def genotype_probabilities(mean: Array, std: Array, ploidy: int) -> Array:
    """Probabilities of carrying 0 to `ploidy` copies of the alternative allele.

    The Gaussian density of the prediction at each whole number of copies, scaled to sum to
    one: a value between two of them counts for both, and none lies outside.

    Parameters
    ----------
    mean, std : ndarray of shape (n,)
        Predicted copies, for two chromosomes.
    ploidy : int

    Returns
    -------
    ndarray of shape (n, ploidy + 1)
    """
    copies = np.arange(ploidy + 1)
    scaled = mean * (ploidy / 2.0), np.maximum(std * (ploidy / 2.0), 1e-6)
    distance = (copies - scaled[0][:, None]) / scaled[1][:, None]
    log = -0.5 * distance**2
    weights = np.exp(log - log.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


def dosage(probabilities: Array) -> Array:
    """Expected copies of the alternative allele, shape (n,)."""
    return probabilities @ np.arange(probabilities.shape[1])


def call_text(probabilities: Array) -> tuple[str, str, str]:
    """GT, DS and GP of one call, as VCF writes them; GP sums to one to its last digit."""
    units = np.round(probabilities * 10_000).astype(int)
    units[np.argmax(probabilities)] += 10_000 - units.sum()
    copies, ploidy = int(np.argmax(units)), len(units) - 1
    alleles = ["0"] * (ploidy - copies) + ["1"] * copies
    written = units / 10_000
    ds = float(written @ np.arange(ploidy + 1))
    return "/".join(alleles), f"{ds:.4g}", ",".join(f"{p:.4g}" for p in written)


def distinct_names(*choices: list[str]) -> NDArray[Any] | None:
    """The first choice of labels of which each is there once, as an array, or None."""
    for names in choices:
        if len(set(names)) == len(names) and "." not in names:
            return np.array(names, dtype=object)
    return None
