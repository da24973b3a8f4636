"""How often filled genotypes of a given probability are right, by allele frequency.

    BMCG_DATA=data python benchmarks/genotype_calibration.py

Hides one call in ten, fills them as `bmcg impute` does, and writes
docs/results/genotype-calibration.md with its picture. Simulated cohorts are drawn on the spot;
chromosome 22 (HapMap haplotypes, paired) and mice need BMCG_DATA, and are left out without it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bmcg.imputing.genotype_fill import fill_genotypes
from bmcg.imputing.genotypes import Genotypes
from reporting import ROOT, machine, table, write_page

Array = NDArray[np.float64]
PAGE = ROOT / "docs" / "results" / "genotype-calibration.md"
HIDDEN = 0.1
LEVEL = 0.9
MICE = (300, 500)
RARE, LOW = 0.05, 0.2
BINS = np.linspace(0.0, 1.0, 11)
HEAD = """# Genotype calibration

One call in ten is hidden and filled as `bmcg impute` does. A genotype that gets probability 0.9
should be right nine times in ten; log-loss is that of the hidden genotypes, in nats a call, beside
that of the Hardy–Weinberg frequencies of the site (of the observed calls). Bands are of whole
copies, the shortest that hold 90 % or more, so they hold more where one genotype is near certain.
"""


class Cohort(NamedTuple):
    """Genotypes, and haplotypes where they are known, (m, n) and (m, 2n)."""

    name: str
    copies: NDArray[np.int64]
    haplotypes: NDArray[np.int64] | None


def simulated(m: int = 300, n: int = 150, founders: int = 16, switch: float = 0.02) -> Cohort:
    """Mosaics of founders with new alleles of all frequencies."""
    rng = np.random.default_rng(0)
    origin = rng.random((m, founders)) < np.clip(rng.beta(0.5, 1.0, (m, 1)), 0.02, 0.98)
    starts = rng.random((m, 2 * n)) < switch
    starts[0] = True
    last = np.maximum.accumulate(np.where(starts, np.arange(m)[:, None], 0), axis=0)
    source = np.take_along_axis(rng.integers(0, founders, (m, 2 * n)), last, axis=0)
    return paired("simulated", np.take_along_axis(origin, source, axis=1).astype(np.int64))


def paired(name: str, H: NDArray[np.int64]) -> Cohort:
    """People of two haplotypes each."""
    return Cohort(name, H[:, ::2] + H[:, 1::2], H)


def cohorts() -> Iterator[Cohort]:
    """Those that can be had."""
    yield simulated()
    folder = os.environ.get("BMCG_DATA")
    if folder is None:
        print("BMCG_DATA is not set: simulated cohorts alone")
        return
    from bmcg.datasets import load_chr22

    data = load_chr22(observed=0.5)
    X = np.zeros(data.observations.shape, dtype=np.int64)
    X[data.observations.row_indices, data.observations.col_indices] = data.observations.values
    X[data.test_rows, data.test_cols] = data.test_values
    yield paired("chromosome 22", X)
    with np.load(Path(folder) / "field" / "mice" / "mice.npz") as archive:
        mice = archive["X"].T.astype(np.int64)
    chosen = np.random.default_rng(0).permutation(mice.shape[1])[: MICE[1]]
    yield Cohort("mice", mice[: MICE[0], chosen], None)


class Outcome(NamedTuple):
    """Hidden calls: probabilities (n, 3), truth, minor allele frequency, Hardy–Weinberg, bands."""

    chances: Array
    truth: NDArray[np.int64]
    minor: Array
    expected: Array
    held: NDArray[np.bool_]


def fill(cohort: Cohort, phased: bool) -> Outcome:
    """Hide calls and fill them."""
    X, H = cohort.copies, cohort.haplotypes
    gone = np.random.default_rng(5).random(X.shape) < HIDDEN
    sides: list[Any] = [None, None]
    if phased:
        assert H is not None
        sides = [np.where(gone, -1, part).astype(np.int8) for part in (H[:, ::2], H[:, 1::2])]
    split = np.full(X.shape[1], phased)
    ploidy = np.full(X.shape, 2, dtype=np.uint8)
    seen = np.where(gone, np.nan, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, _ = fill_genotypes(
            Genotypes(seen, ploidy, *sides, split), random_state=0, max_sweeps=500
        )
    p = (np.nansum(seen, axis=1) + 0.5) / (2 * (~gone).sum(axis=1) + 1)
    q = p[found.rows]
    truth = X[found.rows, found.cols]
    low, high = found.interval(LEVEL)
    expected = np.column_stack(((1 - q) ** 2, 2 * q * (1 - q), q**2))
    held = (low <= truth) & (truth <= high)
    return Outcome(found.chances, truth, np.minimum(q, 1 - q), expected, held)


def rows(name: str, kind: str, outcome: Outcome) -> Iterator[list[str]]:
    """Lines of the table, one for each range of frequencies."""
    ranges = (("under 5 %", 0.0, RARE), ("5 to 20 %", RARE, LOW), ("over 20 %", LOW, 0.51),
              ("all", 0.0, 0.51))  # fmt: skip
    for words, low, high in ranges:
        at = np.flatnonzero((outcome.minor >= low) & (outcome.minor < high))
        if len(at) == 0:
            continue
        P, truth = outcome.chances[at], outcome.truth[at]
        given, each = P[np.arange(len(at)), truth], np.arange(len(at))
        right = np.argmax(P, axis=1) == truth
        both = right[truth == 1].mean() if (truth == 1).any() else np.nan
        yield [
            name, kind, words, f"{len(at):,}", f"{100 * right.mean():.1f}", f"{100 * both:.1f}",
            f"{100 * P.max(axis=1).mean():.1f}", f"{-np.log(given).mean():.3f}",
            f"{-np.log(outcome.expected[at][each, truth]).mean():.3f}",
            f"{100 * (given < 1e-3).mean():.2f}", f"{100 * outcome.held[at].mean():.1f}",
        ]  # fmt: skip


def draw(outcomes: dict[str, Outcome], path: Path) -> None:
    """Frequency of the truth against the probability it was given, by allele frequency."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(outcomes), figsize=(3.2 * len(outcomes), 3.4), sharey=True)
    for axis, (name, outcome) in zip(np.atleast_1d(axes), outcomes.items(), strict=True):
        axis.plot([0, 1], [0, 1], color="0.7", linewidth=1)
        for words, low, high in (("minor allele under 20 %", 0, LOW), ("over 20 %", LOW, 0.51)):
            at = (outcome.minor >= low) & (outcome.minor < high)
            given = outcome.chances[at].ravel()
            true = (outcome.truth[at][:, None] == np.arange(3)).ravel()
            part = np.minimum(np.digitize(given, BINS) - 1, len(BINS) - 2)
            count = np.bincount(part, minlength=len(BINS) - 1)
            enough = count >= 20
            x, y = (
                np.bincount(part, what, minlength=len(count))[enough] / count[enough]
                for what in (given, true)
            )
            axis.plot(x, y, "o-", markersize=4, label=words)
        axis.set(title=name, xlabel="probability given", aspect="equal")
    np.atleast_1d(axes)[0].set_ylabel("how often it was so")
    np.atleast_1d(axes)[0].legend(fontsize=8, frameon=False)
    figure.tight_layout()
    figure.savefig(path, dpi=110, bbox_inches="tight")


def main() -> None:
    """Fill all cohorts and write the page."""
    lines: list[list[str]] = []
    outcomes: dict[str, Outcome] = {}
    for cohort in cohorts():
        kinds = {"genotypes": False} | (
            {"haplotypes": True} if cohort.haplotypes is not None else {}
        )
        for kind, phased in kinds.items():
            outcome = outcomes[f"{cohort.name}, {kind}"] = fill(cohort, phased)
            lines += rows(cohort.name, kind, outcome)
            print(lines[-1], flush=True)
    draw(outcomes, PAGE.with_suffix(".png"))
    header = ["cohort", "filled as", "minor allele", "calls", "right, %", "heterozygotes right, %",
              "mean largest GP, %", "log-loss", "Hardy–Weinberg", "truth under 0.001, %",
              "90 % bands hold, %"]  # fmt: skip
    made = f"Made by `python benchmarks/genotype_calibration.py`; {machine()}.\n"
    picture = "![How often genotypes are right](genotype-calibration.png)\n"
    write_page(PAGE, "\n".join([HEAD, table(header, lines), "", picture, made]))


if __name__ == "__main__":
    main()
