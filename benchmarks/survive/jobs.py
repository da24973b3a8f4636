"""Small jobs of every command that writes, and what a right result of each is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as parquet

from bmcg.files.storage import MODEL, read_tensors

LONG = ("--row", "user", "--col", "item", "--value", "rating")
QUICK = ("--posterior", "variational", "--seed", "0", "--jobs", "1")
# Columns of a benchmark's table that another run may fill otherwise.
OF_THE_RUN = ("seconds", "commit", "machine", "versions", "provenance")


class Job(NamedTuple):
    """A command.

    Attributes
    ----------
    arguments : tuple of str
    outputs : tuple of str
        Names of the files that it writes.
    again : tuple of str
        Added where the same command is given again.
    share : int
        Of a thousand kills.
    own : tuple of str
        Further files that it may leave.
    """

    arguments: tuple[str, ...]
    outputs: tuple[str, ...]
    again: tuple[str, ...]
    share: int
    own: tuple[str, ...] = ()


JOBS = {
    "fit": Job(
        ("fit", "ratings.csv", *LONG, *QUICK, "--max-sweeps", "20", "-o", "model.safetensors",
         "--checkpoint", "c.ckpt"),
        ("model.safetensors",), ("--resume", "--force"), 430, ("c.ckpt",),
    ),
    "impute": Job(
        ("impute", "wide.csv", "-o", "out.csv", "--std", "std.csv", "--scale", "no", *QUICK,
         "--max-sweeps", "10"),
        ("out.csv", "std.csv"), ("--force",), 70,
    ),
    "inpaint": Job(
        ("inpaint", "picture.png", "--mask", "mask.png", "-o", "out.png", "--jobs", "1"),
        ("out.png",), ("--force",), 40,
    ),
    "update": Job(
        ("update", "given.safetensors", "more.csv", "--data", "ratings.csv", "--value", "rating",
         "-o", "newer.safetensors"),
        ("newer.safetensors",), ("--force",), 430,
    ),
    "report": Job(
        ("report", "given.safetensors", "-o", "page.html"), ("page.html",), ("--force",), 15,
    ),
    "bench": Job(
        ("bench", "synthetic", "--quick", "--methods", "LMaFit", "--seeds", "1", "--out", "."),
        ("synthetic.parquet",), (), 15,
        ("synthetic.md", "synthetic-seconds.md", "synthetic.png", "synthetic.svg", "pictures",
         ".parts"),
    ),
    # Quick ones, which are starved and not killed.
    "predict": Job(
        ("predict", "given.safetensors", "ratings.csv", "--std", "-o", "p.csv"), ("p.csv",), (), 0,
    ),
    "complete": Job(("complete", "given.safetensors", "-o", "c.parquet"), ("c.parquet",), (), 0),
    "recommend": Job(
        ("recommend", "given.safetensors", "--all", "-o", "r.csv"), ("r.csv",), (), 0,
    ),
    "similar": Job(("similar", "given.safetensors", "-o", "s.csv"), ("s.csv",), (), 0),
    "fold-in": Job(
        ("fold-in", "given.safetensors", "ratings.csv", "--value", "rating", "-o",
         "new.safetensors", "--matrix", "new.csv"),
        ("new.safetensors", "new.csv"), (), 0,
    ),
    "evaluate": Job(
        ("evaluate", "ratings.csv", *LONG, "--model", "LMaFit", "--split", "folds", "--seed", "0",
         "-o", "e.csv", "--picture", "e.png"),
        ("e.csv", "e.png"), (), 0,
    ),
}  # fmt: skip


def prepare(folder: Path) -> None:
    """Write the files that the commands read; the model comes from the first fit."""
    from PIL import Image

    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 20))
    lines = [f"u{i},i{j},{X[i, j]:.4f}" for i in range(30) for j in range(20) if rng.random() < 0.6]
    head = "user,item,rating"
    (folder / "ratings.csv").write_text("\n".join([head, *lines]) + "\n")
    (folder / "more.csv").write_text("\n".join([head, "u0,new,1", "u1,new,2", "u90,i1,1"]) + "\n")
    cells = [[f"{x:.3f}" if rng.random() < 0.8 else "" for x in row] for row in X]
    titles = ",".join(f"c{j}" for j in range(20))
    (folder / "wide.csv").write_text("\n".join([titles, *map(",".join, cells)]) + "\n")
    wave = 100 + 80 * np.outer(np.sin(np.arange(16) / 4), np.cos(np.arange(16) / 5))
    Image.fromarray(wave.astype(np.uint8)).save(folder / "picture.png")
    mask = np.zeros((16, 16), dtype=np.uint8)
    mask[6:9, 7:10] = 255
    Image.fromarray(mask).save(folder / "mask.png")


def result(path: Path) -> Any:
    """What a file says, without the seconds that it took; raises where it is not whole."""
    if path.suffix == ".safetensors":
        arrays, header = read_tensors(path, MODEL)
        # Steps of the solver are those of the process that made the last sweeps.
        kept = {name: array.tobytes() for name, array in arrays.items() if name != "solve_steps"}
        return kept, header["shape"]
    if path.suffix == ".parquet":
        table = parquet.read_table(path)
        table = table.drop_columns([name for name in OF_THE_RUN if name in table.column_names])
        return sorted(map(repr, table.to_pylist()))
    if path.name.startswith("e."):
        return _evaluated(path)
    return path.read_bytes()


def _evaluated(path: Path) -> Any:
    """Figures without the seconds, which are in the picture too: of that it is enough to be one."""
    if path.suffix == ".png":
        from PIL import Image

        with Image.open(path) as image:
            image.load()
            return image.size
    return [line for line in path.read_text().splitlines() if ",seconds," not in line]


def agrees(path: Path, truth: Any, whole: bool) -> bool:
    """Whether a file says what it should.

    Parameters
    ----------
    path : Path
    truth
        What `result` found in the file of a command that was left alone.
    whole : bool
        Whether the command ended. A benchmark that did not has some of its lines.
    """
    found = result(path)
    if path.suffix == ".parquet" and not whole:
        return set(found) <= set(truth)
    return bool(found == truth)
