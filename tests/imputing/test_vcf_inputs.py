"""VCF files as they come: each is read rightly or refused by name."""

from __future__ import annotations

import gzip
import random

import numpy as np
import pytest

from bmcg import load_model
from bmcg.imputing.genotype_fill import largest_rank
from bmcg.imputing.vcf import VcfSource
from bmcg.imputing.vcf_calls import CallReader, read_call

from ..cli.conftest import call, refused
from .cohorts import calls_of, haplotypes, hidden, records, write_vcf
from .test_genotypes import QUICK

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")


@pytest.fixture
def cohort():
    H = haplotypes(40, 20, founders=4)
    gone = hidden((40, 20))
    return calls_of(H, gone), gone


def test_a_site_without_calls_stays_missing_and_is_counted(tmp_path, cohort):
    calls, _ = cohort
    calls[5] = ["./."] * 20
    path, out = write_vcf(tmp_path / "in.vcf", calls), tmp_path / "out.vcf"
    ended = call("impute", path, "-o", out, *QUICK)
    assert ended.code == 0
    assert "1 site has no call at all" in ended.err
    lines = records(out)
    assert lines[5][9:] == ["./."] * 20
    assert all("./." not in "".join(line[9:]) for i, line in enumerate(lines) if i != 5)


def test_a_sample_without_calls_stays_missing_unless_a_graph_tells_of_it(tmp_path, cohort):
    calls, _ = cohort
    for line in calls:
        line[3] = "./."
    path, out = write_vcf(tmp_path / "in.vcf", calls), tmp_path / "out.vcf"
    ended = call("impute", path, "-o", out, *QUICK)
    assert "1 sample has no call at all" in ended.err
    assert all(line[12] == "./." for line in records(out))
    (tmp_path / "kin.csv").write_text("a,b,w\np3,p4,1\np3,p5,1\n")
    ended = call("impute", path, "-o", out, "--force", "--col-graph", tmp_path / "kin.csv", *QUICK)
    assert ended.code == 0, ended.err
    assert all(line[12][:3] != "./." for line in records(out))


def test_a_sample_that_is_there_twice_is_refused_by_name(tmp_path, cohort):
    names = [f"p{j}" for j in range(19)] + ["p7"]
    path = write_vcf(tmp_path / "in.vcf", cohort[0], samples=names)
    assert "sample 'p7' is there more than once" in refused(
        "impute", path, "-o", tmp_path / "o.vcf"
    )


@pytest.mark.parametrize("name", ["packed.vcf", "plain.vcf.gz"])
def test_what_a_file_is_its_bytes_say(tmp_path, cohort, name):
    plain = write_vcf(tmp_path / "in.vcf", cohort[0])
    data = plain.read_bytes()
    odd = tmp_path / name
    odd.write_bytes(gzip.compress(data) if name == "packed.vcf" else data)
    np.testing.assert_array_equal(VcfSource.open(odd).values, VcfSource.open(plain).values)


def test_windows_line_ends_change_nothing(tmp_path, cohort):
    plain = write_vcf(tmp_path / "a.vcf", cohort[0])
    other = write_vcf(tmp_path / "b.vcf", cohort[0], end="\r\n")
    np.testing.assert_array_equal(VcfSource.open(other).values, VcfSource.open(plain).values)


def test_gt_as_a_later_field_is_refused(tmp_path, cohort):
    calls = [[f"9:{gt}" for gt in line] for line in cohort[0]]
    path = write_vcf(tmp_path / "in.vcf", calls, form="DP:GT")
    message = refused("impute", path, "-o", tmp_path / "o.vcf")
    assert "22:1000 has GT as a later field" in message


def test_fields_left_out_at_the_end_of_a_call_keep_their_place(tmp_path, cohort):
    calls, gone = cohort
    calls = [[gt if j % 2 else f"{gt}:12:3" for j, gt in enumerate(line)] for line in calls]
    path, out = write_vcf(tmp_path / "in.vcf", calls, form="GT:DP:GQ"), tmp_path / "out.vcf"
    assert call("impute", path, "-o", out, *QUICK).code == 0
    for i, line in enumerate(records(out)):
        assert line[8] == ("GT:DP:GQ:DS:GP" if gone[i].any() else "GT:DP:GQ:DS")
        for j, cell in enumerate(line[9:]):
            parts = cell.split(":")
            assert parts[1:3] == ([".", "."] if j % 2 else ["12", "3"])
            assert len(parts) == (5 if gone[i, j] else 4)


def test_a_dosage_that_was_there_stays(tmp_path, cohort):
    calls, gone = cohort
    calls = [[f"{gt}:0.123" for gt in line] for line in calls]
    path, out = write_vcf(tmp_path / "in.vcf", calls, form="GT:DS"), tmp_path / "out.vcf"
    assert call("impute", path, "-o", out, *QUICK).code == 0
    for i, line in enumerate(records(out)):
        for j, cell in enumerate(line[9:]):
            assert gone[i, j] or cell == calls[i][j]


def test_calls_are_read_at_once_as_one_by_one():
    rng = random.Random(0)
    texts = ["0/0", "0|1", "1/0", "1|1", "./.", ".|.", ".", "0", "1", "./1", "0/2", "10|0",
             "0/0/1/1", "./././.", "", "0/", "/", "x"]  # fmt: skip
    reader = CallReader()
    for _ in range(50):
        chosen = [rng.choice(texts) for _ in range(rng.randint(1, 12))]
        cells = [gt + rng.choice(["", ":3", ":1,2:.", ":"]) for gt in chosen]
        codes = reader.read("\t".join(cells).encode())
        for code, gt in zip(codes.tolist(), chosen, strict=True):
            assert repr(reader.calls[code]) == repr(read_call(gt)), gt


def test_a_file_that_changes_meanwhile_is_not_mixed_up(tmp_path, cohort):
    path = write_vcf(tmp_path / "in.vcf", cohort[0])
    source = VcfSource.open(path)
    filled, _ = source.fill(random_state=0, max_sweeps=500)
    write_vcf(path, cohort[0][:-1])
    with pytest.raises(ValueError, match="has changed since it was read"):
        source.write(tmp_path / "out.vcf", filled)


def test_the_rank_is_bound_by_shape_and_memory_and_a_cap_that_is_met_is_said(tmp_path, cohort):
    assert largest_rank((3841, 2000), "variational") == 2000
    assert largest_rank((3841, 2000), "row") < 100
    assert largest_rank((10**7, 10**4), "variational") < 100
    path = write_vcf(tmp_path / "in.vcf", cohort[0])
    ended = call("impute", path, "-o", tmp_path / "out.vcf", "--rank", 2)
    assert "rank 2 (the most allowed" in ended.out


def test_a_saved_model_knows_sites_and_haplotypes_by_name(tmp_path):
    H = haplotypes(40, 20, founders=4)
    calls = calls_of(H, hidden((40, 20)), "|")
    path, model = write_vcf(tmp_path / "in.vcf", calls), tmp_path / "model.safetensors"
    ended = call("impute", path, "-o", tmp_path / "out.vcf", "--save-model", model)
    assert ended.code == 0, ended.err
    share = load_model(model).predict(["rs3"], ["p4|2"])
    assert abs(float(share[0]) - H[3, 9]) < 0.5
