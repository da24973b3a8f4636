"""
Ratings with a social network
=============================

Few ratings for each user, and a graph that says who is friends with whom and which films are
alike. How much do the graphs help, and how sure is each recommendation?
"""

# %%
# A hundred users, two hundred films, whole-number ratings that depend on the communities both
# belong to. A tenth of the ratings is known. The graphs join members of a community, with half
# of the edges missing and some wrong ones.

import matplotlib.pyplot as plt
import numpy as np

from bmcg import BMCG, datasets
from bmcg.metrics import rmse

data = datasets.netflix_like(
    observed=0.1, shape=(100, 120), n_groups=(10, 8), within=0.5, between=0.02, seed=1
)

# %%
# ``value_range`` says that ratings end at 1 and 5.

held_out = data.test_rows, data.test_cols
errors, models = {}, {}
for name, graphs in {
    "no graph": {},
    "users' graph": {"row_graph": data.row_graph},
    "both graphs": {"row_graph": data.row_graph, "col_graph": data.col_graph},
}.items():
    model = BMCG(posterior="row", value_range=(1, 5), tol=1e-4, random_state=0)
    model.fit(data.observations, **graphs)
    errors[name], models[name] = rmse(data.test_values, model.predict(*held_out)), model

# %%
# Films from the best to the worst for one user, each with the interval that should hold the rating
# with probability 0.9, beside what the user would give.

user = 7
ranked = models["both graphs"].recommend(user, n=200)
best = ranked.cols[:: len(ranked) // 12]
mean = models["both graphs"].predict(user, best)
low, high = models["both graphs"].predict_interval(user, best)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
bars = left.barh(list(errors), list(errors.values()), color=["#c9d6df", "#7aa6c2", "#2a6f97"])
left.bar_label(bars, fmt="%.2f", padding=3)
left.set(
    xlabel="held-out error (RMSE, in stars)", xlim=(0, 1.7), title="Graphs carry over what few know"
)
left.invert_yaxis()

place = np.arange(len(best))
right.hlines(place, low, high, color="#7aa6c2", linewidth=5, alpha=0.6)
right.plot(mean, place, "o", color="#2a6f97", label="predicted")
right.plot(data.truth[user, best], place, "x", color="#c8553d", label="true")
right.set(xlabel="stars", yticks=place, title=f"For user {user}")
right.set_yticklabels([f"film {film}" for film in best])
right.invert_yaxis()
right.legend(loc="lower right")
plt.show()
