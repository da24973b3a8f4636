"""
Against other methods
=====================

Every method of the comparison has the same surface: ``fit``, ``predict``, ``complete``. Where
entries are scarce, graphs decide; where there are plenty, most methods agree.
"""

# %%
# One matrix of rank five that is smooth along chains, with noise; from 5 to 40 percent known. The
# methods with settings to tune get good ones for free here: the true rank. BMCG is told nothing.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullLocator

from bmcg import BMCG, baselines, datasets
from bmcg.metrics import rmse

shares = (0.05, 0.15, 0.4)
methods = {
    "BMCG": BMCG(posterior="variational", tol=1e-4, random_state=0),
    "BMCG without graphs": BMCG(posterior="variational", tol=1e-4, random_state=0),
    "GRALS": baselines.GRALS(rank=5),
    "LMaFit": baselines.LMaFit(rank=5, estimate_rank=False),
    "VBMC": baselines.VBMC(rank=20),
}

# %%
# Errors over the spread of the truth: one is no better than guessing the mean.

errors = {name: [] for name in methods}
for share in shares:
    data = datasets.graph_low_rank(5, share, 10.0, 0, shape=(80, 70), ridge=0.01)
    for name, method in methods.items():
        graphs = (
            {} if "without" in name else {"row_graph": data.row_graph, "col_graph": data.col_graph}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some cannot use a graph, or end before they settle
            method.fit(data.observations, **graphs)
        found = rmse(data.test_values, method.predict(data.test_rows, data.test_cols))
        errors[name].append(found / np.std(data.truth))

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for name, values in errors.items():
    ax.plot(
        100 * np.array(shares), values, marker="o", label=name, lw=2.5 if name == "BMCG" else 1.2
    )
ax.set(xscale="log", yscale="log", xlabel="entries known (%)", ylabel="held-out error / spread")
ax.xaxis.set_minor_locator(NullLocator())
ax.set_xticks([100 * share for share in shares], [f"{100 * share:g}" for share in shares])
ax.set_title("The fewer entries, the more a graph is worth", loc="left", fontsize=11)
ax.legend()
plt.show()
