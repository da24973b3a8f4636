"""Positions, genetic maps and panels."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.imputing.positions import Place, along, read_map, read_panel

from ...cli.conftest import call
from ..cohorts import calls_of, haplotypes, hidden, records, write_vcf


def test_without_a_map_a_million_base_pairs_are_a_centimorgan():
    found = along([Place("22", 1_000_000, "A", "G"), Place("22", 3_000_000, "A", "G")])
    np.testing.assert_allclose(found.centimorgans, [1.0, 3.0])


def test_both_kinds_of_map_say_the_same(tmp_path):
    plink, named = tmp_path / "a.map", tmp_path / "b.txt"
    plink.write_text("22 rs1 0.5 1000\n22 rs2 2.5 2000\n")
    named.write_text(
        "Chromosome\tPosition(bp)\tRate(cM/Mb)\tMap(cM)\nchr22\t1000\t9\t0.5\nchr22\t2000\t9\t2.5\n"
    )
    places = [Place("chr22", bp, "A", "G") for bp in (1500, 1_002_000)]
    for path in (plink, named):
        np.testing.assert_allclose(along(places, path).centimorgans, [1.5, 3.5])


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "is empty"), ("a b\n", "not a genetic map"), ("22 r 1 5\n22 r x 9\n", "line 2"),
     ("22 r 2 5\n22 r 1 9\n", "fall at 9"), ("22 r 0 5\n22 r 0 9\n", "22 are 0, as programs")],
)  # fmt: skip
def test_a_bad_map_is_named(tmp_path, text, words):
    path = tmp_path / "bad.map"
    path.write_text(text)
    with pytest.raises(ValueError, match=words):
        read_map(path)


def test_sites_at_one_place_of_the_map_are_in_the_order_of_their_base_pairs(tmp_path):
    path = tmp_path / "flat.map"
    path.write_text("22 a 1 1000\n22 b 1 9000\n22 c 2 9500\n")
    places = [Place("22", bp, "A", "G") for bp in (8000, 2000, 4000)]
    assert np.argsort(along(places, path).centimorgans).tolist() == [1, 2, 0]


def test_a_chromosome_that_the_map_lacks_is_named(tmp_path):
    path = tmp_path / "a.map"
    path.write_text("21 rs1 0.5 1000\n")
    with pytest.raises(ValueError, match="chromosome '22'"):
        along([Place("22", 5, "A", "G")], path)


@pytest.fixture
def panel(tmp_path):
    H = haplotypes(m=60, n=30)
    calls = calls_of(H, np.zeros((60, 30), dtype=bool), "|")
    return write_vcf(tmp_path / "panel.vcf", calls, samples=[f"q{j}" for j in range(30)]), H


def test_a_panel_is_matched_by_position_and_alleles(panel):
    path, H = panel
    places = [
        Place("chr22", 1000, "A", "G"),
        Place("22", 1010, "G", "A"),
        Place("22", 1020, "A", "T"),
        Place("22", 5, "A", "G"),
    ]
    found = read_panel(path, places, ["q3"])
    kept = np.delete(H, (6, 7), axis=1)
    np.testing.assert_array_equal(found.alleles[0], kept[0])
    assert (found.alleles[1:] == -1).all()
    said = " ".join(found.notes)
    for words in ("58 haplotypes, 1 of 4", "1 sites have REF", "1 sites have other", "1 samples"):
        assert words in said
    with pytest.raises(ValueError, match="REF and ALT exchanged"):
        read_panel(path, places[1:], [])


@pytest.mark.parametrize("unphased", [0, 2])
def test_samples_of_a_panel_without_phase_are_counted_and_left_out(tmp_path, unphased):
    calls = [["0|1", "1|1", "0|0", "1|0"], ["1|1", "0|1", "1|0", "0|0"]]
    calls = [[c.replace("|", "/") if j < unphased else c for j, c in enumerate(x)] for x in calls]
    path = write_vcf(tmp_path / "panel.vcf", calls, samples=["a", "b", "c", "d"])
    places = [Place("22", bp, "A", "G") for bp in (1000, 1010)]
    found = read_panel(path, places, ["d"])
    assert found.alleles.shape == (2, 2 * (3 - unphased))
    assert found.notes[1:] == [
        "panel: 1 samples of the panel are in the cohort too, and left out of it",
        *[f"panel: {unphased} samples of the panel are not phased and left out"] * (unphased > 0),
    ]


def test_the_command_fills_from_a_panel_and_changes_nothing_else(tmp_path, panel):
    path, H = panel
    gone = hidden((60, 10), 0.3)
    calls = calls_of(H[:, :20], gone, "|")
    given = write_vcf(tmp_path / "in.vcf", calls, samples=[f"p{j}" for j in range(10)])
    out = tmp_path / "out.vcf"
    ended = call("impute", given, "-o", out, "--panel", path)
    assert ended.code == 0, ended.err
    assert "haplotypes" in ended.out
    for before, after in zip(records(given), records(out), strict=True):
        assert before[:7] == after[:7]
        for was, now in zip(before[9:], after[9:], strict=True):
            assert now.split(":")[0] == was or was == ".|."
            assert "." not in now.split(":")[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--linkage", "no", "--panel", "PANEL"], "leave --linkage no out"),
        (["--linkage", "yes", "--save-model", "m.safetensors"], "--save-model"),
        (["--panel", "PANEL", "--row-chain"], "--row-chain"),
        (["--map", "missing.map"], "missing.map"),
        (["-o", "PANEL", "--panel", "PANEL", "--force"], "it is one of the inputs"),
    ],
)
def test_options_that_do_not_go_together_are_refused(tmp_path, panel, options, words):
    path, _ = panel
    options = [str(path) if word == "PANEL" else word for word in options]
    before = path.read_bytes()
    given = write_vcf(tmp_path / "in.vcf", [["0/1"] * 3, ["0/0", "./.", "1/1"]])
    ended = call("impute", given, "-o", tmp_path / "out.vcf", *options)
    assert path.read_bytes() == before
    assert ended.code != 0
    assert words in ended.err
