"""Genotypes: only missing calls change, and other programs read what is written."""

from __future__ import annotations

import gzip
import shutil
import subprocess

import numpy as np
import pytest

from bmcg.imputing.vcf_calls import read_call

from ..cli.conftest import call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

# A variational fit, which is quick, where files are what is tested.
QUICK = ("--posterior", "column")

HEADER = (
    "##fileformat=VCFv4.2",
    "##contig=<ID=22>",
    '##FORMAT=<ID=GT,Number=1,Type=String,Description="Genotype">',
    '##FORMAT=<ID=DP,Number=1,Type=Integer,Description="Depth">',
)


def haplotype_blocks(m=60, n=30, seed=0):
    """Copies of the alternative allele of n people at m sites, from four haplotypes."""
    rng = np.random.default_rng(seed)
    haplotypes = (rng.random((m, 4)) < 0.4).astype(int)
    return haplotypes[:, rng.integers(0, 4, n)] + haplotypes[:, rng.integers(0, 4, n)]


def vcf_lines(copies, gone, depth=True):
    m, n = copies.shape
    fixed = ["#CHROM", "POS", "ID", "REF", "ALT", "QUAL", "FILTER", "INFO", "FORMAT"]
    lines = [*HEADER, "\t".join([*fixed, *(f"p{j}" for j in range(n))])]
    for i in range(m):
        calls = [
            ("./." if gone[i, j] else ("0/0", "0/1", "1/1")[copies[i, j]])
            + (f":{(3 * i + j) % 40}" if depth else "")
            for j in range(n)
        ]
        site = ["22", str(1000 + 10 * i), f"rs{i}", "A", "G", ".", "PASS", "AF=0.10"]
        lines.append("\t".join([*site, "GT:DP" if depth else "GT", *calls]))
    return lines


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    copies = haplotype_blocks()
    gone = np.random.default_rng(1).random(copies.shape) < 0.1
    path = tmp_path_factory.mktemp("vcf") / "in.vcf"
    lines = vcf_lines(copies, gone)
    lines[1] = '##contig=<ID=22>\n##INFO=<ID=AF,Number=1,Type=Float,Description="Frequency">'
    path.write_text("\n".join(lines) + "\n")
    out = path.with_name("out.vcf.gz")
    ended = call("impute", path, "-o", out, "--std", path.with_name("std.tsv"), *QUICK)
    assert ended.code == 0, ended.err
    return path, out, copies, gone


def records(path):
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt") as file:
        return [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]


def test_observed_calls_and_sites_keep_every_character(cohort):
    path, out, copies, gone = cohort
    right = 0
    for i, (before, after) in enumerate(zip(records(path), records(out), strict=True)):
        assert before[:7] == after[:7]
        assert after[7].split(";")[0] == before[7]
        assert (f"IMPUTED={gone[i].sum()}" in after[7].split(";")) == gone[i].any()
        assert after[8] == ("GT:DP:DS:GP" if gone[i].any() else "GT:DP:DS")
        for j, (was, now) in enumerate(zip(before[9:], after[9:], strict=True)):
            if not gone[i, j]:
                assert now == f"{was}:{copies[i, j]}"
                continue
            gt, depth, ds, gp = now.split(":")
            assert depth == was.split(":")[1]
            chances = [float(p) for p in gp.split(",")]
            assert sum(chances) == pytest.approx(1.0, abs=1e-9)
            assert float(ds) == pytest.approx(chances[1] + 2 * chances[2], abs=2e-4)
            assert gt.split("/").count("1") == int(np.argmax(chances))
            right += int(np.argmax(chances)) == copies[i, j]
    assert right / gone.sum() > 0.9


def test_cyvcf2_reads_the_same_samples_sites_and_calls(cohort):
    cyvcf2 = pytest.importorskip("cyvcf2")
    path, out, _, gone = cohort
    before, after = cyvcf2.VCF(str(path)), cyvcf2.VCF(str(out))
    assert before.samples == after.samples
    for i, (was, now) in enumerate(zip(before, after, strict=True)):
        assert (was.CHROM, was.POS, was.ID, was.REF, was.ALT) == (
            now.CHROM, now.POS, now.ID, now.REF, now.ALT,
        )  # fmt: skip
        assert (now.gt_types != 2).all()  # 2 is what cyvcf2 calls unknown
        np.testing.assert_array_equal(was.gt_types[~gone[i]], now.gt_types[~gone[i]])
        if gone[i].any():
            found = now.format("DS")[gone[i], 0]
            assert ((found >= 0) & (found <= 2)).all()


