"""Small whole files of every format that is read: what attacks start from."""

from __future__ import annotations

import bz2
import gzip
import io
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import scipy.io
import scipy.sparse as sp

LONG = (
    b"user,item,rating\n1,a,3\n1,b,4.5\n2,a,1\n2,c,5\n3,b,2\n3,c,4\n",
    b'user,item,rating\n"u, 1",a,3\nu2,"b ""x""",-4.5e2\nu3,a,1\n',
    b"user,item,rating,note\r\n007,x,1,\r\n008,y,2,hm\r\n",
    b"\xef\xbb\xbfuser,item,rating\n\xc3\xa9,a,true\nf,b,false\n",
)
WIDE = (
    b"name,a,b,c\nx,1,,3\ny,4,5,\nz,NA,8,9\n",
    b'name,a,b\n"x",1,"2"\n\n"y, z",,4\nw,3,\n',
    b"name,kind,a\r\nx,u,1\r\ny,v,2\r\nz,w,\r\n",
    b"a,b,flag\n1,2,true\n3,,false\n,4,\n",
)
EDGES = (b"first,second,weight\na,b,1\nb,c,0.5\n", b"a,b\nb,c\nc,a\n", b"x,y,w\na,c,2\n")
FEATURES = (b"item,kind,age\na,red,3\nb,blue,4\nc,red,\n", b"item,n\nc,1\na,2\nb,3\n")
EXPOSURES = (b"item,hours\na,1.5\nb,2\nc,30\n", b"x,y\r\nc,1\r\na,2\r\nb,3\r\n")
PAIRS = (b"user,item,when\na,b,1\nb,c,2\n", b'item,user\n"a",1\nb,2.0\n')
MAPS = (
    b"1 rs1 0.1 5\n1 rs2 0.2 10\n2 rs3 0.5 30\n",
    b"Chromosome\tPosition(bp)\tRate(cM/Mb)\tMap(cM)\nchr1\t5\t1\t0.1\nchr1\t40\t1\t0.9\n",
)
VCF_HEAD = (
    b"##fileformat=VCFv4.2\n##contig=<ID=1>\n"
    b'##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">\n'
    b"#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ts1\ts2\ts3\n"
)
VCF = (
    VCF_HEAD
    + b"1\t10\trs1\tA\tC\t.\t.\t.\tGT\t0/1\t./.\t1/1\n"
    + b"1\t20\trs2\tG\tT\t.\t.\tAC=1\tGT\t0/0\t0/1\t.\n",
    VCF_HEAD
    + b"1\t10\t.\tA\tC\t9\tPASS\t.\tGT:DP\t0|1:3\t.|.:.\t1|1:9\n"
    + b"X\t5\t.\tG\tT\t.\t.\t.\tGT\t0\t1\t.\n",
)  # fmt: skip
PANELS = (
    VCF_HEAD
    + b"1\t10\t.\tA\tC\t.\t.\t.\tGT\t0|1\t1|1\t0|0\n"
    + b"chr1\t20\t.\tA\tC\t.\t.\t.\tGT\t.|.\t0|1\t1|0\n"
    + b"1\t40\t.\tC\tA\t.\t.\t.\tGT\t0|0\t0|1\t1|0\n",
)
TIMES = (b"t,a,b\n2024-01-01,1,2\n2024-01-02,,3\n2024-01-04T12:00,4,\n", b"t,a\n1,2\n2.5,\n4,3\n")
BIM = b"1 rs1 0 10 A C\n1 rs2 0 20 G T\n23 rs3 0 5 A G\n"
FAM = b"f s1 0 0 1 -9\nf s2 0 0 2 -9\nf s3 0 0 1 -9\n"
BED = b"\x6c\x1b\x01" + bytes([0b00_01_10_11 & 0x3F, 0b00_11_01_00, 0b00_10_11_01])


