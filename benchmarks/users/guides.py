"""Run the guides as a reader would, and write down what they print and draw.

    python -m benchmarks.users.guides [GUIDE ...]

Every block runs in one empty folder, through a shell. A block of text right after it holds what
it printed; blocks that print get one, and old ones are replaced. Pictures go to docs/images/.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
GUIDES, IMAGES = ROOT / "docs" / "guides", ROOT / "docs" / "images"
BLOCK = re.compile(
    r"^```(?P<language>python|bash)\n(?P<code>.*?)^```\n(?:\n```text\n.*?^```\n)?",
    re.MULTILINE | re.DOTALL,
)


def transcript(name: str, folder: Path) -> str:
    """The guide with what its blocks printed."""

    def run(match: re.Match[str]) -> str:
        code = match["code"]
        program = [sys.executable, "-"] if match["language"] == "python" else ["bash", "-eu"]
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        ended = subprocess.run(
            program,
            input=code,
            cwd=folder,
            env={**os.environ, "PATH": path, "COLUMNS": "90"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if ended.returncode:
            raise SystemExit(f"{name}: a block failed\n{code}\n{ended.stdout}")
        block = f"```{match['language']}\n{code}```\n"
        printed = "\n".join(line.rstrip() for line in ended.stdout.strip("\n").splitlines())
        return block + (f"\n```text\n{printed}\n```\n" if printed else "")

    return BLOCK.sub(run, (GUIDES / f"{name}.md").read_text(encoding="utf-8"))


def draw_inpainting(folder: Path) -> None:
    """Damaged, repaired, and where to doubt, side by side."""
    from PIL import Image

    picture, mask, repaired, doubt = (
        np.asarray(Image.open(folder / f"{name}.png").convert("RGB"))
        for name in ("picture", "mask", "repaired", "doubt")
    )
    damaged = np.where(mask > 127, 255, picture)
    bright = np.clip(doubt.astype(int) * 255 // max(int(doubt.max()), 1), 0, 255)
    gap = np.full((picture.shape[0], 8, 3), 255)
    row = np.hstack([damaged, gap, repaired, gap, bright]).astype(np.uint8)
    Image.fromarray(np.repeat(np.repeat(row, 2, axis=0), 2, axis=1)).save(
        IMAGES / "guide-inpainting.png"
    )


def draw_sensors(folder: Path) -> None:
    """The outage of one sensor: readings, what was lost, and the band."""
    import csv

    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    truth = np.load(folder / "truth.npy")[:, 5]
    with (folder / "gaps.csv").open() as file:
        lines = [line for line in csv.DictReader(file) if line["column"] == "s05"]
    hour = np.array([24 * (int(x["row"][8:10]) - 1) + int(x["row"][11:13]) for x in lines])
    mean, low, high = (np.array([float(x[k]) for x in lines]) for k in ("mean", "low", "high"))
    out = (hour >= 100) & (hour < 148)
    known = np.setdiff1d(np.arange(72, 176), hour)
    figure, axes = plt.subplots(figsize=(7, 2.6), layout="constrained")
    axes.fill_between(hour[out], low[out], high[out], alpha=0.25, label="90 % band", lw=0)
    axes.plot(hour[out], mean[out], label="filled")
    axes.plot(np.arange(100, 148), truth[100:148], "k--", lw=0.8, label="what was lost")
    axes.plot(known, truth[known], "k.", ms=3, label="read")
    axes.set(xlabel="hour", ylabel="s05")
    axes.legend(ncols=4, fontsize="small", loc="upper center", bbox_to_anchor=(0.5, 1.22))
    figure.savefig(IMAGES / "guide-sensors.png", dpi=110)


PICTURES = {"inpainting": draw_inpainting, "sensors": draw_sensors}


def main() -> None:
    for name in sys.argv[1:] or sorted(path.stem for path in GUIDES.glob("*.md")):
        with tempfile.TemporaryDirectory() as folder:
            text = transcript(name, Path(folder))
            if name in PICTURES:
                PICTURES[name](Path(folder))
        (GUIDES / f"{name}.md").write_text(text, encoding="utf-8")
        print(f"written: docs/guides/{name}.md")


if __name__ == "__main__":
    main()