def test_bcftools_accepts_and_indexes_the_output(cohort, tmp_path):
    if shutil.which("bcftools") is None:
        pytest.skip("bcftools is not installed")
    _, out, _, gone = cohort
    copy = shutil.copy(out, tmp_path / "out.vcf.gz")
    ended = subprocess.run(["bcftools", "index", "-t", copy], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    ended = subprocess.run(
        ["bcftools", "query", "-f", "[%GT %DS %GP\\n]", copy], capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr == ""
    assert sum(" ." not in line for line in ended.stdout.splitlines()) == gone.sum()


def test_bcf_in_and_out(cohort, tmp_path):
    cyvcf2 = pytest.importorskip("cyvcf2")
    path, out, _, _ = cohort
    ended = call("impute", path, "-o", tmp_path / "out.bcf", *QUICK)
    assert ended.code == 0, ended.err
    for text, binary in zip(
        cyvcf2.VCF(str(out)), cyvcf2.VCF(str(tmp_path / "out.bcf")), strict=True
    ):
        np.testing.assert_array_equal(text.gt_types, binary.gt_types)
    again = call("impute", tmp_path / "out.bcf", "-o", tmp_path / "again.vcf")
    assert again.code == 0, again.err
    assert "0 of" in again.out


def test_haploid_calls_stay_haploid(tmp_path):
    copies = haplotype_blocks(40, 20)
    lines = vcf_lines(copies, np.zeros(copies.shape, bool), depth=False)
    cells = [line.split("\t") for line in lines[len(HEADER) + 1 :]]
    for i, line in enumerate(cells):
        line[9] = str(min(copies[i, 0], 1))
    cells[3][9] = "."
    cells[4][10] = "."
    body = ["\t".join(line) for line in cells]
    path = tmp_path / "in.vcf"
    path.write_text("\n".join([*lines[: len(HEADER) + 1], *body]) + "\n")
    assert call("impute", path, "-o", tmp_path / "out.vcf", *QUICK).code == 0
    out = records(tmp_path / "out.vcf")
    assert len(out[3][9].split(":")[2].split(",")) == 2
    assert "/" not in out[3][9]
    assert len(out[4][10].split(":")[2].split(",")) == 3


@pytest.mark.parametrize(
    ("alternative", "gt", "words"),
    [("G,T", None, "bcftools norm"), ("G", "./1", "half missing"), ("G", "0/2", "does not have")],
)
def test_unsupported_records_are_refused_or_kept_as_they_are(tmp_path, alternative, gt, words):
    copies = haplotype_blocks(30, 12)
    gone = np.zeros(copies.shape, bool)
    gone[2, 3] = True
    lines = vcf_lines(copies, gone, depth=False)
    cells = lines[len(HEADER) + 1 + 7].split("\t")
    cells[4] = alternative
    if gt is not None:
        cells[12] = gt
    lines[len(HEADER) + 1 + 7] = "\t".join(cells)
    path, out = tmp_path / "in.vcf", tmp_path / "out.vcf"
    path.write_text("\n".join(lines) + "\n")
    message = refused("impute", path, "-o", out)
    assert words in message
    assert "22:1070" in message
    assert not out.exists()
    assert call("impute", path, "-o", out, "--unsupported", "keep", *QUICK).code == 0
    assert [c.split(":")[0] for c in records(out)[7]] == [c.split(":")[0] for c in cells]
    assert records(out)[2][12].count(":") == 2


def test_plink_files_change_in_missing_calls_alone(tmp_path):
    reader = pytest.importorskip("bed_reader")
    copies = haplotype_blocks(50, 21)
    gone = np.random.default_rng(2).random(copies.shape) < 0.1
    values = np.where(gone, -127, copies).astype(np.int8)
    path = tmp_path / "in.bed"
    reader.to_bed(path, values.T, properties={"sid": [f"rs{i}" for i in range(50)]})
    ended = call("impute", path, "-o", tmp_path / "out.bed", *QUICK)
    assert ended.code == 0, ended.err
    with reader.open_bed(tmp_path / "out.bed") as bed:
        found = bed.read(dtype="int8").T
    np.testing.assert_array_equal(found[~gone], copies[~gone])
    assert np.mean(found[gone] == copies[gone]) > 0.9
    for suffix in (".bim", ".fam"):
        assert path.with_suffix(suffix).read_bytes() == (tmp_path / f"out{suffix}").read_bytes()
    assert call("impute", path, "-o", tmp_path / "out.vcf", *QUICK).code == 0
    lines = records(tmp_path / "out.vcf")
    for i, line in enumerate(lines):
        for j, text in enumerate(line[9:]):
            assert text.split(":")[0].split("/").count("1") == found[i, j]
            assert (text.count(":") == 2) == gone[i, j]


def write_tiny_bed(folder, bed):
    (folder / "in.bed").write_bytes(bed)
    (folder / "in.bim").write_text("1 rs1 0 10 A G\n")
    (folder / "in.fam").write_text("f p 0 0 0 -9\nf q 0 0 0 -9\n")


def test_a_disk_that_fills_up_keeps_three_files_that_belong_together(tmp_path, monkeypatch):
    write_tiny_bed(tmp_path, b"\x6c\x1b\x01" + bytes([0b1100]))
    for suffix in ("bed", "bim", "fam"):
        (tmp_path / f"out.{suffix}").write_text("precious")
    copy = shutil.copyfile

    def full(source, target):
        if str(source).endswith(".fam"):
            raise OSError(28, "No space left on device")
        return copy(source, target)

    monkeypatch.setattr(shutil, "copyfile", full)
    message = refused("impute", tmp_path / "in.bed", "-o", tmp_path / "out.bed", "--force")
    assert f"cannot write {tmp_path / 'out.fam'}: No space left" in message
    for suffix in ("bed", "bim", "fam"):
        assert (tmp_path / f"out.{suffix}").read_text() == "precious"
    assert len(list(tmp_path.iterdir())) == 6


def test_files_that_do_not_belong_together_are_refused(tmp_path):
    write_tiny_bed(tmp_path, b"\x6c\x1b\x01\x00\x00")
    assert "belong together" in refused("impute", tmp_path / "in.bed", "-o", tmp_path / "o.bed")


@pytest.mark.parametrize(
    ("gt", "copies", "ploidy"), [("0/1", 1.0, 2), ("1|1", 2.0, 2), ("1", 2.0, 1), ("0/0/1/1", 1, 4)]
)
def test_calls_are_copies_for_two_chromosomes(gt, copies, ploidy):
    assert read_call(gt)[:3] == (copies, ploidy, None)


def test_anndata_gains_layers_and_keeps_the_rest(tmp_path):
    anndata = pytest.importorskip("anndata")
    from bmcg.imputing import impute_anndata

    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 1)) @ rng.standard_normal((1, 12)) + 3
    gone = rng.random(X.shape) < 0.2
    data = anndata.AnnData(np.where(gone, np.nan, X))
    data.obs["kind"] = "cell"
    data.write_h5ad(tmp_path / "in.h5ad")
    ended = call("impute", tmp_path / "in.h5ad", "-o", tmp_path / "out.h5ad", *QUICK)
    assert ended.code == 0, ended.err
    out = anndata.read_h5ad(tmp_path / "out.h5ad")
    np.testing.assert_array_equal(out.X, data.X)
    np.testing.assert_array_equal(out.layers["bmcg"][~gone], X[~gone])
    assert np.abs(out.layers["bmcg"][gone] - X[gone]).mean() < 0.2
    assert (out.layers["bmcg_std"][gone] > 0).all()
    assert list(out.obs["kind"]) == list(data.obs["kind"])
    model = impute_anndata(data, random_state=0, posterior="column")
    np.testing.assert_allclose(data.layers["bmcg"], out.layers["bmcg"], rtol=1e-6)
    assert model.shape_ == X.shape
    with pytest.raises(KeyError, match="no such layer"):
        impute_anndata(data, layer="counts")
