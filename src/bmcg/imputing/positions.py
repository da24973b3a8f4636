"""Where sites lie: base pairs, centimorgans by a genetic map, and a panel of the same sites."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .genotypes import Array
from .linkage import Along
from .vcf_lines import plain_lines
from .vcf_reading import VcfReader

# Centimorgans a million base pairs where no map tells.
RATE = 1.0
# Centimorgans a base pair that put sites in order where a map has them at one place.
TIE = 1e-13
_MAP_FIELDS = 4


class Place(NamedTuple):
    """Of a site; `cm` is None where the file does not tell."""

    chromosome: str
    bp: int
    reference: str
    alternative: str
    cm: float | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Chromosome, with or without chr before it, and position."""
        return bare(self.chromosome), self.bp


class PanelMatch(NamedTuple):
    """Haplotypes of a panel at the sites of a cohort, (m, p), and what a person should know."""

    alleles: NDArray[np.int8]
    notes: list[str]


def bare(chromosome: str) -> str:
    """A chromosome's name without chr."""
    return chromosome[3:] if chromosome.lower().startswith("chr") else chromosome


def along(
    places: list[Place], map_path: Path | None = None, panel: PanelMatch | None = None
) -> Along:
    """Genetic positions: by the map, by the file itself, else 1 cM a million base pairs."""
    bp = np.array([place.bp for place in places])
    cm = bp * RATE * 1e-6
    own = np.array([np.nan if place.cm is None else place.cm for place in places])
    names = np.array([place.chromosome for place in places], dtype=object)
    genetic = read_map(map_path) if map_path is not None else {}
    for name in dict.fromkeys(names.tolist()):
        at = names == name
        if map_path is not None:
            if bare(name) not in genetic:
                raise ValueError(f"{map_path}: chromosome {name!r} of the genotypes is not there")
            cm[at] = _interpolated(bp[at], *genetic[bare(name)]) + TIE * bp[at]
        elif np.isfinite(own[at]).all() and np.ptp(own[at]) > 0:
            cm[at] = own[at] + TIE * bp[at]
    return Along(names, cm, None if panel is None else panel.alleles)


def read_map(path: Path) -> dict[str, tuple[Array, Array]]:
    """Base pairs and centimorgans of each chromosome, in order.

    PLINK's four columns without a header (chromosome, name, centimorgans, base pairs), or a
    header with names such as Chromosome, Position(bp), Rate(cM/Mb) and Map(cM).
    """
    texts = (line.decode("utf-8", "replace") for line in plain_lines(path))
    lines = [line.split() for line in texts if line.strip()]
    if not lines:
        raise ValueError(f"{path} is empty: a genetic map has a line for each of its positions")
    at, start = _columns(path, lines[0])
    found: dict[str, list[tuple[float, float]]] = {}
    for number, line in enumerate(lines[start:], start=start + 1):
        place = [_number(line[i]) if i < len(line) else np.nan for i in at[1:]]
        if not np.isfinite(place).all() or at[0] >= len(line):
            raise ValueError(
                f"{path}: line {number} ({' '.join(line[:6])[:80]}) has no position in base pairs "
                "and centimorgans"
            )
        found.setdefault(bare(line[at[0]]), []).append((place[0], place[1]))
    out = {}
    for name, pairs in found.items():
        bp_, cm_ = np.array(sorted(pairs)).T
        if (np.diff(cm_) < 0).any():
            where = int(bp_[1:][np.diff(cm_) < 0][0])
            raise ValueError(f"{path}: centimorgans of chromosome {name} fall at {where}")
        if bp_[0] < bp_[-1] and cm_[0] == cm_[-1]:
            raise ValueError(
                f"{path}: all centimorgans of chromosome {name} are {cm_[0]:g}, as programs write "
                "them that do not know; pass a map that does, or none"
            )
        out[name] = (bp_, cm_)
    return out


