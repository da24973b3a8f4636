"""Pictures: known pixels stay, missing ones come back, and the command says what is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from bmcg.backends import NumbaBackend
from bmcg.inpainting import inpaint
from bmcg.inpainting.field import Stiffness, smooth_field
from bmcg.inpainting.gaps import hold_out
from bmcg.inpainting.grids import COVER_WITH, covering_grid, patch_grid
from bmcg.inpainting.patches import learn, most_probable
from bmcg.metrics import psnr

from ..cli.conftest import call, refused


def textured(h=48, w=56):
    y, x = np.mgrid[:h, :w]
    return 120 + 50 * np.sin(x / 3.0 + y / 7.0) + 30 * (y > h / 2) + 0.5 * x


@pytest.fixture(scope="module")
def filled():
    picture = textured()
    known = np.random.default_rng(0).random(picture.shape) < 0.4
    return picture, known, inpaint(np.where(known, picture, 0), known, n_jobs=1)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "in.png"
    Image.fromarray(textured().astype(np.uint8)).save(path)
    return path


def test_patches_cover_every_pixel_and_hold_their_own():
    shape = (19, 23)
    at = patch_grid(shape, 3).pixels(slice(None))
    assert set(at.ravel().tolist()) == set(range(19 * 23))
    y, x = np.unravel_index(at[5], shape)
    assert len(set(at[5].tolist())) == 64
    assert np.ptp(y) == np.ptp(x) == 7


def test_patches_that_are_fully_known_are_reproduced():
    picture = textured()[None]
    everything, pool = np.ones(picture.shape[1:], dtype=bool), NumbaBackend(1)
    texture, _ = learn(picture, (everything, everything), picture, 0.0, 0, pool)
    mean, variance = texture.fill(picture, everything, ~everything, picture, pool)
    assert np.sqrt(np.mean((mean - picture) ** 2)) < 2.0
    assert (variance > 0).all()


def two_textures():
    y, x = np.mgrid[:64, :128]
    picture = 100 + 40 * np.where(x < 64, np.sin(x / 2.0), np.sin(y / 2.0))
    return picture, np.random.default_rng(0).random(picture.shape) < 0.5


def test_patches_of_two_textures_are_told_apart():
    picture, known = two_textures()
    values, pool = picture[None], NumbaBackend(1)
    texture, guess = learn(values, (known, ~known), values, 0.0, 0, pool)
    assert len(texture.ranks) > 1
    at = patch_grid((64, 128), 4).pixels(slice(None))
    x = np.where(known, picture - texture.level[0], 0.0).ravel()[at]
    filled = (guess - texture.level[0]).ravel()[at]
    kind = most_probable(texture.gaussians, x[None], known.ravel()[at], filled[None], pool)
    column = at[:, 0] % 128
    a, b = set(kind[column < 48].tolist()), set(kind[column > 72].tolist())
    assert not a & b


def test_few_kinds_asked_are_nearly_as_good_as_all():
    picture, known = (np.vstack(pair) for pair in zip(two_textures(), two_textures(), strict=True))
    pool = NumbaBackend(1)
    texture, guess = learn(picture[None], (known, ~known), picture[None], 0.0, 0, pool)
    at = patch_grid((128, 128), 3).pixels(slice(None))
    x = np.where(known, picture - texture.level[0], 0.0).ravel()[at][None]
    filled = (guess - texture.level[0]).ravel()[at][None]
    seen = known.ravel()[at]
    few = most_probable(texture.gaussians, x, seen, filled, pool)
    own, kinds = texture.gaussians[0], len(texture.ranks)
    told = [own.evidence(x[0], seen, np.full(len(at), k), pool) for k in range(kinds)]
    every = (np.stack(told, axis=1) + own.of_whole(filled[0])).argmax(axis=1)
    assert kinds > 2
    assert np.mean(few == every) > 0.9


def test_large_pictures_are_covered_by_patches_further_apart():
    small, large = (
        covering_grid((side, side), np.ones((side, side), dtype=bool)) for side in (64, 1024)
    )
    assert 57 * 57 / 3 < len(small.corners) < 57 * 57 / 2
    assert len(large.corners) <= COVER_WITH
    at = large.pixels(slice(None))
    assert np.bincount(at.ravel(), minlength=large.size).min() > 0


def test_patches_lie_close_only_where_pixels_are_wanted():
    wanted = np.zeros((64, 64), dtype=bool)
    wanted[20, 30] = True
    grid = covering_grid((64, 64), wanted)
    top, left = np.divmod(grid.corners, 64)
    holds = (top <= 20) & (top > 12) & (left <= 30) & (left > 22)
    assert 21 <= holds.sum() <= 25
    assert ((top[~holds] % 4 == 0) & (left[~holds] % 4 == 0)).all()


def test_kept_back_pixels_do_not_follow_a_mask_of_the_same_seed():
    known = np.random.default_rng(0).random((200, 200)) >= 0.7
    held = hold_out(known, np.random.default_rng([0, 1]))
    assert (held <= known).all()
    assert 0.08 < held.sum() / known.sum() < 0.12


def test_texture_comes_back_better_than_from_a_smooth_surface(filled):
    picture, known, found = filled
    surface = smooth_field(np.where(known, picture, 0), known, Stiffness(1e-2, 0.1))
    whole = psnr(picture, np.where(known, picture, found.mean))
    assert whole > psnr(picture, np.where(known, picture, surface)) + 1.0
    assert whole > 30


def test_standard_deviations_are_those_of_the_errors():
    # Without noise the picture is of low rank and comes back to the last digits.
    rng = np.random.default_rng(0)
    picture = textured() + 3.0 * rng.standard_normal(textured().shape)
    known = rng.random(picture.shape) < 0.4
    found = inpaint(np.where(known, picture, 0), known, n_jobs=1)
    z = ((found.mean - picture) / found.std)[~known]
    assert 0.7 < z.std() < 1.5


def test_colours_are_filled_together():
    picture = np.dstack([textured(32, 32), 255 - textured(32, 32), textured(32, 32) / 2])
    known = np.random.default_rng(0).random((32, 32)) < 0.5
    found = inpaint(picture, known, n_jobs=1)
    assert found.mean.shape == found.std.shape == picture.shape
    assert psnr(picture, np.where(known[:, :, None], picture, found.mean)) > 28


@pytest.mark.parametrize("shape", [(1, 30), (3, 3), (20, 2), (9, 40)])
def test_any_size_and_few_known_pixels_will_do(shape):
    known = np.zeros(shape, dtype=bool)
    known.flat[::3] = True
    found = inpaint(np.full(shape, 7.0), known, n_jobs=1)
    np.testing.assert_allclose(found.mean, 7.0, atol=1e-3)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (np.zeros((48, 56), bool), "no pixel is known"),
        (np.ones((5, 5), bool), "known has shape"),
        (np.ones((48, 56)), "bool"),
    ],
)
def test_bad_masks_are_refused(known, words):
    with pytest.raises(ValueError, match=words):
        inpaint(textured(), known)


def test_the_command_fills_by_mask_colour_transparency_and_drop(file, tmp_path):
    picture = np.asarray(Image.open(file))
    gone = np.random.default_rng(0).random(picture.shape) < 0.5
    Image.fromarray(np.where(gone, 255, 0).astype(np.uint8)).save(tmp_path / "mask.png")
    marked = np.where(gone, 0, np.maximum(picture, 1))
    Image.fromarray(marked.astype(np.uint8)).save(tmp_path / "black.png")
    clear = np.dstack((picture, np.where(gone, 0, 255))).astype(np.uint8)
    Image.fromarray(clear).save(tmp_path / "clear.png")
    for name, source, options in (
        ("a", file, ("--mask", tmp_path / "mask.png", "--std-map", tmp_path / "std.npy")),
        ("b", tmp_path / "black.png", ("--missing-color", "black")),
        ("c", tmp_path / "clear.png", ()),
    ):
        out = tmp_path / f"{name}.png"
        ended = call("inpaint", source, "-o", out, *options)
        assert ended.code == 0, ended.err
        assert f"{gone.sum()} of {gone.size} pixels" in ended.out
        found = np.asarray(Image.open(out))
        found = found[:, :, 0] if found.ndim == 3 else found
        np.testing.assert_array_equal(found[~gone], picture[~gone])
        assert psnr(picture, found) > 28
    std = np.load(tmp_path / "std.npy")
    assert (std[gone] > 0).all()
    assert (std[~gone] == 0).all()
    ended = call("inpaint", file, "--drop", "0.5", "-o", tmp_path / "d.png", "--denoise")
    assert ended.code == 0, ended.err
    assert "PSNR" in ended.out


def test_denoising_cleans_known_pixels(tmp_path):
    clean = textured()
    noisy = np.clip(clean + 20 * np.random.default_rng(0).standard_normal(clean.shape), 0, 255)
    Image.fromarray(noisy.astype(np.uint8)).save(tmp_path / "noisy.png")
    ended = call(
        "inpaint", tmp_path / "noisy.png", "--drop", "0.3", "--denoise", "-o", tmp_path / "o.png"
    )
    assert ended.code == 0, ended.err
    found = np.asarray(Image.open(tmp_path / "o.png"), dtype=float)
    assert psnr(clean, found) > psnr(clean, noisy) + 4


def test_sixteen_bits_stay_sixteen_bits(tmp_path):
    deep = (textured() * 200).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "deep.png")
    ended = call("inpaint", tmp_path / "deep.png", "--drop", "0.3", "-o", tmp_path / "out.png")
    assert ended.code == 0, ended.err
    found = np.asarray(Image.open(tmp_path / "out.png"))
    assert found.max() > 255
    gone = np.random.default_rng(0).random(deep.shape) < 0.3
    np.testing.assert_array_equal(found[~gone], deep[~gone])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "which pixels"),
        (("--mask", "SMALL"), "of one size"),
        (("--mask", "TEXT"), "not a picture"),
        (("--mask", "WHITE"), "marks every pixel"),
        (("--missing-color", "puce-ish"), "not a colour"),
        (("--missing-color", "#123456"), "no pixel of the colour"),
        (("--drop", "0.5", "--missing-color", "black"), "give one of them"),
    ],
)
def test_bad_pictures_are_refused_with_a_way_out(file, tmp_path, options, words):
    Image.fromarray(np.zeros((4, 4), np.uint8)).save(tmp_path / "small.png")
    Image.fromarray(np.full((48, 56), 255, np.uint8)).save(tmp_path / "white.png")
    (tmp_path / "text.png").write_text("no picture")
    names = {"SMALL": "small.png", "TEXT": "text.png", "WHITE": "white.png"}
    options = [tmp_path / names[word] if word in names else word for word in options]
    assert words in refused("inpaint", file, "-o", tmp_path / "out.png", *options)
    assert not (tmp_path / "out.png").exists()


def test_the_input_is_never_overwritten(file):
    before = file.read_bytes()
    assert "one of the inputs" in refused("inpaint", file, "--drop", "0.5", "-o", file, "--force")
    assert file.read_bytes() == before


def test_threads_do_not_change_a_pixel(filled):
    picture, known, found = filled
    again = inpaint(np.where(known, picture, 0), known, n_jobs=2)
    np.testing.assert_array_equal(again.mean, found.mean)
    np.testing.assert_array_equal(again.std, found.std)


def test_a_picture_whose_lines_repeat_comes_back_better_than_from_patches_alone():
    rng = np.random.default_rng(1)
    tall, wide = rng.standard_normal((64, 2)), rng.standard_normal((2, 64))
    picture = 120 + 25 * tall @ wide
    known = rng.random(picture.shape) < 0.4
    found = inpaint(np.where(known, picture, 0), known, n_jobs=1)
    masks = known, ~known
    texture, guess = learn(picture[None], masks, picture[None], 0.0, 0, NumbaBackend(1))
    patches = texture.fill(picture[None], known, ~known, guess, NumbaBackend(1))[0][0]
    assert psnr(picture, found.mean) > psnr(picture, patches) + 3


def test_gaps_kept_back_have_the_shape_of_the_missing_ones():
    known = np.ones((120, 90), dtype=bool)
    known[:, 40:43] = False
    held = hold_out(known, np.random.default_rng([0, 1]))
    assert 0.05 < held.sum() / known.sum() < 0.25
    columns = held.sum(axis=0)
    assert set(columns.tolist()) <= {0, 120}
