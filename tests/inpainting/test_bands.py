"""Deviations in holes: what they claim is measured on holes that were really left out."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from bmcg.backends import NumbaBackend
from bmcg.inpainting import inpaint
from bmcg.inpainting.patches import learn


def surface(seed, n=40):
    rng = np.random.default_rng(seed)
    f = gaussian_filter(rng.standard_normal((n, n)), 5, mode="wrap")
    picture = 128 + 40 * f / f.std() + rng.standard_normal((n, n))
    top, left = rng.integers(4, n - 19, 2)
    known = np.ones((n, n), dtype=bool)
    known[top : top + 15, left : left + 15] = False
    return picture, known


def test_bands_hold_in_holes_wider_than_a_patch():
    # One hole is one draw: what is claimed is the share over many.
    shares = []
    for seed in range(6):
        picture, known = surface(seed)
        found = inpaint(np.where(known, picture, 0), known, n_jobs=1)
        shares.append((np.abs(found.mean - picture) < 1.645 * found.std)[~known].mean())
    assert np.mean(shares) > 0.88
    assert min(shares) > 0.75


def test_a_hole_in_which_nothing_is_known_teaches_nothing():
    y, x = np.mgrid[:96, :96]
    picture = (100 + 40 * np.sin(x / 2.0) * np.cos(y / 3.0))[None]
    known = np.ones(picture.shape[1:], dtype=bool)
    known[30:62, 30:62] = False
    # Flat where nothing is known: those patches would be a kind of their own.
    flat = np.where(known, picture, 0.0)
    texture, guess = learn(flat, (known, known), flat, 0.0, 0, NumbaBackend(1))
    found = texture.fill(flat, known, ~known, guess, NumbaBackend(1))[0]
    assert np.abs(found - picture)[0, 30:32, 30:62].max() < 10


def test_moved_gaps_keep_their_shape_where_there_is_room():
    from bmcg.inpainting.gaps import moved_gaps

    known = np.ones((60, 80), dtype=bool)
    known[5:20, 3:14] = False
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows, cols = np.nonzero(moved_gaps(known, rng))
        assert np.ptp(rows) < 15
        assert np.ptp(cols) < 11


def test_a_hole_counts_as_a_few_pixels_and_single_pixels_as_themselves():
    from bmcg.inpainting.gaps import independence

    known = np.ones((60, 60), dtype=bool)
    known[10:51, 10:51] = False
    known[2, 2] = known[5, 40] = False
    weight = independence(known)
    assert weight[10:51, 10:51].sum() == pytest.approx(41**2 / 21**2)
    assert weight[2, 2] == weight[5, 40] == 1


def test_errors_by_depth_are_averages_and_grow_beyond_the_deepest():
    from bmcg.inpainting.bands import Profile, Trial
    from bmcg.inpainting.gaps import depth

    held = np.zeros((80, 80), dtype=bool)
    held[5:24, 5:24] = held[40:59, 30:49] = True
    at = depth(~held)
    profile = Profile([(Trial(held, ~held, at), at)])
    depths = np.arange(1.0, 11.0)
    np.testing.assert_allclose(profile(depths), depths, rtol=0.35)
    assert (np.diff(profile(depths)) > 0).all()
    assert profile(np.array(20.0)) / profile(np.array(10.0)) == pytest.approx(4.0, rel=0.1)


def test_halves_of_gaps_share_no_gap():
    from bmcg.inpainting.gaps import halves

    held = np.zeros((30, 30), dtype=bool)
    held[2:8, 2:8] = held[15:20, 3:9] = held[12:25, 20:26] = True
    half = halves(held)
    for gap in (np.s_[2:8, 2:8], np.s_[15:20, 3:9], np.s_[12:25, 20:26]):
        assert half[gap].all() or not half[gap].any()
    assert half.any()
    assert (held & ~half).any()
