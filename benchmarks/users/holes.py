"""Whether the bands of filled pictures hold in holes much wider than a patch.

BMCG_DATA=... python -m benchmarks.users holes
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import gaussian_filter

from bmcg.inpainting import inpaint
from reporting import table

from .pictures import grey, images

# Side of a hole, and how many a picture has.
SIDE, HOLES = 41, 3
DRAWN = ("smooth", "rough", "discs", "waves")
# Half widths of central 50, 90 and 95 % bands in standard deviations.
WIDTHS = (0.674, 1.645, 1.960)


def drawn(kind: str, rng: np.random.Generator, side: int = 192) -> np.ndarray:
    """A picture drawn on the spot, grey levels around 128."""
    y, x = np.mgrid[:side, :side]
    noise = rng.standard_normal((2, side, side))
    if kind == "discs":
        f = np.zeros((side, side))
        for _ in range(60):
            (a, b), r = rng.uniform(0, side, 2), rng.uniform(8, 40)
            f[(x - a) ** 2 + (y - b) ** 2 < r * r] = rng.uniform()
    else:
        f = gaussian_filter(noise[0], 12, mode="wrap")
        if kind == "rough":
            f += 0.2 * gaussian_filter(noise[1], 2, mode="wrap")
        if kind == "waves":
            f += 0.02 * np.sin(x * rng.uniform(0.1, 0.6) + y * rng.uniform(-0.6, 0.6))
    return 128 + 40 * (f - f.mean()) / f.std() + noise[1]


def with_holes(shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Known pixels: all but a few square holes that do not touch."""
    known = np.ones(shape, dtype=bool)
    while (~known).sum() < HOLES * SIDE**2:
        top, left = (rng.integers(n - SIDE) for n in shape)
        if known[max(top - 10, 0) : top + SIDE + 10, max(left - 10, 0) : left + SIDE + 10].all():
            known[top : top + SIDE, left : left + SIDE] = False
    return known


def page() -> str:
    """One line a picture: error, what was expected, and the share inside bands."""
    rng = np.random.default_rng(0)
    pictures = {f"{kind}, drawn": drawn(kind, rng) for kind in DRAWN}
    pictures |= {path.stem: grey(path) for path in images()}
    rows, shares = [], []
    for name, truth in pictures.items():
        known = with_holes(truth.shape, rng)
        found = inpaint(np.where(known, truth, 0), known)
        error, std = (found.mean - truth)[~known], found.std[~known]
        shares.append([np.mean(np.abs(error) < width * std) for width in WIDTHS])
        levels = [f"{np.sqrt(np.mean(one**2)):.1f}" for one in (error, std)]
        rows.append([name, *levels, *(f"{100 * share:.0f}" for share in shares[-1])])
        print(*rows[-1], flush=True)
    rows.append(["average", "", "", *(f"{100 * share:.0f}" for share in np.mean(shares, axis=0))])
    header = ["picture", "RMS error", "expected", "inside 50 %", "inside 90 %", "inside 95 %"]
    return (
        f"{HOLES} holes of {SIDE} × {SIDE} pixels in each picture. Promised: 90 % bands hold 85 to "
        "95 % on average. Within a hole errors go together, so one picture can be far from it.\n\n"
        + table(header, rows)
    )
