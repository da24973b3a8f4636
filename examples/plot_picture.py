"""
A damaged picture
=================

Pixels are missing all over and under a scratch. Two ways to fill them in, and a map of what to
trust.
"""

# %%
# A drawn scene; half of the pixels are lost, and all of those under two bars.

import matplotlib.pyplot as plt
import numpy as np

from bmcg import BMCG
from bmcg.demo.cases import draw_scene
from bmcg.graphs import chain_graph
from bmcg.inpainting import inpaint
from bmcg.metrics import psnr

picture = draw_scene(64)
known = np.random.default_rng(0).random(picture.shape) < 0.5
known[26:29, 7:53] = known[10:57, 46:48] = False

# %%
# The paper's way: the picture itself is the matrix, its rows and its columns are joined to their
# neighbours. It suits a drawing of upright and level edges such as this one; the rows of a
# photograph are not of low rank.

X = np.where(known, picture, np.nan)
whole = BMCG(posterior="variational", value_range=(0, 255), tol=1e-4, random_state=0)
whole.fit(X, row_graph=chain_graph(64), col_graph=chain_graph(64))

# %%
# ``inpaint`` (the command is ``bmcg inpaint``): overlapping patches are the rows of the matrix,
# next to a smooth surface; pixels kept back decide between them, place by place. The map shows the
# standard deviation it gives to each pixel.

patches = inpaint(picture, known)

fig, axes = plt.subplots(1, 4, figsize=(11, 3.2), layout="constrained")
panels = {
    "known": X,
    "one matrix": np.where(known, picture, whole.complete()),
    "patches": np.where(known, picture, patches.mean),
}
for ax, (name, image) in zip(axes, panels.items(), strict=False):
    decibels = "" if name == "known" else f", {psnr(picture[~known], image[~known]):.1f} dB"
    ax.imshow(image, cmap="gray", vmin=0, vmax=255)
    ax.set(title=name + decibels, xticks=[], yticks=[], facecolor="#c8553d")
doubt = axes[3].imshow(np.where(known, np.nan, patches.std), cmap="magma", vmin=0)
axes[3].set(title="standard deviation", xticks=[], yticks=[])
fig.colorbar(doubt, ax=axes[3], label="grey levels")
plt.show()
