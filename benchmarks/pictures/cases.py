"""Test pictures and what is missing of them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from benchmarks.speed.pictures import scratches, words
from numpy.typing import NDArray
from PIL import Image

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

# Standard deviation of the noise, in grey levels.
NOISE = 20.0
SHARES = (0.1, 0.3, 0.5)
DAMAGE = (*(f"{share:.0%} known" for share in SHARES),)
DAMAGE = (*DAMAGE, *(f"{name}, noise" for name in DAMAGE), "scratches", "text", "holes")
# How many holes, how wide, and how many times they are put elsewhere.
HOLES, SIDE, PLACES = 3, 41, 4


def pictures() -> dict[str, Path]:
    """Names and files."""
    folder = os.environ.get("BMCG_DATA")
    if folder is None:
        raise SystemExit("BMCG_DATA is not set: pictures are read from its folder images")
    return {path.stem: path for path in sorted((Path(folder) / "images").glob("*.png"))}


def places(damage: str) -> int:
    """How many times a damage is drawn."""
    return PLACES if damage == "holes" else 1


def case(name: str, damage: str, place: int = 0) -> tuple[Array, Array, Bool]:
    """The picture, as it would be seen whole, noise and all, and where it is, (h, w) each."""
    truth = np.asarray(Image.open(pictures()[name]).convert("L"), dtype=np.float64)
    if damage in ("scratches", "text"):
        make = {"scratches": scratches, "text": words}[damage]
        known = np.asarray(make((truth.shape[1], truth.shape[0]))) == 0
    elif damage == "holes":
        known = _with_holes(truth.shape, np.random.default_rng(place))
    else:
        known = np.random.default_rng(0).random(truth.shape) < float(damage.split("%")[0]) / 100
    seen = truth
    if damage.endswith("noise"):
        noisy = truth + NOISE * np.random.default_rng(1).normal(size=truth.shape)
        seen = np.clip(np.rint(noisy), 0, 255)
    return truth, seen, known


def _with_holes(shape: tuple[int, ...], rng: np.random.Generator) -> Bool:
    """Known pixels: all but square holes that do not touch."""
    known = np.ones(shape, dtype=bool)
    while (~known).sum() < HOLES * SIDE**2:
        top, left = (rng.integers(n - SIDE) for n in shape)
        if known[max(top - 10, 0) : top + SIDE + 10, max(left - 10, 0) : left + SIDE + 10].all():
            known[top : top + SIDE, left : left + SIDE] = False
    return known


def decibels(truth: Array, known: Bool, found: Array) -> float:
    """PSNR of the pixels that were missing."""
    gap = (np.clip(found, 0, 255) - truth)[~known]
    return float(10 * np.log10(255**2 / np.mean(gap**2)))
