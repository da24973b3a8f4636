"""PLINK files: what .bim and .fam say counts, and what they cannot say is said."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.imputing.genotypes import FilledGenotypes
from bmcg.imputing.plink import PlinkSource

from ..cli.conftest import call, refused
from .cohorts import haplotypes, hidden, records
from .test_genotypes import QUICK

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

CODES = np.array([3, 2, 0, 1], dtype=np.uint8)  # of 0, 1, 2 copies and of a missing call


def write_bed(folder, copies, chromosome="1", sexes=None, people=None, name="in"):
    m, n = copies.shape
    codes = np.zeros((m, 4 * ((n + 3) // 4)), dtype=np.uint8)
    codes[:, :n] = CODES[copies]
    four = codes.reshape(m, -1, 4) << np.array([0, 2, 4, 6], dtype=np.uint8)
    path = folder / f"{name}.bed"
    path.write_bytes(b"\x6c\x1b\x01" + four.sum(axis=2, dtype=np.uint8).tobytes())
    people = people or [("f", f"p{j}") for j in range(n)]
    sexes = sexes or ["0"] * n
    path.with_suffix(".bim").write_text(
        "".join(f"{chromosome} rs{i} 0 {10 * i + 1} A G\n" for i in range(m))
    )
    path.with_suffix(".fam").write_text(
        "".join(f"{f} {p} 0 0 {s} -9\n" for (f, p), s in zip(people, sexes, strict=True))
    )
    return path


@pytest.fixture
def copies():
    H = haplotypes(40, 21, founders=4)
    return np.where(hidden((40, 21)), 3, H[:, ::2] + H[:, 1::2])


def test_vcf_of_a_bed_says_that_the_reference_is_not_known(tmp_path, copies):
    ended = call("impute", write_bed(tmp_path, copies), "-o", tmp_path / "out.vcf", *QUICK)
    assert ended.code == 0, ended.err
    assert "A2 and A1 of all 40 sites are written as REF and ALT" in ended.err
    for line in records(tmp_path / "out.vcf"):
        assert (line[3], line[4]) == ("G", "A")
        assert line[7].split(";")[0] == "PR"


def test_a_man_has_one_x_chromosome(tmp_path, copies):
    sexes = ["1"] * 10 + ["2"] * 11
    single = np.where(copies[:, :10] == 1, 2, copies[:, :10])
    copies = np.hstack((single, copies[:, 10:]))
    path = write_bed(tmp_path, copies, chromosome="23", sexes=sexes)
    assert call("impute", path, "-o", tmp_path / "out.bed", *QUICK).code == 0
    made = PlinkSource.open(tmp_path / "out.bed")
    assert not made.notes
    assert (made.values[:, :10] != 1).all()
    assert (made.values[:, 10:] == 1).any()
    assert call("impute", path, "-o", tmp_path / "out.vcf", *QUICK).code == 0
    for line in records(tmp_path / "out.vcf"):
        assert all("/" not in cell for cell in line[9:19])
        assert all("/" in cell for cell in line[19:])


def test_heterozygous_calls_of_one_chromosome_are_kept_and_counted(tmp_path, copies):
    path = write_bed(tmp_path, copies, chromosome="MT")
    ended = call("impute", path, "-o", tmp_path / "out.bed", *QUICK)
    assert f"{(copies == 1).sum()} heterozygous calls" in ended.err
    made = PlinkSource.open(tmp_path / "out.bed").codes
    np.testing.assert_array_equal(made == 2, copies == 1)


def test_a_lost_line_of_fam_is_noticed_where_the_size_does_not_tell(tmp_path, copies):
    path = write_bed(tmp_path, copies[:, :20])
    fam = path.with_suffix(".fam")
    fam.write_text("".join(fam.read_text().splitlines(keepends=True)[:-1]))
    assert "more samples than the 19 of .fam" in refused("impute", path, "-o", tmp_path / "out.bed")


def test_names_of_families_tell_people_apart_or_they_are_refused(tmp_path, copies):
    people = [(f"f{j}", "child") for j in range(21)]
    source = PlinkSource.open(write_bed(tmp_path, copies, people=people))
    assert source.col_names.tolist()[:2] == ["f0_child", "f1_child"]
    path = write_bed(tmp_path, copies, people=[("f", "child")] * 21)
    assert "'f_child' is there more than once" in refused(
        "impute", path, "-o", tmp_path / "out.bed"
    )


def test_calls_that_are_there_stay_to_the_bit_and_others_are_what_was_filled(tmp_path, copies):
    path = write_bed(tmp_path, copies)
    source, out = PlinkSource.open(path), tmp_path / "out.bed"
    source.write(out, FilledGenotypes.nothing(source.values.shape))
    for suffix in (".bed", ".bim", ".fam"):
        assert out.with_suffix(suffix).read_bytes() == path.with_suffix(suffix).read_bytes()
    rows, cols = np.nonzero(copies == 3)
    calls = np.random.default_rng(0).integers(0, 3, len(rows))
    chances, none = np.eye(3)[calls], np.zeros(len(rows))
    filled = FilledGenotypes(
        copies.shape, rows, cols, calls.astype(float), none, chances,
        np.full(len(rows), 2, dtype=np.uint8), none > 0, none > 0, np.full(len(copies), np.nan),
    )  # fmt: skip
    source.write(out, filled)
    want = copies.astype(float)
    want[rows, cols] = calls
    np.testing.assert_array_equal(PlinkSource.open(out).values, want)
