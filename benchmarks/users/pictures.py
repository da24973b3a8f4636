"""Inpaint the test images with 70 % of their pixels missing, against biharmonic inpainting.

BMCG_DATA=... python benchmarks/users/pictures.py out/               # ours, and the masks
python benchmarks/users/pictures_biharmonic.py out/      # where scikit-image is installed
python benchmarks/users/pictures.py out/ --table                     # both, side by side
python benchmarks/users/pictures.py out/ --large                     # 1024 x 1024, one picture
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
from PIL import Image

from bmcg import BMCG
from bmcg.graphs import chain_graph
from bmcg.inpainting import inpaint
from bmcg.metrics import psnr

KNOWN = 0.3


def images() -> list[Path]:
    return sorted((Path(os.environ["BMCG_DATA"]) / "images").glob("*.png"))


def grey(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path).convert("L"), dtype=np.float64)


def score(truth: np.ndarray, known: np.ndarray, found: np.ndarray) -> float:
    return psnr(truth, np.clip(np.where(known, truth, found), 0, 255))


def ours(out: Path) -> None:
    for path in images():
        truth = grey(path)
        known = np.random.default_rng(0).random(truth.shape) < KNOWN
        start = time.perf_counter()
        found = inpaint(np.where(known, truth, 0), known)
        seconds = time.perf_counter() - start
        np.savez(out / f"{path.stem}.npz", truth=truth, known=known, found=found.mean)
        z = ((found.mean - truth) / found.std)[~known]
        print(
            f"{path.stem:10} {score(truth, known, found.mean):6.2f} dB  {len(found.ranks):2d} kinds  "
            f"noise {found.noise_std:5.1f}  inside 90 % bands {np.mean(np.abs(z) < 1.645):.2f}  "
            f"{seconds:6.1f} s",
            flush=True,
        )


def table(out: Path) -> None:
    print("image        ours   biharmonic   difference   one low-rank matrix on chains")
    rows = []
    for path in sorted(out.glob("*.npz")):
        if path.stem.endswith("-biharmonic"):
            continue
        data = np.load(path)
        other = np.load(out / f"{path.stem}-biharmonic.npz")["found"]
        truth, known = data["truth"], data["known"]
        h, w = truth.shape
        matrix = BMCG(posterior="row", random_state=0).fit(
            np.where(known, truth, np.nan), chain_graph(h), chain_graph(w)
        )
        scores = [score(truth, known, found) for found in (data["found"], other, matrix.complete())]
        rows.append(scores)
        print(line(path.stem, scores), flush=True)
    print(line("average", np.mean(rows, axis=0)))


def line(name: str, scores: list[float]) -> str:
    first, second, third = scores
    return f"{name:10} {first:6.2f} {second:11.2f} {first - second:+12.2f} {third:15.2f}"


def large() -> None:
    """A 1024 x 1024 picture from four by four test images."""
    parts = [grey(path) for path in (images() * 2)[:16]]
    truth = np.block([parts[4 * i : 4 * i + 4] for i in range(4)])
    known = np.random.default_rng(0).random(truth.shape) < KNOWN
    start, busy = time.perf_counter(), time.process_time()
    found = inpaint(np.where(known, truth, 0), known)
    seconds, busy = time.perf_counter() - start, time.process_time() - busy
    print(
        f"{truth.shape[0]} x {truth.shape[1]}: {score(truth, known, found.mean):.2f} dB, ", end=""
    )
    print(f"{seconds:.1f} s ({busy:.1f} s of processors)")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--large", action="store_true")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    if given.large:
        large()
    elif given.table:
        table(given.out)
    else:
        ours(given.out)


if __name__ == "__main__":
    main()
