"""Biharmonic inpainting of what `pictures.py` wrote; needs scikit-image, and not bmcg.

python benchmarks/users/pictures_biharmonic.py out/
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from skimage.restoration import inpaint_biharmonic

for path in sorted(Path(sys.argv[1]).glob("*.npz")):
    if path.stem.endswith("-biharmonic"):
        continue
    data = np.load(path)
    start = time.perf_counter()
    found = 255 * inpaint_biharmonic(
        np.where(data["known"], data["truth"], 0) / 255, ~data["known"]
    )
    np.savez(path.with_name(f"{path.stem}-biharmonic.npz"), found=found)
    print(f"{path.stem:10} {time.perf_counter() - start:6.1f} s", flush=True)
