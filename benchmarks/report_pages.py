"""Reports of a MovieLens 100K model and of an inpainted picture, opened in a browser.

    BMCG_DATA=/path/to/data python benchmarks/report_pages.py OUT

Writes the two pages to the folder OUT, opens them in headless Chromium at 390 and 1280 pixels,
fails on console messages, and puts screenshots in docs/images/.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

from bmcg import BMCG, datasets
from bmcg.datasets import Dataset
from bmcg.report import Entries, find, render
from reporting import ROOT

IMAGES = ROOT / "docs" / "images"
WIDTHS = (390, 1280)
BROWSER = (
    "chromium",
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--enable-logging=stderr",
)


def page(data: Dataset, title: str, compare: bool, **settings: object) -> str:
    """The report of a fit with the graphs and, for comparison, of one without."""
    fitted = BMCG(random_state=0, **settings).fit(data.observations, data.row_graph, data.col_graph)
    without = BMCG(random_state=0, **settings).fit(data.observations) if compare else None
    seen = data.observations
    sides = ((seen.row_labels, data.test_rows), (seen.col_labels, data.test_cols))
    names = [at if labels is None else labels.values[at] for labels, at in sides]
    test = Entries(names[0], names[1], data.test_values)
    return render(fitted, find(fitted, test, without), title=title)


def picture() -> Dataset:
    """A quarter of a photograph's pixels, its neighbouring lines and columns linked."""
    return datasets.load_image("house", observed=0.25, snr_db=20.0)


def shoot(path: Path, width: int, target: Path) -> None:
    """A screenshot, halved where it is wide; console messages are an error."""
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        ended = subprocess.run(
            [
                *BROWSER,
                f"--user-data-dir={folder}/profile",
                f"--window-size={width},{1500 if width > 600 else 1200}",
                f"--screenshot={shot}",
                path.resolve().as_uri(),
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        said = [line for line in ended.stderr.splitlines() if "CONSOLE" in line]
        if said:
            raise SystemExit(f"{path}: the console is not empty: {said[0]}")
        with Image.open(shot) as image:
            if np.asarray(image.convert("L")).std() < 5:
                raise SystemExit(f"{path}: the page is empty")
            by = 2 if width > 600 else 1
            small = image.convert("RGB").resize((image.width // by, image.height // by))
            small.quantize(64).save(target, optimize=True)
    print(f"written: {target}")


def main() -> None:
    """Fit, write, look."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    pages = {
        "movielens": lambda: page(
            datasets.load_movielens_100k(), "MovieLens 100K", True, posterior="row"
        ),
        "picture": lambda: page(picture(), "An inpainted picture", False, posterior="row"),
    }
    for name, make in pages.items():
        path = out / f"{name}.html"
        if not path.exists():
            path.write_text(make(), encoding="utf-8")
        for width in WIDTHS:
            shoot(path, width, IMAGES / f"report-{name}-{width}.png")


if __name__ == "__main__":
    main()
