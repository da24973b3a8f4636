"""One cell of the comparison: a share of calls gone, with or without phase, a program."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .environment import Panel, beagle, simulated, timed
from .files import read_chances, write_vcf

# Ranges of the minor allele's frequency.
RANGES = (("1 to 5 %", 0.0, 0.05), ("5 to 20 %", 0.05, 0.2), ("over 20 %", 0.2, 0.51))


class Setting(NamedTuple):
    """What is filled."""

    n_sites: int
    n_haplotypes: int
    gone: float
    phased: bool

    @property
    def name(self) -> str:
        """Of the setting in the store."""
        kind = "phased" if self.phased else "unphased"
        return f"{self.n_sites} x {self.n_haplotypes}, {self.gone:.0%} gone, {kind}"


def hidden(setting: Setting) -> np.ndarray:
    """Calls that are gone, (m, n): the same for every program."""
    shape = (setting.n_sites, setting.n_haplotypes // 2)
    return np.random.default_rng(5).random(shape) < setting.gone


def measure(setting: Setting, program: str, folder: Path) -> dict[str, Any]:
    """Hide, fill, compare."""
    panel, gone = simulated(setting.n_sites, setting.n_haplotypes, folder), hidden(setting)
    word = f"{setting.name}-{program}".replace(" ", "").replace(",", "-").replace("%", "")
    given, stem = folder / f"given-{word}.vcf", folder / f"made-{word}"
    write_vcf(given, panel, gone, setting.phased)
    if program == "Beagle 5.4":
        made, cost = beagle(given, stem)
    else:
        made = stem.with_name(stem.name + ".vcf.gz")
        bmcg = Path(sys.executable).with_name("bmcg")
        command = [str(bmcg), "impute", str(given), "-o", str(made)]
        cost = timed([*command, "--force", "--jobs", "1"])
    copies, chances = read_chances(made, gone)
    found = measures(panel, gone, copies, chances)
    for path in (given, made):
        path.unlink()
    return {**found, "seconds": cost.seconds, "cpu": cost.cpu}


def measures(
    panel: Panel, gone: np.ndarray, copies: np.ndarray, chances: np.ndarray | None
) -> dict[str, Any]:
    """Concordance, log-loss and r² of the hidden calls, by allele frequency."""
    truth = (panel.alleles[:, ::2] + panel.alleles[:, 1::2])[gone].astype(int)
    site = np.nonzero(gone)[0]
    share = panel.alleles.mean(axis=1)[site]
    minor = np.minimum(share, 1 - share)
    right = copies == truth
    if chances is None:
        # Calls without probabilities get those that suit them best in hindsight: as often wrong
        # as they are.
        wrong = np.clip(1 - right.mean(), 1e-9, 1)
        given = np.where(right, 1 - wrong, wrong / 2)
        dosage = copies.astype(float)
    else:
        # What was written as 0 is less than the last digit.
        P = np.maximum(chances, 1e-4)
        given = (P / P.sum(axis=1, keepdims=True))[np.arange(len(truth)), truth]
        dosage = chances @ np.arange(3)
    found: dict[str, Any] = {"calls": len(truth), "gp": chances is not None, "ranges": {}}
    for name, low, high in (("all", 0.0, 0.51), *RANGES):
        at = (minor >= low) & (minor < high)
        found["ranges"][name] = {
            "concordance": float(right[at].mean()),
            "log_loss": float(-np.log(given[at]).mean()),
            "r2": _r2(dosage[at], truth[at], site[at]),
        }
    return found


def _r2(dosage: np.ndarray, truth: np.ndarray, site: np.ndarray) -> float:
    """Mean over sites of the squared correlation of dosages with the truth."""
    m = int(site.max()) + 1
    count = np.bincount(site, minlength=m)
    x, y = (
        part - (np.bincount(site, part, m) / np.maximum(count, 1))[site] for part in (dosage, truth)
    )
    xy, xx, yy = (np.bincount(site, part, m) for part in (x * y, x * x, y * y))
    usable = (count > 1) & (yy > 0)
    found = np.where(xx[usable] > 0, xy[usable] ** 2 / np.maximum(xx * yy, 1e-12)[usable], 0.0)
    return float(found.mean())
