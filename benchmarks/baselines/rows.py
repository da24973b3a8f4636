"""What the compared methods are held to: figures of their authors' codes, and of images."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from bmcg import datasets
from bmcg.baselines import METHODS, default_grid
from bmcg.datasets import Dataset

AUTHORS = "authors' code"
PAPER = "the paper"
IMAGES = "the paper, images"
# The share by which an error may exceed a reference.
ALLOWED = {AUTHORS: 0.01, PAPER: 0.02, IMAGES: 0.02}

GENOTYPES = ("chr22-10%", "chr22-20%", "chr22-50%")
PICTURES = ("house", "peppers", "baboon", "barbara", "bridge", "facade", "airplane")

# One data set for each mask; published splits have one.
DATASETS: dict[str, Callable[[int], Dataset]] = {
    "ml-100k": lambda mask: datasets.load_monti_movielens(),
    "flixster": lambda mask: datasets.load_flixster(),
    "douban": lambda mask: datasets.load_douban(),
    "ml-1m": lambda mask: datasets.load_movielens_1m(),
    "netflix": lambda mask: datasets.load_synthetic_netflix(),
    "chr22-10%": lambda mask: datasets.load_chr22(0.1, mask),
    "chr22-20%": lambda mask: datasets.load_chr22(0.2, mask),
    "chr22-50%": lambda mask: datasets.load_chr22(0.5, mask),
    **{name: lambda mask, name=name: datasets.load_image(name, seed=mask) for name in PICTURES},
}
# Which genotypes the references had observed is not known: many masks show how much it matters.
MANY, FEW = 20, 3
SLOW = ("MC on Graphs", "BMC-GP-GAMP", "VBMC", "L1MC")


@dataclass(frozen=True)
class Anchor:
    """One comparison.

    Attributes
    ----------
    method : str
        Key of `bmcg.baselines.METHODS`.
    dataset : str
        Key of `DATASETS`.
    reference : float
        Error to match; for images the peak signal-to-noise ratio in decibels.
    source : str
    label : str
        Settings in words.
    settings : dict
        Parameters of the estimator.
    tuned : bool
        Choose from `default_grid` on held-out observed entries, as `bmcg.baselines.tune` does.
    graphs : bool
        Whether the fit is given the graphs.
    variant : str
        Key of `variants.VARIANTS`, where the authors' code does something ours does not.
    factor : float
        The observed values are multiplied by it before the fit, and predictions divided.
    best_of : dict, optional
        The grid's best on the *test* entries: an explanation, never a result.
    n_masks : int
        Masks of the genotypes, where the usual number is not enough.
    """

    method: str
    dataset: str
    reference: float
    source: str
    label: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    tuned: bool = False
    graphs: bool = True
    variant: str = ""
    factor: float = 1.0
    best_of: Mapping[str, list[Any]] | None = None
    n_masks: int = 0

    @property
    def masks(self) -> range:
        """Seeds of the data set."""
        if self.dataset not in GENOTYPES:
            return range(1)
        if self.n_masks:
            return range(self.n_masks)
        return range(FEW if self.method in SLOW or self.tuned else MANY)

    @property
    def key(self) -> str:
        """What is measured, without what it is compared with."""
        grid = default_grid(METHODS[self.method]) if self.tuned else None
        masks = self.n_masks if self.dataset in GENOTYPES else 0
        measured = replace(self, reference=0.0, source="", label="", n_masks=masks)
        return repr((measured, grid)).replace(", n_masks=0", "")


def rows(
    method: str, source: str, label: str, references: Mapping[str, float], **options: Any
) -> list[Anchor]:
    """The same settings on several data sets."""
    return [
        Anchor(method, dataset, reference, source, label, **options)
        for dataset, reference in references.items()
    ]


PMF = {"graph_weight": 0.0, "ridge": 1.2, "cg_steps": 3, "max_iter": 100, "tol": 0.0}
FIVE = ("ml-100k", "flixster", "douban", "ml-1m", "netflix")


def named(names: tuple[str, ...], *figures: float) -> dict[str, float]:
    """Figures by data set."""
    return dict(zip(names, figures, strict=True))


OF_AUTHORS = [
    *rows(
        "GRALS",
        AUTHORS,
        "demo",
        named(FIVE + GENOTYPES, 0.9313, 0.9184, 1.0347, 0.8576, 0.0140, 0.0360, 0.0292, 0.0282),
        settings={"tol": 0.0},
        variant="drand48",
    ),
    *rows(
        "GRALS",
        AUTHORS,
        "weights chosen on observed entries",
        named(("ml-100k", "flixster", "douban", "netflix"), 0.9313, 0.9041, 0.7693, 0.0486),
        tuned=True,
    ),
    *rows(
        "GRALS",
        AUTHORS,
        "no graph (PMF)",
        named(FIVE + GENOTYPES, 0.9720, 1.4521, 0.7758, 0.8623, 0.3558, 0.0969, 0.0492, 0.0297),
        settings=PMF,
        graphs=False,
        variant="drand48",
    ),
    *rows(
        "GPMF",
        AUTHORS,
        "as published: reads test positions",
        named(FIVE, 0.9204, 0.9083, 1.0524, 0.8575, 0.0277),
        settings={"tol": 0.0},
        variant="test positions",
    ),
    *rows(
        "GPMF",
        AUTHORS,
        "training positions only",
        named(FIVE + GENOTYPES, 0.9174, 0.9071, 1.0564, 0.8593, 0.0271, 0.0365, 0.0297, 0.0279),
        settings={"tol": 0.0},
        variant="drand48",
    ),
    *rows(
        "KPMF",
        AUTHORS,
        "γ = 1.1, σ² = 0.2",
        named(("ml-100k", "netflix", *GENOTYPES), 0.9620, 0.4387, 0.1793, 0.1286, 0.0405),
    ),
    *rows(
        "LMaFit",
        AUTHORS,
        "initial rank 100",
        named(
            ("ml-100k", "flixster", "douban", "netflix", *GENOTYPES),
            *(1.1523, 2.3606, 1.1872, 3.15, 0.25, 0.25, 0.25),
        ),
    ),
    *rows("LMaFit", AUTHORS, "initial rank 10", {"netflix": 0.2414}, settings={"rank": 10}),
    *rows(
        "VBMC",
        AUTHORS,
        "initial rank 20",
        named(("ml-100k", "netflix", *GENOTYPES), 0.9236, 0.2415, 0.0879, 0.0510, 0.0234),
        settings={"rank": 20},
        n_masks=MANY,
    ),
    *rows(
        "BPMF",
        AUTHORS,
        "noise precision 2",
        named(FIVE, 0.9195, 0.8827, 0.7274, 0.8410, 0.2321),
    ),
    *rows("BPMF", AUTHORS, "values × 4", named(GENOTYPES, 0.0797, 0.0487, 0.0306), factor=4.0),
]

# The paper's Table 3, peak signal-to-noise ratio.
PICTURE_TABLE = {
    "VBMC": (17.4998, 13.0452, 15.2448, 14.3214, 14.6432, 18.3471, 15.3214),
    "BPMF": (13.7860, 13.3002, 13.8773, 13.3284, 13.9810, 13.8794, 13.4697),
}
OF_PICTURES = [
    Anchor(method, picture, reference, IMAGES, label, **options)
    for method, label, options in (
        ("VBMC", "defaults", {}),
        ("VBMC", "authors' start, grey levels", {"variant": "authors' start"}),
        ("VBMC", "authors' start, 0 to 1", {"variant": "authors' start", "factor": 1 / 255}),
        ("BPMF", "noise precision 2, grey levels", {}),
        ("BPMF", "noise precision 2, 0 to 1", {"factor": 1 / 255}),
        ("BPMF", "noise learned", {"settings": {"noise_precision": "learn"}}),
    )
    for picture, reference in named(PICTURES, *PICTURE_TABLE[method]).items()
]
