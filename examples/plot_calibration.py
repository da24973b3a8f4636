"""
Can the intervals be trusted?
=============================

Intervals are checked on entries that were held back: of all intervals of 90 %, nine in ten should
hold the outcome. They do where noise is Gaussian, and less so where it is not.
"""

# %%
# The same low-rank matrix with two kinds of noise of the same variance: Gaussian, and rare large
# errors.

import matplotlib.pyplot as plt
import numpy as np

from bmcg import BMCG, plotting

rng = np.random.default_rng(0)
truth = rng.standard_normal((150, 3)) @ rng.standard_normal((3, 120))
noise = {
    "Gaussian noise": 0.5 * rng.standard_normal(truth.shape),
    "rare large errors": 0.5 * rng.standard_t(3, truth.shape) / np.sqrt(3),
}
known = rng.random(truth.shape) < 0.3
rows, cols = np.nonzero(~known)

# %%
# ``plotting`` draws what ``bmcg.metrics`` computes. Bars above the band mean outcomes that fall
# there more often than they should; a curve above the diagonal, intervals wider than need be.

fig, axes = plt.subplots(2, 2, figsize=(9, 6.6), layout="constrained")
for (name, errors), (left, right) in zip(noise.items(), axes, strict=True):
    X = truth + errors
    model = BMCG(posterior="row", random_state=0).fit(np.where(known, X, np.nan))
    plotting.pit_histogram(model, rows, cols, X[rows, cols], left)
    plotting.coverage_curve(model, rows, cols, X[rows, cols], right)
    left.set_title(f"{name}: where outcomes fall", loc="left", fontsize=11)
plt.show()
