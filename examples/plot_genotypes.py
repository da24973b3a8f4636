"""
Genotypes of a cohort
=====================

Chromosomes are mosaics of a few ancestral ones, so a matrix of sites by haplotypes has a low rank,
and a reference panel tells which sites go together.
"""

# %%
# A hundred haplotypes at 120 sites to complete, and a panel of a hundred others. The graph joins
# sites that look alike in the panel: it has seen no entry of the matrix to complete. Four alleles
# in five are lost.

import matplotlib.pyplot as plt
import numpy as np

from bmcg import BMCG
from bmcg.demo.cases import mosaics
from bmcg.graphs import knn_graph
from bmcg.metrics import error_rate

rng = np.random.default_rng(3)
everyone = mosaics(120, 200, n_founders=6, rng=rng)
study, panel = everyone[:, :100], everyone[:, 100:]
study = study[:, np.lexsort(study[::-1])]  # alike ones side by side, for the picture
known = rng.random(study.shape) < 0.2
X = np.where(known, study, np.nan)

# %%
# An allele is 0 or 1, so predictions are kept in that range; the nearer one is the call.

site_graph = knn_graph(panel, n_neighbors=10)
found = {
    name: BMCG(posterior="variational", value_range=(0, 1), tol=1e-4, random_state=0).fit(
        X, row_graph=graph
    )
    for name, graph in {"without a graph": None, "sites joined by the panel": site_graph}.items()
}

fig, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained", sharex=True, sharey=True)
shown = {"known": X, "truth": study}
for name, model in found.items():
    mean = model.complete()
    wrong = error_rate(study[~known], mean[~known])
    shown[f"{name}: {100 * wrong:.1f} % wrong"] = mean
for ax, (name, matrix) in zip(axes.flat, shown.items(), strict=True):
    ax.imshow(matrix, cmap="cividis", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    ax.set_title(name, fontsize=10)
    ax.set_facecolor("#eeeeee")
for ax in axes[1]:
    ax.set_xlabel("haplotype")
for ax in axes[:, 0]:
    ax.set_ylabel("site")
plt.show()
