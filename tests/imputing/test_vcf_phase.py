"""Phase: haplotypes are filled as haplotypes where a sample is phased."""

from __future__ import annotations

import numpy as np
import pytest

from ..cli.conftest import call
from .cohorts import HEADER, calls_of, fills, haplotypes, hidden, records, write_vcf

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")


@pytest.fixture(scope="module")
def cohort():
    H = haplotypes(90, 40, founders=6)
    return H, hidden((90, 40))


def impute(folder, calls, **form):
    path = write_vcf(folder / "in.vcf", calls, **form)
    ended = call("impute", path, "-o", folder / "out.vcf", "--force")
    assert ended.code == 0, ended.err
    return folder / "out.vcf", ended.err


def right(gts, truth):
    return np.array([gt.count("1") for gt in gts]) == truth


def test_phased_calls_are_filled_with_their_phase(tmp_path, cohort):
    H, gone = cohort
    out, _ = impute(tmp_path, calls_of(H, gone, "|"))
    gts, _ = fills(out, gone)
    assert all(gt[1] == "|" for gt in gts)
    pairs = [f"{a}|{b}" for a, b in zip(H[:, ::2][gone], H[:, 1::2][gone], strict=True)]
    found = [(gt, pair) for gt, pair in zip(gts, pairs, strict=True) if pair in ("0|1", "1|0")]
    one = [(gt, pair) for gt, pair in found if gt in ("0|1", "1|0")]
    assert np.mean([gt == pair for gt, pair in one]) > 0.85


def test_phase_helps_and_loses_no_heterozygotes(tmp_path, cohort):
    H, gone = cohort
    truth = (H[:, ::2] + H[:, 1::2])[gone]
    found = {}
    for between in "/|":
        gts, P = fills(impute(tmp_path, calls_of(H, gone, between))[0], gone)
        ok = right(gts, truth)
        lost = -np.log(P[np.arange(len(truth)), truth]).mean()
        found[between] = ok.mean(), ok[truth == 1].mean(), lost
    assert found["|"][0] >= found["/"][0]
    assert found["|"][1] >= found["/"][1] - 0.02
    assert found["|"][2] < found["/"][2]


def test_each_sample_is_filled_as_it_is_written_and_that_is_said(tmp_path, cohort):
    H, gone = cohort
    mixed = [
        [*row[:10], *other[10:]]
        for row, other in zip(calls_of(H, gone, "|"), calls_of(H, gone, "/"), strict=True)
    ]
    out, said = impute(tmp_path, mixed)
    assert "10 of 40 samples are phased" in said
    gts, _ = fills(out, gone)
    for gt, (_, j) in zip(gts, np.argwhere(gone), strict=True):
        assert gt[1] == ("|" if j < 10 else "/")


def test_an_unphased_heterozygote_of_a_phased_sample_stays_and_is_counted(tmp_path, cohort):
    H, gone = cohort
    calls = calls_of(H, gone, "|")
    i = next(i for i in range(len(calls)) if calls[i][0] in ("0|1", "1|0"))
    calls[i][0] = "0/1"
    out, said = impute(tmp_path, calls)
    assert "1 unphased heterozygotes of phased samples are left out" in said
    assert records(out)[i][9].startswith("0/1:1")


def test_phase_sets_are_not_taken_for_haplotypes(tmp_path, cohort):
    H, gone = cohort
    calls = [[f"{gt}:7" for gt in row] for row in calls_of(H, gone, "|")]
    header = (*HEADER, '##FORMAT=<ID=PS,Number=1,Type=Integer,Description="Phase set">')
    out, said = impute(tmp_path, calls, form="GT:PS", header=header)
    assert "phase sets" in said
    assert all("/" in gt for gt in fills(out, gone)[0])
