"""
Which graph should I use?
=========================

All you have: give several graphs by name, and the evidence decides how much each of them counts. A
wrong one is turned down.
"""

# %%
# Rows lie on a line. One graph joins neighbours on it, one is the same graph with its nodes
# shuffled, and one joins rows with similar features that say nothing.

import matplotlib.pyplot as plt
import numpy as np

from bmcg import BMCG, datasets
from bmcg.graphs import knn_graph
from bmcg.metrics import rmse

data = datasets.graph_low_rank(rank=3, observed=0.25, shape=(100, 80), ridge=0.01, seed=2)
rng = np.random.default_rng(0)
order = rng.permutation(100)
graphs = {
    "neighbours": data.row_graph,
    "shuffled": data.row_graph[order][:, order],
    "features": knn_graph(rng.standard_normal((100, 4))),
}

# %%
# Each alone, without weights, against all of them with learned weights.

tries = {"no graph": None, **graphs, "all three, weighed": graphs}
errors = {}
for name, graph in tries.items():
    model = BMCG(posterior="row", tol=1e-4, random_state=0).fit(data.observations, row_graph=graph)
    errors[name] = rmse(data.test_values, model.predict(data.test_rows, data.test_cols))

# %%
# ``graph_weights_`` says what was decided: the share of the prior that each graph determines. The
# decision needs data: with half as many entries (``observed=0.12``) the shares are the same, but
# only two of the three components are found, and the right graph alone has the smaller error.

weights = model.graph_weights_["rows"]
shares = {name: weight.share for name, weight in weights.items()}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
bars = axes[0].barh(list(errors), list(errors.values()), color="#2a6f97")
axes[0].bar_label(bars, fmt="%.2f", padding=3)
axes[0].set(xlabel="held-out error (RMSE)", xlim=(0, 1.2 * max(errors.values())))
axes[0].set_title("Each graph, and all", loc="left", fontsize=11)
axes[0].invert_yaxis()

bars = axes[1].barh(list(shares), [100 * share for share in shares.values()], color="#c8553d")
axes[1].bar_label(bars, fmt="%.0f %%", padding=3)
axes[1].set(xlabel="share of the prior (%)", xlim=(0, 118))
axes[1].set_title("What the evidence decided", loc="left", fontsize=11)
axes[1].invert_yaxis()
plt.show()
