"""Pictures as cameras, editors and other programs write them."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageCms

from bmcg.inpainting import inpaint

from ..cli.conftest import call, refused

WAVE = (120 + 90 * np.outer(np.sin(np.arange(24) / 4), np.cos(np.arange(20) / 5))).astype(np.uint8)
COLOURS = np.dstack([WAVE, WAVE[::-1], 255 - WAVE])
ORIENTATION = 0x112


@pytest.fixture(autouse=True)
def inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    mask = np.zeros((24, 20), dtype=np.uint8)
    mask[6:9, 9:12] = 255
    Image.fromarray(mask).save("mask.png")


def fill(name, out="out.png", *more):
    ended = call("inpaint", name, "--mask", "mask.png", "-o", out, "--jobs", 1, *more)
    assert ended.code == 0, ended.err
    return ended


def test_a_picture_of_a_turned_camera_is_filled_as_it_is_shown():
    # Stored on its side; a program that knows the tag shows it upright, as the mask was drawn.
    stored, exif = Image.fromarray(np.rot90(COLOURS)), Image.Exif()
    exif[ORIENTATION] = 6
    stored.save("in.png", exif=exif)
    fill("in.png")
    with Image.open("out.png") as found:
        assert found.getexif().get(ORIENTATION, 1) == 1
        known = np.asarray(Image.open("mask.png")) == 0
        np.testing.assert_array_equal(np.asarray(found)[known], COLOURS[known])


def test_the_profile_of_the_colours_is_kept():
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    Image.fromarray(COLOURS).save("in.png", icc_profile=profile)
    fill("in.png")
    with Image.open("out.png") as found:
        assert found.info["icc_profile"] == profile


def test_nothing_is_learned_from_what_nobody_sees():
    alpha = np.full((24, 20), 255, dtype=np.uint8)
    alpha[:, :8] = 0
    found = []
    for hidden in (0, 255):
        pixels = np.where(alpha[:, :, None] == 0, hidden, COLOURS).astype(np.uint8)
        Image.fromarray(np.dstack([pixels, alpha])).save("in.png")
        fill("in.png", "out.png", "--force")
        found.append(np.asarray(Image.open("out.png")).copy())
        np.testing.assert_array_equal(found[-1][:, :8, :3], hidden)
    np.testing.assert_array_equal(found[0][:, 8:], found[1][:, 8:])


@pytest.mark.parametrize("shape", [(), (3,)])
def test_a_picture_of_one_colour_stays_so_without_a_word(shape, recwarn):
    picture, known = np.full((24, 20, *shape), 7.0), np.ones((24, 20), dtype=bool)
    picture[6:9, 9:12], known[6:9, 9:12] = np.nan, False
    found = inpaint(picture, known)
    np.testing.assert_array_equal(found.mean, np.full((24, 20, *shape), 7.0))
    np.testing.assert_array_equal(found.std, np.zeros((24, 20, *shape)))
    assert not recwarn.list


@pytest.mark.parametrize(
    ("pixels", "out", "words"),
    [
        (COLOURS, "out", "no kind of picture has names that end in ''"),
        (COLOURS, "out.xyz", "no kind of picture has names that end in '.xyz'"),
        (np.dstack([COLOURS, WAVE]), "out.jpg", "cannot write mode RGBA as JPEG; use .png"),
        (WAVE.astype(np.uint16) * 200, "out.jpg", "use .png"),
    ],
)
def test_a_kind_that_cannot_be_written_is_refused_before_the_work(pixels, out, words, monkeypatch):
    Image.fromarray(pixels).save("in.png")
    monkeypatch.setattr("bmcg.cli.inpaint_work.inpaint", None)
    assert words in refused("inpaint", "in.png", "--mask", "mask.png", "-o", out)


def test_a_kind_that_changes_known_pixels_says_so():
    Image.fromarray(COLOURS).save("in.png")
    assert ".png keeps them" in fill("in.png", "out.jpg").err
    assert not fill("in.png").err