def _columns(path: Path, first: list[str]) -> tuple[tuple[int, int, int], int]:
    """Where chromosome, base pairs and centimorgans stand, and the first line with them."""
    words = [word.lower() for word in first]
    named = [
        next((i for i, word in enumerate(words) if any(part in word for part in parts)), -1)
        for parts in (("chr",), ("position", "pos", "bp"), ("map(cm", "genetic", "cm)"))
    ]
    rates = [i for i, word in enumerate(words) if "cm/mb" in word]
    if named[2] in rates:
        named[2] = next((i for i, word in enumerate(words) if "cm" in word and i not in rates), -1)
    if all(i >= 0 for i in named) and np.isnan([_number(word) for word in first]).all():
        return (named[0], named[1], named[2]), 1
    if len(first) == _MAP_FIELDS and not np.isnan([_number(word) for word in first[2:]]).any():
        return (0, 3, 2), 0
    raise ValueError(
        f"{path} is not a genetic map: expected PLINK's columns (chromosome, name, centimorgans, "
        "base pairs) or a header with Chromosome, Position(bp) and Map(cM)"
    )


def _number(word: str) -> float:
    """NaN where a word is no number."""
    try:
        return float(word)
    except ValueError:
        return np.nan


def _interpolated(at: NDArray[np.int64], bp: Array, cm: Array) -> Array:
    """Between positions of the map in a line, beyond its ends at 1 cM a million base pairs."""
    inside = np.interp(at, bp, cm)
    beyond = np.minimum(at - bp[0], 0.0) + np.maximum(at - bp[-1], 0.0)
    return np.asarray(inside + RATE * 1e-6 * beyond)


def read_panel(path: Path, places: list[Place], samples: list[str]) -> PanelMatch:
    """Haplotypes of a phased VCF at the same positions with the same alleles.

    Parameters
    ----------
    path : Path
    places : list of Place
        Of the cohort.
    samples : list of str
        Of the cohort; one that the panel has too is left out of the panel.
    """
    reader = VcfReader(path, "keep")
    reader.read()
    genotypes, _, _ = reader.genotypes()
    assert reader.samples is not None
    known = set(samples)
    new = np.array([name not in known for name in reader.samples])
    usable = genotypes.split & new
    if not usable.any() or genotypes.first is None or genotypes.second is None:
        raise ValueError(
            f"{path}: no sample is phased (0|1) and other than the cohort's; a panel is haplotypes"
        )
    sides = (genotypes.first[:, usable], genotypes.second[:, usable])
    alleles = np.stack(sides, axis=2).reshape(len(sides[0]), -1)
    nowhere = next((site.name for site in reader.sites if site.bp is None), None)
    if nowhere is not None:
        raise ValueError(f"{path}: {nowhere[:80]} has no position that is a whole number")
    rows = {(bare(s.chromosome), s.bp, *s.alleles): i for i, s in enumerate(reader.sites)}
    there = {key[:2] for key in rows}
    found = np.full((len(places), alleles.shape[1]), -1, dtype=np.int8)
    swapped = other = matched = 0
    for i, place in enumerate(places):
        row = rows.get((*place.key, place.reference, place.alternative))
        if row is not None:
            found[i], matched = alleles[row], matched + 1
        elif (*place.key, place.alternative, place.reference) in rows:
            swapped += 1
        else:
            other += place.key in there
    if not matched:
        raise ValueError(
            f"{path}: no site of the cohort is there with the same position and alleles"
            + (f"; {swapped} have REF and ALT exchanged (bcftools +fixref)" if swapped else "")
        )
    notes = [f"panel: {alleles.shape[1]} haplotypes, {matched} of {len(places)} sites"]
    counts = (
        (swapped, "sites have REF and ALT exchanged in the panel and are not taken from it"),
        (other, "sites have other alleles in the panel and are not taken from it"),
        (int((~new).sum()), "samples of the panel are in the cohort too, and left out of it"),
        (int((~genotypes.split & new).sum()), "samples of the panel are not phased and left out"),
    )
    return PanelMatch(found, notes + [f"panel: {n} {words}" for n, words in counts if n])
