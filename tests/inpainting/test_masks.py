"""Which pixels are missing: masks of any two levels, colours the picture can have, and Ctrl-C."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from PIL import Image

from bmcg.inference import variational as loop
from bmcg.inpainting import inpaint
from bmcg.inpainting.files import read_mask

from ..cli.conftest import call, refused


def drawn(h=24, w=24):
    y, x = np.mgrid[:h, :w]
    return (100 + 40 * np.sin(x / 3.0 + y / 5.0)).astype(np.uint8)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "in.png"
    Image.fromarray(drawn()).save(path)
    return path


def masks(gone):
    """The same pixels marked in the ways that programs write masks."""
    palette = Image.fromarray(gone.astype(np.uint8))
    palette.putpalette([0, 0, 0, 128, 0, 0])
    return {
        "0 and 255": Image.fromarray(np.where(gone, 255, 0).astype(np.uint8)),
        "0 and 1": Image.fromarray(gone.astype(np.uint8)),
        "one bit": Image.fromarray(gone),
        "palette": palette,
        "sixteen bits": Image.fromarray(gone.astype(np.uint16)),
        "soft edges": Image.fromarray(np.where(gone, 200, 0).astype(np.uint8) + drawn() // 8),
    }


def test_masks_mark_the_same_pixels_whatever_their_levels(tmp_path):
    gone = np.random.default_rng(0).random((24, 24)) < 0.2
    for name, image in masks(gone).items():
        image.save(tmp_path / "mask.png")
        found = read_mask(tmp_path / "mask.png", (24, 24))
        np.testing.assert_array_equal(found, gone, err_msg=name)


def test_a_mask_of_zeros_and_ones_fills_its_pixels(file, tmp_path):
    gone = np.random.default_rng(0).random((24, 24)) < 0.2
    masks(gone)["0 and 1"].save(tmp_path / "mask.png")
    options = ("--mask", tmp_path / "mask.png", "-o", tmp_path / "out.png")
    ended = call("inpaint", file, *options, "--std-map", tmp_path / "std.npy")
    assert ended.code == 0, ended.err
    assert f"{gone.sum()} of {gone.size} pixels filled" in ended.out
    np.testing.assert_array_equal(np.load(tmp_path / "std.npy") > 0, gone)


@pytest.mark.parametrize(("level", "words"), [(0, "marks no pixel"), (1, "marks no pixel")])
def test_masks_that_mark_nothing_are_refused(file, tmp_path, level, words):
    Image.fromarray(np.full((24, 24), level, np.uint8)).save(tmp_path / "mask.png")
    message = refused("inpaint", file, "--mask", tmp_path / "mask.png", "-o", tmp_path / "o.png")
    assert words in message
    assert f"levels are {level}" in message
    assert not (tmp_path / "o.png").exists()


def test_masks_that_mark_everything_are_refused_by_name(file, tmp_path):
    Image.fromarray(np.full((24, 24), 255, np.uint8)).save(tmp_path / "mask.png")
    message = refused("inpaint", file, "--mask", tmp_path / "mask.png", "-o", tmp_path / "o.png")
    assert "marks every pixel" in message


def test_losing_no_pixel_is_refused_unless_the_known_are_cleaned(file, tmp_path):
    command = ("inpaint", file, "--drop", "0", "-o", tmp_path / "o.png")
    assert "no pixel is missing" in refused(*command)
    ended = call(*command, "--denoise")
    assert ended.code == 0, ended.err
    assert "0 of 576 pixels filled, the others cleaned" in ended.out


@pytest.mark.parametrize("color", ["#ff00ff", "red"])
def test_a_grey_picture_has_no_pixels_of_a_colour(tmp_path, color):
    picture = drawn()
    picture[3:6, 3:6] = {"#ff00ff": 170, "red": 85}[color]
    Image.fromarray(picture).save(tmp_path / "in.png")
    message = refused(
        "inpaint", tmp_path / "in.png", "--missing-color", color, "-o", tmp_path / "o.png"
    )
    assert "the picture is grey" in message
    assert color in message


def test_grey_levels_name_missing_pixels_in_the_units_of_the_picture(tmp_path):
    for top, kind, level in ((255, np.uint8, 222), (65535, np.uint16, 54321)):
        picture = drawn().astype(kind) * kind(top // 255)
        picture[5:8, 5:8] = level
        Image.fromarray(picture).save(tmp_path / "in.png")
        command = ("inpaint", tmp_path / "in.png", "-o", tmp_path / "o.png", "--force")
        ended = call(*command, "--missing-color", level)
        assert ended.code == 0, ended.err
        assert "9 of 576 pixels filled" in ended.out
        assert f"0 to {top} are" in refused(*command, "--missing-color", top + 1)


def test_a_tolerance_without_a_colour_is_refused(file, tmp_path):
    message = refused("inpaint", file, "--drop", "0.3", "--tolerance", "5", "-o", "o.png")
    assert "--missing-color" in message


@pytest.mark.skipif(os.name != "posix", reason="signals as shells send them")
@pytest.mark.parametrize("after", [1, 3])
def test_ctrl_c_at_any_sweep_ends_the_whole_and_writes_nothing(file, tmp_path, monkeypatch, after):
    step, steps = loop._Loop._step, []

    def interrupt(self, *arguments):
        steps.append(len(self.trace))
        if len(steps) == after:
            os.kill(os.getpid(), signal.SIGINT)
        return step(self, *arguments)

    monkeypatch.setattr(loop._Loop, "_step", interrupt)
    ended = call("inpaint", file, "--drop", "0.5", "-o", tmp_path / "o.png")
    assert ended.code == 130
    assert ended.err == "interrupted: nothing was written\n"
    assert len(steps) == after
    assert not (tmp_path / "o.png").exists()


@pytest.mark.skipif(os.name != "posix", reason="signals as shells send them")
def test_a_signal_that_a_fit_keeps_to_itself_still_ends_the_whole(monkeypatch):
    from bmcg import BMCG

    fit, fits = BMCG.fit, []

    def swallowing(self, *arguments):
        fits.append(1)
        try:
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                pass
        except KeyboardInterrupt:
            return fit(self, *arguments)

    monkeypatch.setattr(BMCG, "fit", swallowing)
    before = signal.getsignal(signal.SIGINT)
    known = np.random.default_rng(0).random((24, 24)) < 0.5
    with pytest.raises(KeyboardInterrupt):
        inpaint(drawn(), known, n_jobs=1)
    assert len(fits) == 1
    assert signal.getsignal(signal.SIGINT) is before
