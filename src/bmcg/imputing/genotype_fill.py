"""Missing calls filled: the fit, and probabilities of the genotypes of what was missing."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..base import MEMORY_LIMIT
from ..estimators import BMCG
from ..observations import Observations
from ..observations.labels import Labels
from .genotypes import Array, Bools, FilledGenotypes, Genotypes
from .haplotypes import BOTH, Columns
from .left_out import LeftOut
from .linkage import Along, Copied, fill_along, is_possible
from .linkage_judge import COPIED, FITTED, Powers, is_small, judge

# Arrays of the size of the factors that a fit holds at its peak.
HELD_ARRAYS = 8


def fill_genotypes(
    genotypes: Genotypes,
    row_graph: Any = None,
    col_graph: Any = None,
    *,
    names: tuple[NDArray[Any] | None, NDArray[Any] | None] = (None, None),
    along: Along | None = None,
    linkage: bool | Literal["auto"] = "auto",
    **parameters: Any,
) -> tuple[FilledGenotypes, BMCG | Copied | None]:
    """Fill the missing calls.

    Sites without any call stay missing, unless a panel knows them: nothing is known of them. So
    do samples without any, unless a graph of the samples tells of them.

    Parameters
    ----------
    genotypes : Genotypes
    row_graph, col_graph : sparse matrix, optional
        Which sites, and which samples, are alike, shapes (m, m) and (n, n).
    names : (ndarray or None, ndarray or None)
        Of the sites and the samples, for the model to know its rows and columns by.
    along : Along, optional
        Where the sites lie, and a reference panel.
    linkage : bool or "auto"
        Whether calls are copied from haplotypes that are alike nearby, instead of one low-rank
        matrix of all sites. "auto": where calls that were left out of a stretch say so, and
        there is neither a graph nor a panel; with a panel, always.
    **parameters
        Of `BMCG`; `rank` is as large as the matrix and a share of the memory permit by default.

    Returns
    -------
    filled : FilledGenotypes
    model : BMCG, Copied or None
        Of allele shares at the sites and columns that have calls, or what was learned about
        copying; None where nothing can be filled.
    """
    graphs_given = row_graph is not None or col_graph is not None
    check_linkage(genotypes, along, linkage, graphs_given)
    columns = Columns.of(genotypes)
    rows = np.asarray(np.isfinite(columns.values).any(axis=1))
    if along is not None and along.panel is not None:
        rows = rows | (along.panel >= 0).any(axis=1)
    seen = np.asarray(np.isfinite(genotypes.copies).any(axis=0)) | (col_graph is not None)
    cols = seen[columns.sample]
    wanted = genotypes.missing
    _say_left(wanted, rows, seen)
    wanted = wanted & rows[:, None] & seen
    if not wanted.any():
        return FilledGenotypes.nothing(genotypes.copies.shape), None
    powers = _powers(genotypes, along, linkage, graphs_given, parameters)
    if along is not None and powers.copied:
        given = {key: parameters[key] for key in ("n_jobs", "random_state") if key in parameters}
        copied, how = fill_along(genotypes, along, wanted, **given)
        if not powers.fitted:
            return copied, how
        fitted = _by_low_rank(genotypes, parameters, _posterior(genotypes, parameters))
        return powers.pool(copied, fitted), replace(how, pooled=str(powers))
    graphs = (
        None if row_graph is None else sp.csr_array(row_graph)[rows][:, rows],
        columns.graph(col_graph),
    )
    parameters["posterior"] = _posterior(genotypes, parameters)
    model = _fit_shares(columns, rows, cols, names, graphs, parameters)
    left = LeftOut.of(model, genotypes, columns, np.flatnonzero(rows), np.flatnonzero(cols))
    return _filled(left, wanted), model


def _fit_shares(
    columns: Columns,
    rows: Bools,
    cols: Bools,
    names: tuple[NDArray[Any] | None, NDArray[Any] | None],
    graphs: tuple[Any, Any],
    parameters: dict[str, Any],
) -> BMCG:
    """One low-rank matrix of the allele shares at the sites and columns that have calls."""
    values = columns.values[np.ix_(rows, cols)]
    if parameters.get("rank") is None:
        parameters["rank"] = largest_rank(values.shape, parameters["posterior"])
    observations = replace(
        Observations.from_any(values),
        row_labels=None if names[0] is None else Labels(names[0][rows], "row"),
        col_labels=None if names[1] is None else Labels(columns.names(names[1])[cols], "column"),
    )
    return BMCG(**{"learn_graphs": False, **parameters}).fit(observations, *graphs)


def check_linkage(
    genotypes: Genotypes, along: Along | None, linkage: bool | Literal["auto"], graphs: bool
) -> None:
    """Refuse what cannot be copied, or not together."""
    panel = along is not None and along.panel is not None
    if linkage is False and panel:
        raise ValueError("a panel is copied from: leave linkage on, or the panel out")
    if linkage is not True and not panel:
        return
    if along is None:
        raise ValueError("linkage=True needs positions: pass along")
    if graphs:
        raise ValueError("linkage has no use for graphs of sites or samples: give one of them")
    if not is_possible(genotypes, along):
        raise ValueError(
            "linkage is for at least two sites, three samples, and calls of one or two chromosomes"
        )


def _powers(
    genotypes: Genotypes,
    along: Along | None,
    linkage: bool | Literal["auto"],
    graphs: bool,
    parameters: dict[str, Any],
) -> Powers:
    """How far copies are heard, and how far one low-rank matrix."""
    if along is None or linkage is False:
        return FITTED
    if linkage is True or along.panel is not None:
        return COPIED
    if graphs or not is_possible(genotypes, along):
        return FITTED

    def low_rank(part: Genotypes) -> FilledGenotypes:
        return _by_low_rank(part, parameters, posterior)

    posterior = _posterior(genotypes, parameters)
    return judge(genotypes, along, low_rank, parameters.get("n_jobs"))


def _posterior(genotypes: Genotypes, parameters: dict[str, Any]) -> str:
    """As asked; by itself draws, and for large files a variational fit.

    Their ranks are hundreds, at which draws of so many sites take too long to be tried.
    """
    asked: str = parameters.get("posterior", "auto")
    return asked if asked != "auto" else "sampled" if is_small(genotypes) else "variational"


def _by_low_rank(
    genotypes: Genotypes, parameters: dict[str, Any], posterior: str
) -> FilledGenotypes:
    """Filled by one low-rank matrix alone."""
    kept = {k: v for k, v in parameters.items() if k not in ("checkpoint", "resume")}
    with warnings.catch_warnings():
        # What can be said of the calls has been said, and this is not the only fit.
        warnings.simplefilter("ignore")
        return fill_genotypes(genotypes, linkage=False, **{**kept, "posterior": posterior})[0]


def largest_rank(shape: tuple[int, int], posterior: str) -> int:
    """Most components a fit may use: min(m, n), and a quarter of the memory limit."""
    m, n = shape
    numbers = MEMORY_LIMIT / 4 / 8 / HELD_ARRAYS / (m + n)
    k = numbers if posterior in ("variational", "column") else np.sqrt(2.0 * numbers)
    return int(max(1, min(m, n, k)))


def _say_left(wanted: Bools, rows: Bools, seen: Bools) -> None:
    sites = int((wanted.any(axis=1) & ~rows).sum())
    if sites:
        warnings.warn(
            f"{sites} site{'s have' if sites > 1 else ' has'} no call at all: nothing is known of "
            "such a site, its calls stay missing",
            stacklevel=3,
        )
    samples = int((wanted.any(axis=0) & ~seen).sum())
    if samples:
        warnings.warn(
            f"{samples} sample{'s have' if samples > 1 else ' has'} no call at all: such calls "
            "stay missing (a graph of the samples, --col-graph, would tell of them)",
            stacklevel=3,
        )


def _filled(left: LeftOut, wanted: Bools) -> FilledGenotypes:
    """The wanted calls with their probabilities."""
    genotypes, columns = left.genotypes, left.columns
    m, n = genotypes.copies.shape
    I, J = np.nonzero(wanted)
    ploidy = genotypes.ploidy[I, J]
    site = np.full(m, -1)
    site[left.rows] = np.arange(len(left.rows))
    chances = np.zeros((len(I), max(2, int(ploidy.max())) + 1))
    on_first = np.zeros(len(I), dtype=bool)
    place = _places(columns, left.cols, n)
    phased = genotypes.split[J]
    whole = np.flatnonzero(~phased)
    i, j = site[I[whole]], place[0, J[whole]]
    for at, k in left.by_kind(i, j):
        chances[whole[at], : k + 1] = left.chances(i[at], j[at], k)
    pairs = np.flatnonzero(phased)
    if len(pairs):
        p, q = (left.chances(site[I[pairs]], place[which, J[pairs]], 1)[:, 1] for which in (0, 1))
        two = ploidy[pairs] == 2
        chances[pairs[two], :3] = _of_pairs(p[two], q[two])
        chances[pairs[~two], :2] = np.column_stack((1.0 - p[~two], p[~two]))
        on_first[pairs] = p >= q
    copies = np.arange(chances.shape[1])
    mean = chances @ copies
    std = np.sqrt(np.maximum(chances @ copies**2 - mean**2, 0.0))
    return FilledGenotypes(
        (m, n), I, J, mean, std, chances, ploidy, phased, on_first, left.accuracy()
    )


def _of_pairs(p: Array, q: Array) -> Array:
    """Copies of two haplotypes that carry the allele with probabilities p and q."""
    return np.column_stack(((1 - p) * (1 - q), p * (1 - q) + (1 - p) * q, p * q))


def _places(columns: Columns, cols: NDArray[np.intp], n: int) -> NDArray[np.intp]:
    """Columns of the fit that hold each sample's first and second haplotype, (2, n)."""
    place = np.zeros((2, n), dtype=np.intp)
    for which in (0, 1):
        at = np.flatnonzero((columns.copy[cols] == which) | (columns.copy[cols] == BOTH))
        place[which, columns.sample[cols[at]]] = at
    return place