def written(suffix: str, write: Callable[[Path], Any]) -> bytes:
    """The bytes of a file that `write` makes."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"file{suffix}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            write(path)
        return path.read_bytes()


def parquet_bytes(table: pa.Table, **options: Any) -> bytes:
    """A table as Parquet."""
    out = io.BytesIO()
    parquet.write_table(table, out, **options)
    return out.getvalue()


def long_parquet() -> tuple[bytes, ...]:
    """Long tables."""
    plain = pa.table({"user": [1, 1, 2], "item": ["a", "b", "a"], "rating": [3.0, 4.5, 1.0]})
    odd = pa.table(
        {
            "user": pa.array(["x", "y", "x"]).dictionary_encode(),
            "item": pa.array([1.0, 2.0, 3.0]),
            "rating": pa.array([1, 0, None], pa.int8()),
        }
    )
    return parquet_bytes(plain), parquet_bytes(odd, compression="none")


def wide_parquet() -> tuple[bytes, ...]:
    """Wide tables."""
    table = pa.table(
        {"name": ["x", "y", "z"], "a": [1.0, None, 3.0], "b": pa.array([1, 2, None], pa.int16())}
    )
    return (parquet_bytes(table), parquet_bytes(table, compression="none", use_dictionary=False))


def edges_parquet() -> tuple[bytes, ...]:
    """Edge lists, with weights and without."""
    ends = {"first": ["a", "b"], "second": ["b", "c"]}
    plain = parquet_bytes(pa.table(ends), compression="none", use_dictionary=False)
    return parquet_bytes(pa.table({**ends, "weight": [1.0, 0.5]})), plain


def features_parquet() -> tuple[bytes, ...]:
    """Tables of features."""
    table = pa.table({"item": ["c", "a", "b"], "kind": ["x", None, "y"], "age": [1.0, 2.0, None]})
    return parquet_bytes(table), parquet_bytes(table, compression="none", use_dictionary=False)


def matrices() -> tuple[bytes, ...]:
    """Adjacency matrices of three nodes as .npz."""
    A = sp.csr_array(np.array([[0, 1.0, 0], [1, 0, 0.5], [0, 0.5, 0]]))
    return (
        written(".npz", lambda path: sp.save_npz(path, A)),
        written(".npz", lambda path: sp.save_npz(path, sp.coo_array(A), compressed=False)),
        written(".npz", lambda path: sp.save_npz(path, sp.dia_array(A), compressed=False)),
    )


def market() -> tuple[bytes, ...]:
    """The same as Matrix Market text."""
    A = sp.coo_array(np.array([[0, 1.0, 0], [1, 0, 0.5], [0, 0.5, 0]]))
    return (
        written(".mtx", lambda path: scipy.io.mmwrite(path, A)),
        written(".mtx", lambda path: scipy.io.mmwrite(path, A, symmetry="symmetric")),
        b"%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 2\n",
        b"%%MatrixMarket matrix array real general\n3 3\n0\n1\n0\n1\n0\n.5\n0\n.5\n0\n",
    )


def anndata_files() -> tuple[bytes, ...]:
    """A layer with holes, dense and sparse."""
    import anndata

    X = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, np.nan]], dtype=np.float32)
    dense = anndata.AnnData(X)
    sparse = anndata.AnnData(sp.csr_matrix(np.nan_to_num(X)))
    sparse.obsp["alike"] = sp.csr_matrix(np.array([[0, 1.0], [1.0, 0]]))
    return tuple(written(".h5ad", data.write_h5ad) for data in (dense, sparse))


def pictures() -> tuple[bytes, ...]:
    """Pictures of a few pixels in every mode that is kept."""
    from PIL import Image, ImageCms

    rng = np.random.default_rng(0)
    found = []
    for form, shape, kind in (
        ("PNG", (5, 4), np.uint8),
        ("PNG", (5, 4, 3), np.uint8),
        ("PNG", (5, 4, 4), np.uint8),
        ("PNG", (5, 4), np.uint16),
        ("BMP", (5, 4, 3), np.uint8),
        ("GIF", (5, 4), np.uint8),
        ("TIFF", (5, 4), np.uint8),
        ("PPM", (5, 4), np.uint8),
        ("JPEG", (5, 4), np.uint8),
    ):
        out = io.BytesIO()
        values = rng.integers(0, 255, shape).astype(kind)
        Image.fromarray(values).save(out, form)
        found.append(out.getvalue())
    # Of a turned camera, with a profile of the colours.
    out, turned = io.BytesIO(), Image.Exif()
    turned[0x112] = 6
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(values).save(out, "JPEG", exif=turned, icc_profile=profile)
    return *found, out.getvalue()


def masks() -> tuple[bytes, ...]:
    """Masks of 5 x 4 pixels."""
    from PIL import Image

    mask = np.zeros((5, 4), dtype=np.uint8)
    mask[1:3, 1:3] = 255
    out, bits = io.BytesIO(), io.BytesIO()
    Image.fromarray(mask).save(out, "PNG")
    Image.fromarray(mask > 0).save(bits, "PNG")
    return out.getvalue(), bits.getvalue()


@cache
def small_models() -> dict[str, Any]:
    """Fitted models of every posterior and a few more kinds, three rows more than columns."""
    from bmcg import BMCG, Observations
    from bmcg.baselines import METHODS
    from bmcg.graphs import chain_graph

    rng = np.random.default_rng(0)
    X = rng.standard_normal((9, 1)) @ rng.standard_normal((1, 6)) + 0.1
    X[rng.random(X.shape) < 0.3] = np.nan
    named = Observations.from_triples(
        *np.nonzero(~np.isnan(X)), X[~np.isnan(X)], X.shape,
        row_labels=[f"r{i}" for i in range(9)], col_labels=np.arange(6),
    )  # fmt: skip
    quick: dict[str, Any] = {"max_sweeps": 4, "random_state": 0, "n_jobs": 1, "rank": 2}
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for posterior in ("column", "row", "joint"):
            model = BMCG(posterior=posterior, engine="dense", **quick)
            found[posterior] = model.fit(named, chain_graph(9), chain_graph(6))
        found["biases"] = BMCG(posterior="row", bias=True, **quick).fit(X)
        found["features"] = BMCG(posterior="joint", engine="dense", **quick).fit(
            named, row_features=rng.standard_normal((9, 2))
        )
        found["sampled"] = BMCG(posterior="sampled", n_draws=4, bias=False, **quick).fit(named)
        levels = np.where(np.isnan(X), np.nan, (X > 0) * 1.0)
        found["bernoulli"] = BMCG(posterior="row", likelihood="bernoulli", **quick).fit(levels)
        for name in ("lmafit", "vbmc", "bpmf"):
            if name in METHODS:
                found[name] = METHODS[name](random_state=0).fit(X)
    return found


@cache
def models() -> tuple[bytes, ...]:
    """Files of fitted models."""
    return tuple(written(".safetensors", model.save) for model in small_models().values())


def compressed(files: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Each file through gzip, the first one in blocks and through bzip2 too."""
    return (*(gzip.compress(data, 1) for data in files), bz2.compress(files[0]))


def bgzf(files: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Each file in the blocks of genome tools."""
    from bmcg.imputing.bgzf import BgzfWriter

    def write(data: bytes) -> Callable[[Path], None]:
        def to(path: Path) -> None:
            with BgzfWriter(str(path)) as file:
                file.write(data)

        return to

    return tuple(written(".gz", write(data)) for data in files)


@cache
def places() -> tuple[Any, ...]:
    """Where a fit and a chain are after a few sweeps, as checkpoints keep it."""
    from bmcg import BMCG
    from bmcg.files import checkpoints

    X = np.random.default_rng(0).standard_normal((7, 5))
    found: list[Any] = []
    for posterior in ("row", "sampled"):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = BMCG(
                posterior=posterior, rank=2, max_sweeps=3, tol=0.0, random_state=0, n_jobs=1,
                bias=False, selection=False, checkpoint=Path(folder) / "c",
            )  # fmt: skip
            model.fit(X)
            arrays, _ = checkpoints.read_tensors(Path(folder) / "c", checkpoints.CHECKPOINT)
            read = checkpoints.chain_place if posterior == "sampled" else None
            found.append(read(arrays) if read else checkpoints.from_arrays(arrays, "row"))
    return tuple(found)
