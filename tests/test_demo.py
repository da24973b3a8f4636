"""The demo's cases are what they claim, and its files are written as promised."""

from __future__ import annotations

import re

import numpy as np
import pytest

import bmcg.demo
from bmcg.demo.cases import draw_cases, draw_scene, mosaics, picture
from bmcg.demo.fits import Outcome, Result
from bmcg.demo.report import html, text


def made_up(case, error):
    matrix = np.nan_to_num(case.data.truth)
    return Result(matrix, np.ones(matrix.shape), 3, 10, 1.5, error, 0.891, 0.1)


def test_cases_repeat_with_the_seed_and_hold_out_what_they_do_not_show():
    for one, same, other in zip(draw_cases(1), draw_cases(1), draw_cases(2), strict=True):
        np.testing.assert_array_equal(one.data.observations.values, same.data.observations.values)
        values = other.data.observations.values
        assert not np.array_equal(one.data.observations.values, values)
        m, n = one.data.observations.shape
        assert len(one.data.observations) + len(one.data.test_values) == m * n
        assert one.again.shape == one.data.test_values.shape


def test_observing_again_adds_the_noise_that_was_stated():
    case = picture(0)
    again = case.again - case.data.test_values
    assert again.std() == pytest.approx(case.noise, rel=0.02)


def test_mosaics_without_mutation_copy_founders_in_stretches():
    rng = np.random.default_rng(0)
    haplotypes = mosaics(300, 40, 3, rng, switch=0.0, mutation=0.0)
    assert len(np.unique(haplotypes, axis=1).T) <= 3
    assert set(np.unique(haplotypes)) == {0.0, 1.0}


def test_scene_is_a_grey_picture_of_the_size_asked_for():
    scene = draw_scene(64)
    assert scene.shape == (64, 64)
    assert scene.min() >= 0.0
    assert scene.max() <= 255.0


def test_report_shows_the_numbers_and_needs_no_other_file(tmp_path):
    case = picture(0)
    outcome = Outcome(case, made_up(case, 27.125), made_up(case, 19.0))
    from bmcg.demo.pictures import draw

    draw(outcome, tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
    page = html([outcome], [tmp_path / "p.png"], 0)
    assert not re.search(r'(?:src|href)="(?!data:)', page)
    for shown in (page, text(outcome)):
        assert "PSNR 27.1 dB" in shown
        assert "PSNR 19.0 dB" in shown
        assert "89.1 %" in shown


def test_demo_leaves_earlier_files_alone_without_force(tmp_path):
    (tmp_path / "picture.png").write_text("precious")
    with pytest.raises(FileExistsError, match="--force"):
        bmcg.demo.run_demo(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["picture.png"]


def test_demo_names_its_folder_and_fills_it(tmp_path, monkeypatch):
    # One case is enough here; `make demo` runs all of them.
    monkeypatch.setattr("bmcg.demo.cases.draw_cases", lambda seed: draw_cases(seed)[1:2])
    said = []
    bmcg.demo.run_demo(tmp_path / "new", say=said.append)
    assert str(tmp_path / "new") in said[-1]
    names = sorted(p.name for p in (tmp_path / "new").iterdir())
    assert names == ["haplotypes.png", "report.html"]
    # The reference panel's graph must be worth having.
    wrong = [float(x) for x in re.findall(r"([\d.]+) % wrong", said[0])]
    assert wrong[0] < 0.7 * wrong[1]
