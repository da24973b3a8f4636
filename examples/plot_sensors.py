"""
Sensors with outages
====================

Twelve sensors along a pipe; readings drop out one by one, and one sensor was dead for a day. Every
gap is filled with a band. The map shows where the model knows least: hours of which few readings
remain, and the ends of the pipe.
"""

# %%
# Hours are joined to the hours before and after, sensors to their neighbours along the pipe. What a
# sensor has to itself, a slow drift, no neighbour can tell.

import matplotlib.pyplot as plt
import numpy as np

from bmcg import BMCG, plotting
from bmcg.graphs import chain_graph
from bmcg.metrics import coverage

rng = np.random.default_rng(0)
hours, places = np.arange(120), np.arange(12)
daily = np.sin(2 * np.pi * (hours[:, None] / 24 - places / 30))
slow = np.cumsum(0.05 * rng.standard_normal(120))[:, None] * np.exp(-places / 8)
drift = np.cumsum(0.03 * rng.standard_normal((120, 12)), axis=0)
readings = 15 + 4 * daily + 3 * slow + drift + 0.2 * rng.standard_normal((120, 12))
lost = rng.random(readings.shape) < 0.3
lost[50:75, 5] = True
X = np.where(lost, np.nan, readings)

model = BMCG(posterior="joint", tol=1e-4, random_state=0)
model.fit(X, row_graph=chain_graph(120), col_graph=chain_graph(12))

# %%
# The dead sensor with its band of 90 %, and how unsure every entry of the table is.

inside = coverage(readings[lost], *model.predict_interval(*np.nonzero(lost), level=0.9))
low, high = model.predict_interval(hours, np.full(120, 5), level=0.9)
fig, (top, bottom) = plt.subplots(2, 1, figsize=(9, 6), layout="constrained")
top.fill_between(hours, low, high, color="#7aa6c2", alpha=0.5, label="90 % band")
top.plot(hours, readings[:, 5], color="#c8553d", linewidth=1, label="true")
top.plot(hours, X[:, 5], ".", color="#22313f", label="observed")
top.set(xlabel="hour", ylabel="reading", xlim=(20, 105), ylim=(8.5, 20.5))
top.set_title(f"Sensor 5; of all lost readings, {inside:.0%} are inside their bands", loc="left")
top.legend(ncols=3, loc="lower right")
plotting.uncertainty_map(model, bottom)
bottom.set(xlabel="sensor", ylabel="hour")
plt.show()
