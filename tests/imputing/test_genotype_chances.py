"""Probabilities of filled genotypes: as sure as they are right."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from bmcg.imputing import left_out
from bmcg.imputing.calibration import Calibration, Entries, SiteSpread, calibrate
from bmcg.imputing.genotype_fill import fill_genotypes
from bmcg.imputing.genotypes import UNITS, FilledGenotypes, Genotypes, written_units

from ..cli.conftest import call
from .cohorts import calls_of, fills, haplotypes, hidden, records, write_vcf


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chances")
    H = haplotypes()
    copies = H[:, ::2] + H[:, 1::2]
    gone = hidden(copies.shape)
    path = write_vcf(folder / "in.vcf", calls_of(H, gone))
    ended = call("impute", path, "-o", folder / "out.vcf", "--bands", folder / "bands.csv")
    assert ended.code == 0, ended.err
    return folder, copies, gone


def test_the_largest_probability_is_how_often_it_is_right(filled):
    folder, copies, gone = filled
    _, P = fills(folder / "out.vcf", gone)
    right = np.argmax(P, axis=1) == copies[gone]
    assert abs(P.max(axis=1).mean() - right.mean()) < 0.04


def test_the_truth_is_more_probable_than_under_hardy_weinberg(filled):
    folder, copies, gone = filled
    _, P = fills(folder / "out.vcf", gone)
    seen = np.where(gone, np.nan, copies)
    p = (np.nansum(seen, axis=1) + 0.5) / (2 * (~gone).sum(axis=1) + 1)
    p = np.broadcast_to(p[:, None], copies.shape)[gone]
    H = np.column_stack(((1 - p) ** 2, 2 * p * (1 - p), p**2))
    each, truth = np.arange(len(p)), copies[gone]
    assert -np.log(P[each, truth]).mean() < -0.85 * np.log(H[each, truth]).mean()


def test_no_genotype_is_impossible_or_certain(filled):
    folder, _, gone = filled
    _, P = fills(folder / "out.vcf", gone)
    assert P.min() >= 1 / UNITS
    assert P.max() <= 1 - 2 / UNITS
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)


def test_bands_are_whole_copies_and_hold_their_share(filled):
    folder, copies, gone = filled
    band = np.genfromtxt(folder / "bands.csv", delimiter=",", skip_header=1, usecols=(4, 5))
    assert np.isin(band, (0, 1, 2)).all()
    truth = copies[gone]
    held = (band[:, 0] <= truth) & (truth <= band[:, 1])
    frequency = np.broadcast_to((copies.mean(axis=1) / 2)[:, None], copies.shape)[gone]
    rare = np.minimum(frequency, 1 - frequency) < 0.2
    assert held[rare].mean() > 0.9
    assert held[~rare].mean() > 0.87


def test_every_call_has_a_dosage_and_sites_say_how_good_they_are(filled):
    folder, copies, gone = filled
    good = []
    for i, line in enumerate(records(folder / "out.vcf")):
        info = dict(part.split("=") for part in line[7].split(";") if "=" in part)
        if gone[i].any():
            assert int(info["IMPUTED"]) == gone[i].sum()
            good.append(float(info.get("DR2", "nan")))
        at = line[8].split(":").index("DS")
        dosages = np.array([float(cell.split(":")[at]) for cell in line[9:]])
        np.testing.assert_array_equal(dosages[~gone[i]], copies[i, ~gone[i]])
    assert 0.2 < np.nanmean(good) < 1.0


def test_calibration_recovers_the_spread_it_was_drawn_from():
    rng = np.random.default_rng(0)
    copies = rng.binomial(2, 0.4, 20_000)
    centre = copies / 2 + 0.2 * rng.standard_t(3, len(copies))
    entries = Entries(centre, np.full(len(copies), 0.01), np.full(len(copies), 0.4))
    found = calibrate(entries, copies, 2)
    assert found.widening == pytest.approx(4.0, rel=0.25)
    assert found.tails == pytest.approx(3.0, rel=0.5)
    assert found.prior == pytest.approx(1.0, abs=0.25)
    P = found.chances(entries, 2)
    sure = P.max(axis=1)
    right = np.argmax(P, axis=1) == copies
    for low, high in ((0.4, 0.7), (0.7, 0.9), (0.9, 1.0)):
        at = (sure >= low) & (sure < high)
        assert right[at].mean() == pytest.approx(sure[at].mean(), abs=0.04)


def test_alleles_in_each_others_place_mirror_the_probabilities():
    rng = np.random.default_rng(1)
    z, v, p = rng.random(50), rng.random(50), rng.random(50)
    known = Calibration(2.0, 3.0, 0.7)
    there = known.chances(Entries(z, v, p), 2)
    back = known.chances(Entries(1 - z, v, 1 - p), 2)
    np.testing.assert_allclose(there, back[:, ::-1], rtol=1e-10)


def test_a_site_off_by_more_is_less_sure_and_a_call_is_left_out_of_its_own_spread():
    squares = np.array([[9.0, 9.0, 9.0, np.nan], [0.1, 0.1, 0.1, np.nan]])
    factor = SiteSpread.of(squares).factor(squares)
    assert factor[0, 3] > factor[0, 0] > factor[1, 0]
    changed = squares.copy()
    changed[0, 0] = 1.0
    pooled = [np.nansum(s) / 6 for s in (squares, changed)]
    own = [
        SiteSpread.of(s).factor(s)[0, 0] - 8.0 * mean / 10
        for s, mean in zip((squares, changed), pooled, strict=True)
    ]
    assert own[0] == pytest.approx(own[1])


def test_probabilities_are_written_in_units_that_sum_to_one():
    chances = np.array([[1.0, 0.0, 0.0], [0.00004, 0.33333, 0.66663], [0.9, 0.1, 0.0]])
    units = written_units(chances, np.array([2, 2, 1], dtype=np.uint8))
    assert (units.sum(axis=1) == UNITS).all()
    np.testing.assert_array_equal(units[0], [UNITS - 2, 1, 1])
    np.testing.assert_array_equal(units[2], [9000, 1000, 0])


def test_a_site_that_nothing_predicts_is_not_called_well_predicted(tmp_path):
    rng = np.random.default_rng(3)
    H = (rng.random((30, 40)) < 0.4).astype(int)
    path = write_vcf(tmp_path / "in.vcf", calls_of(H, hidden((30, 20))))
    assert call("impute", path, "-o", tmp_path / "out.vcf").code == 0
    infos = [line[7].rpartition("DR2=") for line in records(tmp_path / "out.vcf")]
    assert np.mean([float(value) for _, name, value in infos if name]) < 0.2


def test_a_band_is_the_shortest_that_holds_enough():
    P = np.array([[0.08, 0.9, 0.02], [0.5, 0.45, 0.05], [0.05, 0.5, 0.45], [0.4, 0.3, 0.3]])
    none, at = np.zeros(4), np.zeros(4, dtype=np.intp)
    ploidy, no = np.full(4, 2, dtype=np.uint8), np.zeros(4, dtype=bool)
    filled = FilledGenotypes((1, 4), at, at, none, none, P, ploidy, no, no, np.zeros(1))
    low, high = filled.interval(0.9)
    np.testing.assert_array_equal(low, [1, 0, 1, 0])
    np.testing.assert_array_equal(high, [1, 1, 2, 2])


def test_chances_are_calibrated_by_every_call_of_their_kind(monkeypatch):
    asked = {}

    def note(entries, copies, ploidy, seed=0):
        asked[ploidy] = copies
        return calibrate(entries, copies, ploidy, seed)

    monkeypatch.setattr(left_out, "calibrate", note)
    rng = np.random.default_rng(0)
    copies = rng.integers(0, 3, (30, 12)).astype(float)
    copies[rng.random(copies.shape) < 0.2] = np.nan
    ploidy = np.full(copies.shape, 2, dtype=np.uint8)
    # A chromosome that some samples have once: their calls are none of a pair.
    ploidy[:10, :4] = 1
    copies[:10, :4] = np.where(np.isnan(copies[:10, :4]), np.nan, 2.0)
    given = Genotypes(copies, ploidy, None, None, np.zeros(12, dtype=bool))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fill_genotypes(given, posterior="column", rank=2, max_sweeps=5, bias=False, n_jobs=1)
    known = np.isfinite(copies) & (ploidy == 2)
    assert sorted(asked[2].tolist()) == sorted(copies[known].astype(int).tolist())
    assert len(asked[1]) == 0
