"""The experiments as data: which cases, which methods, how they are scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .methods import Entry, all_entries, bmcg_entries

LOWER_IS_BETTER = {"rmse": True, "error_rate": True, "psnr": False}
METRIC_NAMES = {"rmse": "RMSE", "error_rate": "error rate", "psnr": "PSNR, dB"}


@dataclass(frozen=True)
class Case:
    """One column of a table: a data set under one condition.

    Attributes
    ----------
    group : str
        Heading of the table the column belongs to.
    name : str
        Heading of the column.
    source : str
        Key of `bmcg.bench.sources.SOURCES`.
    options : dict
        For the source.
    metric : {"rmse", "error_rate", "psnr"}
    x : float, optional
        Position on the axis of a curve; None in a group of curves for what has nothing to set.
    published : str, optional
        Column of the paper's table where it is not the name.
    entries : tuple of Entry
    twin : str, optional
        Group with the same entries and other graphs: methods without graphs score the same.
    max_seeds : int, optional
        Fewer seeds than others where one fit takes minutes.
    picture : bool
        Keep the completed image of the first seed.
    pattern : bool
        Whether which entries are observed says something about them, as where people choose
        what to rate.
    """

    group: str
    name: str
    source: str
    metric: str
    options: Mapping[str, Any] = field(default_factory=dict)
    x: float | None = None
    published: str | None = None
    entries: tuple[Entry, ...] = ()
    twin: str | None = None
    max_seeds: int | None = None
    picture: bool = False
    pattern: bool = False


@dataclass(frozen=True)
class Experiment:
    """A bench.

    Attributes
    ----------
    name, title : str
    note : str
        What a reader of the table must know.
    cases : tuple of Case
    """

    name: str
    title: str
    note: str
    cases: tuple[Case, ...]

    @property
    def groups(self) -> tuple[str, ...]:
        """Headings in order."""
        return tuple(dict.fromkeys(case.group for case in self.cases))


def recommendation(quick: bool) -> Experiment:
    """Table 1."""
    shipped, honest = "Graphs as in the paper", "Graphs that have seen training entries alone"
    every, untuned = all_entries(), all_entries(tuned=False)
    cases = [
        Case(shipped, "Flixster", "flixster", "rmse", {"graphs": "shipped"}, entries=every,
             pattern=True),
        Case(shipped, "Douban", "douban", "rmse", entries=every, pattern=True),
        Case(shipped, "MovieLens 100K", "ml-100k", "rmse", entries=every, pattern=True),
        # 28 fits of a minute each for one tuned cell: not affordable here.
        Case(shipped, "MovieLens 1M", "ml-1m", "rmse", entries=untuned, pattern=True),
        Case(honest, "Flixster", "flixster", "rmse", {"graphs": "training"}, entries=every,
             twin=shipped, pattern=True),
    ]  # fmt: skip
    return Experiment(
        "recommendation",
        "Recommendation: RMSE on test ratings",
        "Ratings are not clipped. Flixster, Douban and MovieLens 100K have one published split "
        "each, so the spread is that of the method's seed; MovieLens 1M is split anew (90/10) "
        "for each seed. Our BMCG also takes the observation pattern as features of both sides, "
        "which no other row does; the row of the paper's factorisation has the graphs alone.",
        tuple(cases),
    )


def genotype(quick: bool) -> Experiment:
    """Table 2."""
    complete = "Row graph: 10 nearest neighbours in the complete matrix (the paper's)"
    observed = "Row graph: 10 nearest neighbours by the observed entries alone"
    cases = [
        Case(group, f"{100 * share:.0f} %", "chr22", "error_rate",
             {"observed": share, "graph": graph}, x=share, entries=all_entries(),
             twin=complete if graph == "observed" else None)
        for group, graph in ((complete, "complete"), (observed, "observed"))
        for share in (0.1, 0.2, 0.5)
    ]  # fmt: skip
    return Experiment(
        "genotype",
        "Genotypes: error rate on the unobserved entries of Chr22",
        "A graph of the complete matrix knows the answer; it is shown because the paper uses it. "
        "Each seed draws its own mask.",
        tuple(cases),
    )


CLASSIC = ("house", "peppers", "baboon", "barbara", "bridge", "facade", "airplane")
# Which Berkeley images the paper calls church and wall is not known; these are candidates.
CANDIDATES = {"church_a": "church", "church_b": "church", "wall_a": "wall", "wall_b": "wall"}


def inpainting(quick: bool) -> Experiment:
    """Table 3 and Figure 6."""
    images = {**{name: name for name in CLASSIC}, **CANDIDATES}
    shown = ["house"] if quick else list(images)
    cases = [
        Case("10 % of the pixels, noise at 5 dB", name, "image", "psnr", {"name": name},
             published=images[name], picture=name in ("house", "peppers", "barbara", "airplane"),
             entries=all_entries(tuned=name in ("house", "peppers", "barbara")))
        for name in shown
    ]  # fmt: skip
    return Experiment(
        "inpainting",
        "Inpainting: PSNR of the completed 256 × 256 image",
        "The whole image is scored, observed pixels included, against the image without noise, "
        "peak 255. Each seed draws its own pixels and noise. The paper does not say which "
        "Berkeley images it calls church and wall: the candidates stand beside its figures, "
        "but are not known to be the same images.",
        tuple(cases),
    )


def synthetic(quick: bool) -> Experiment:
    """The three curves of Figure 5."""
    size = (24, 20) if quick else (500, 500)
    ranks = (2, 4) if quick else (5, 10, 20, 30)
    shares = (0.2, 0.4) if quick else (0.05, 0.1, 0.2, 0.4)
    noisy = "20 % observed, SNR 10 dB"
    cases = [
        Case(f"{title}, {noisy}", f"rank {rank}", source, "rmse",
             {"rank": rank, "shape": list(size)}, x=rank, entries=all_entries())
        for title, source in (("Independent factors", "random-low-rank"),
                              ("Factors smooth along chains", "graph-low-rank"))
        for rank in ranks
    ]  # fmt: skip
    cases += [
        Case("Netflix-like ratings", f"{100 * share:.0f} %", "netflix-like", "rmse",
             {"observed": share, "shape": [20, 24] if quick else [100, 200]}, x=share,
             entries=all_entries())
        for share in shares
    ]  # fmt: skip
    if not quick:
        cases.append(Case("Monti's synthetic Netflix, published split", "Monti's set",
                          "monti-netflix", "rmse", entries=all_entries()))  # fmt: skip
    return Experiment(
        "synthetic",
        "Synthetic data: RMSE on the unobserved entries, noise-free",
        "The paper prints these results as curves without numbers, so there is no figure of its "
        "to stand beside ours. Each seed draws everything anew.",
        tuple(cases),
    )


def sensitivity(quick: bool) -> Experiment:
    """The figure of the introduction."""
    weights = (0.1, 1.0) if quick else (0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 10.0)
    graphs, kernel = "MovieLens 100K: weight of the graphs", "MovieLens 100K: kernel parameter"
    image = "House, 10 % of the pixels, noise at 5 dB: weight of the graphs"
    cases = [
        Case(group, f"{x:g}", "ml-100k", "rmse", x=x,
             entries=tuple(Entry(m, m, {"rank": 10, name: x}) for m in methods))
        for group, methods, name in ((graphs, ("GRALS", "GPMF"), "graph_weight"),
                                     (kernel, ("KPMF",), "kernel_weight"))
        for x in weights
    ]  # fmt: skip
    cases += [
        Case(image, f"{x:g}", "image", "psnr", {"name": "house"}, x=x, picture=True,
             entries=(Entry("GRALS", "GRALS", {"rank": 10, "graph_weight": x}),))
        for x in (0.05, 0.1, 0.5)
    ]  # fmt: skip
    cases += [
        Case(graphs, "nothing to set", "ml-100k", "rmse", entries=bmcg_entries()),
        Case(kernel, "nothing to set", "ml-100k", "rmse", entries=bmcg_entries()),
        Case(image, "nothing to set", "image", "psnr", {"name": "house"}, picture=True,
             entries=bmcg_entries()),
    ]  # fmt: skip
    return Experiment(
        "sensitivity",
        "Sensitivity to hyperparameters",
        "All other parameters stay at the paper's setting. BMCG has nothing to set: one figure.",
        tuple(cases),
    )


def cross_mask(quick: bool) -> Experiment:
    """The second figure of the introduction: whole strips of an image missing."""
    names = ("house",) if quick else ("house", "peppers", "facade", "airplane")
    cases = [
        Case("Strips of 4 rows and 4 columns missing, every 32, no noise", name, "cross-image",
             "psnr", {"name": name}, picture=name in ("house", "facade"),
             entries=all_entries(tuned=False))
        for name in names
    ]  # fmt: skip
    return Experiment(
        "cross-mask",
        "Cross-mask: PSNR of images with whole rows and columns missing",
        "A row or column without a single pixel can be filled by its neighbours in the graph "
        "alone: methods without graphs, or with a row graph only, leave strips. The image is "
        "complete elsewhere, so the observed pixels weigh on the figure.",
        tuple(cases),
    )


EXPERIMENTS = {
    "recommendation": recommendation,
    "genotype": genotype,
    "inpainting": inpainting,
    "synthetic": synthetic,
    "sensitivity": sensitivity,
    "cross-mask": cross_mask,
}
# The prior figures are drawn from formulas: no data, no methods.
NAMES = (*EXPERIMENTS, "priors")
