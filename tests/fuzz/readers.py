"""Every reader with files to attack it by, and what an answer of it must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from bmcg import load_model
from bmcg.cli.exposure import read_exposure
from bmcg.cli.features import read_features
from bmcg.cli.graphs import read_graph
from bmcg.cli.names import label_names
from bmcg.cli.reading import DataForm, read_observations
from bmcg.cli.tables import PLAIN, column_names, read_table, require_columns
from bmcg.cli.times import parse_times
from bmcg.files.checkpoints import Identity, read_checkpoint
from bmcg.graphs.adjacency import as_adjacency
from bmcg.imputing.annotated import AnnDataSource
from bmcg.imputing.columnar import ParquetSource
from bmcg.imputing.genotypes import FilledGenotypes
from bmcg.imputing.matrix import Filled
from bmcg.imputing.plink import PlinkSource
from bmcg.imputing.positions import Place, along, read_panel
from bmcg.imputing.tables import Layout, TextSource
from bmcg.imputing.vcf import VcfSource
from bmcg.inpainting.files import read_mask, read_picture
from bmcg.observations.labels import Labels

from . import inside, seeds
from .mutations import mutated
from .verdict import Finding, Outcome, contents, judged

PLACES = [Place("1", bp, "A", "C") for bp in (5, 10, 20, 40)]
NODES = Labels(np.array(["a", "b", "c"], dtype=object), "row", "item")


@dataclass(frozen=True)
class Reader:
    """A reader under attack.

    Attributes
    ----------
    suffix : str
        Of the file that is attacked.
    make : callable
        The whole files to start from.
    read : callable
        Reads a file and asserts what must hold of what was read.
    text : bool
    beside : dict of str to bytes
        Further files, by suffix.
    within : callable or None
        Changes what a packed file holds and packs it anew.
    """

    suffix: str
    make: Callable[[], tuple[bytes, ...]]
    read: Callable[[Path], Any]
    text: bool = True
    beside: tuple[tuple[str, bytes], ...] = ()
    within: Callable[[bytes, Random], bytes] | None = None

    @cached_property
    def seeds(self) -> tuple[bytes, ...]:
        """Made once a process."""
        return self.make()

    def attack(self, data: bytes, folder: Path) -> Outcome:
        """Read a file of these bytes, and look at what is left of the folder."""
        path = folder / f"file{self.suffix}"
        files = {path.name: data}
        files |= {path.with_suffix(suffix).name: more for suffix, more in self.beside}
        for name, content in files.items():
            (folder / name).write_bytes(content)
        with _unchanged(folder, files):
            return judged(lambda: self.read(path), named="file.")

    def drawn(self, r: Random) -> bytes:
        """A file to attack with."""
        whole = r.choice(self.seeds)
        if self.within is not None and r.random() < 0.5:
            return self.within(whole, r)
        return mutated(whole, r, self.text, self.seeds)


@contextmanager
def _unchanged(folder: Path, before: dict[str, bytes]) -> Iterator[None]:
    yield
    after = contents(folder)
    if after != before:
        changed = [name for name in before | after if before.get(name) != after.get(name)]
        raise Finding(f"files were changed or left: {changed}")


def _observed(found: Any) -> None:
    assert np.isfinite(found.values).all()
    assert len(found) > 0
    for labels, n in zip((found.row_labels, found.col_labels), found.shape, strict=True):
        assert labels is None or len(labels) == n


def _long(path: Path) -> None:
    _observed(read_observations(DataForm(path, "user", "item", "rating", duplicates="mean")))


def _wide(path: Path) -> None:
    _observed(read_observations(DataForm(path, "name", None, None, wide=True)))


def _edges(path: Path) -> None:
    graph = read_graph(path, "--row-graph", NODES)
    assert graph is not None
    A = as_adjacency(graph.adjacency(NODES, 3, True), 3, NODES, f"{path}: row_graph")
    assert A.shape == (3, 3)
    assert np.isfinite(A.data).all()
    assert (A.indices < 3).all()
    assert (A.indices >= 0).all()


def _features(path: Path) -> None:
    table, key = read_features(path, "--row-features", NODES, DataForm(path, "", "", "").dialect)
    assert key in table.column_names


def _exposure(path: Path) -> None:
    found = read_exposure(path, "row", NODES, PLAIN)
    assert all(isinstance(x, (int, float)) for x in found.values())


def _pairs(path: Path) -> None:
    """As `bmcg predict` reads them."""
    names = column_names(path, PLAIN)
    require_columns(path, names, {"--row": "user", "--col": "item"})
    table = read_table(path, tuple(names), dialect=PLAIN)
    for name in ("user", "item"):
        assert len(label_names(table, name, path).like(NODES).values) == len(table)


def _map(path: Path) -> None:
    centimorgans = along(PLACES, path).centimorgans
    assert np.isfinite(centimorgans).all()
    assert (np.diff(centimorgans) >= 0).all()


def _panel(path: Path) -> None:
    alleles = read_panel(path, PLACES, ["s1"]).alleles
    assert len(alleles) == len(PLACES)
    assert ((alleles >= -1) & (alleles <= 1)).all()


def _written_again(source: Any, path: Path) -> None:
    """A file whose holes stay as they are comes back as it was."""
    none = np.empty(0)
    at = np.empty(0, dtype=np.intp)
    out = path.with_name(f"out{path.suffix}")
    try:
        source.write(out, Filled(source.values.shape, at, at, none, none))
        if path.suffix == ".csv":
            assert out.read_bytes() == path.read_bytes()
        else:
            again = type(source).open(out, Layout("name"))
            np.testing.assert_array_equal(again.values, source.values)
    finally:
        out.unlink(missing_ok=True)


def _text(path: Path) -> None:
    source = TextSource.open(path, ",", Layout("name"))
    assert not np.isinf(source.values).any()
    if not path.name.endswith(".gz"):
        _written_again(source, path)


def _text_bare(path: Path) -> None:
    source = TextSource.open(path, ",", Layout())
    assert source.row_names is None
    _written_again(source, path)


def _columnar(path: Path) -> None:
    source = ParquetSource.open(path, Layout("name"))
    assert not np.isinf(source.values).any()
    _written_again(source, path)


def _vcf(path: Path) -> None:
    source = VcfSource.open(path, "keep")
    out = path.with_name("out.vcf")
    try:
        source.write(out, FilledGenotypes.nothing(source.values.shape))
        np.testing.assert_array_equal(VcfSource.open(out, "keep").values, source.values)
    finally:
        out.unlink(missing_ok=True)


def _plink(path: Path) -> None:
    source = PlinkSource.open(path.with_suffix(".bed"))
    assert source.values.shape == (len(source.sites), len(source.samples))


def _anndata(path: Path) -> None:
    source = AnnDataSource.open(path, None, "nan", "bmcg")
    assert source.values.ndim == 2


def _picture(path: Path) -> None:
    found = read_picture(path)
    assert found.values.min() >= 0
    assert found.values.max() <= found.top


def _mask(path: Path) -> None:
    assert read_mask(path, (5, 4)).shape == (5, 4)


def _times(path: Path) -> None:
    names = TextSource.open(path, ",", Layout("t")).row_names
    parse_times(names, f"of {path}")


def ask(model: Any) -> None:
    """Everything that a model is asked for gives an answer of the right size."""
    m, n = model.shape_
    rows = np.arange(m) if model.row_labels_ is None else model.row_labels_.values
    cols = np.arange(n) if model.col_labels_ is None else model.col_labels_.values
    assert len(model.predict(rows[:1].repeat(n), cols)) == n
    assert np.shape(model.complete()) == (m, n)
    if hasattr(model, "recommend"):
        model.recommend(rows[:2], 2)
        model.sample(rows[:2], cols[:2], 2, random_state=0)
        model.predict(rows[:1], cols[:1], return_std=True)


def _model(path: Path) -> None:
    ask(load_model(path))


def _checkpoint(path: Path) -> None:
    place, seed = read_checkpoint(path, identity())
    assert place.n_sweeps >= 0
    assert seed >= 0


def identity() -> Identity:
    """Of the fits whose checkpoints are attacked."""
    return Identity("data", "rows", "cols", {"posterior": "row"}, 3)


def checkpoints() -> tuple[bytes, ...]:
    """A checkpoint of a fit, and one of a chain."""
    from bmcg.files.checkpoints import Checkpoint

    return tuple(
        seeds.written(".ckpt", lambda path, place=place: Checkpoint(path, identity()).write(place))
        for place in seeds.places()
    )


READERS: dict[str, Reader] = {
    "long.csv": Reader(".csv", lambda: seeds.LONG, _long),
    "long.tsv": Reader(".tsv", lambda: tuple(x.replace(b",", b"\t") for x in seeds.LONG), _long),
    "long.csv.gz": Reader(
        ".csv.gz", lambda: seeds.compressed(seeds.LONG), _long, False, within=inside.gzipped
    ),
    "long.parquet": Reader(".parquet", seeds.long_parquet, _long, False),
    "wide.csv": Reader(".csv", lambda: seeds.WIDE, _wide),
    "wide.parquet": Reader(".parquet", seeds.wide_parquet, _wide, False),
    "impute.csv": Reader(".csv", lambda: seeds.WIDE, _text),
    "impute-unnamed.csv": Reader(".csv", lambda: seeds.WIDE, _text_bare),
    "impute.csv.gz": Reader(
        ".csv.gz", lambda: seeds.compressed(seeds.WIDE), _text, False, within=inside.gzipped
    ),
    "impute.parquet": Reader(".parquet", seeds.wide_parquet, _columnar, False),
    "vcf": Reader(".vcf", lambda: seeds.VCF, _vcf),
    "vcf.gz": Reader(".vcf.gz", lambda: seeds.bgzf(seeds.VCF), _vcf, False, within=inside.blocked),
    "bed": Reader(
        ".bed", lambda: (seeds.BED,), _plink, False, ((".bim", seeds.BIM), (".fam", seeds.FAM))
    ),
    "bim": Reader(
        ".bim", lambda: (seeds.BIM,), _plink, True, ((".bed", seeds.BED), (".fam", seeds.FAM))
    ),
    "fam": Reader(
        ".fam", lambda: (seeds.FAM,), _plink, True, ((".bed", seeds.BED), (".bim", seeds.BIM))
    ),
    "h5ad": Reader(".h5ad", seeds.anndata_files, _anndata, False, within=inside.annotated),
    "picture": Reader(".img", seeds.pictures, _picture, False),
    "mask": Reader(".img", seeds.masks, _mask, False),
    "edges.csv": Reader(".csv", lambda: seeds.EDGES, _edges),
    "graph.npz": Reader(".npz", seeds.matrices, _edges, False, within=inside.zipped),
    "edges.parquet": Reader(".parquet", seeds.edges_parquet, _edges, False),
    "graph.mtx": Reader(".mtx", seeds.market, _edges),
    "features.csv": Reader(".csv", lambda: seeds.FEATURES, _features),
    "features.parquet": Reader(".parquet", seeds.features_parquet, _features, False),
    "exposure.csv": Reader(".csv", lambda: seeds.EXPOSURES, _exposure),
    "pairs.csv": Reader(".csv", lambda: seeds.PAIRS, _pairs),
    "map": Reader(".map", lambda: seeds.MAPS, _map),
    "map.gz": Reader(
        ".map.gz", lambda: seeds.compressed(seeds.MAPS)[:-1], _map, False, within=inside.gzipped
    ),
    "panel.vcf": Reader(".vcf", lambda: seeds.PANELS, _panel),
    "times.csv": Reader(".csv", lambda: seeds.TIMES, _times),
    "model": Reader(".safetensors", seeds.models, _model, False),
    "checkpoint": Reader(".ckpt", checkpoints, _checkpoint, False),
}
