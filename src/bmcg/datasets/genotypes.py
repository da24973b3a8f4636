"""Haplotypes of chromosome 22, as SparRec (Jiang et al. 2016) publishes them."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Literal

import numpy as np

from ..checks import check_choice
from ..graphs import knn_graph
from ._files import DatasetFormatError, Source, locate
from ._matlab import read_arrays_v5
from ._observed_graph import observed_value_graph
from .dataset import Dataset, complete_dataset, random_mask

_FILE = "sparrec/chr22.mat"
# No address is known to serve the bare file, so it has to be put in place by hand.
_SOURCE = Source(
    "Chr22 haplotypes",
    "the SparRec authors (Jiang et al. 2016, Scientific Reports 6:35534, "
    "https://github.com/astate-bioinformatics/SparRec)",
)
SHAPE = (790, 112)
_SEEN = {
    "complete": (
        "10 nearest neighbours in the complete matrix, unobserved entries included, as in the "
        "paper: it knows the answer."
    ),
    "observed": (
        "10 nearest neighbours by a rank-10 summary of the observed entries; it has seen no "
        "held-out entry."
    ),
}


def load_chr22(
    observed: float = 0.2,
    seed: int = 0,
    graph: Literal["complete", "observed"] = "complete",
    data_dir: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Chr22: 790 single-nucleotide polymorphisms × 112 haplotypes, zeros and ones.

    Parameters
    ----------
    observed : float
        Share of observed entries; all others are held out.
    seed : int
        Of the random choice of observed entries.
    graph : {"complete", "observed"}
        What the 10-nearest-neighbour row graph is built from. ``"complete"``: the whole matrix,
        as in the paper: such a graph knows the answer. ``"observed"``: the observed entries
        alone.
    data_dir : path, optional
        Folder that holds ``sparrec/chr22.mat``; by default ``BMCG_DATA``, else a cache.

    Returns
    -------
    Dataset
        With a row graph and no column graph; there are neither labels nor positions.
    """
    check_choice("graph", graph, ("complete", "observed"))
    mask = random_mask(SHAPE, observed, np.random.default_rng(seed))
    (path,) = locate(_SOURCE, (_FILE,), data_dir)
    M = read_arrays_v5(path, ["M"]).dense("M", SHAPE)
    if not np.isin(M, (0.0, 1.0)).all():
        raise DatasetFormatError(f"{path}: M must hold zeros and ones only")
    found = complete_dataset(
        f"chr22-{graph}-graph",
        M,
        mask,
        provenance=(
            f"Chr22 (HapMap JPT+CHB) of {_SOURCE.publisher}; {mask.sum()} of {mask.size} entries "
            f"observed at random, seed {seed}. Row graph: {_SEEN[graph]}"
        ),
        licence="None stated; HapMap data, for research.",
    )
    rows = (
        knn_graph(M, weights="binary")
        if graph == "complete"
        else observed_value_graph(found.observations)
    )
    return replace(found, row_graph=rows)
