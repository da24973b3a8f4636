"""Imported by the process that attacked processes are forked from: what is compiled once is."""

import warnings

import numpy as np

from bmcg import BMCG

from .readers import READERS

for reader in READERS.values():
    assert reader.seeds
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for posterior in ("column", "joint"):
        fit = BMCG(posterior=posterior, engine="sparse", bias=False, max_sweeps=1, n_jobs=1)
        fit.fit(np.eye(4), np.ones((4, 4)))
