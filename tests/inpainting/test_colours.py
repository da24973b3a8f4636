"""Colours: channels that say the same tell more together, through the command and from Python."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from bmcg.inpainting import inpaint

from ..cli.conftest import call


@pytest.fixture(scope="module")
def coloured():
    """A picture of stripes and a disc, its noisy colours, and what is known."""
    y, x = np.mgrid[:64, :64]
    grey = 120 + 35 * np.sin(x / 3 + y / 7) + 40 * ((x - 30) ** 2 + (y - 34) ** 2 < 300)
    clean = np.dstack([grey, 0.8 * grey + 20, 230 - 0.9 * grey])
    rng = np.random.default_rng(0)
    seen = np.clip(clean + 15 * rng.standard_normal(clean.shape), 0, 255).round()
    return clean, seen, rng.random(grey.shape) < 0.5


def test_channels_together_are_better_than_alone(coloured):
    clean, seen, known = coloured
    shown = np.where(known[:, :, None], seen, 0.0)
    together = inpaint(shown, known, n_jobs=1).mean
    alone = np.dstack([inpaint(shown[:, :, c], known, n_jobs=1).mean for c in range(3)])
    errors = [np.mean((found - clean)[~known] ** 2) for found in (together, alone)]
    assert errors[0] < 0.85 * errors[1]


def test_the_command_fills_colours_as_python_does(coloured, tmp_path):
    _, seen, known = coloured
    Image.fromarray(seen.astype(np.uint8)).save(tmp_path / "in.png")
    Image.fromarray(np.where(known, 0, 255).astype(np.uint8)).save(tmp_path / "mask.png")
    ended = call(
        *("inpaint", tmp_path / "in.png", "--mask", tmp_path / "mask.png"),
        *("-o", tmp_path / "out.png", "--std-map", tmp_path / "std.npy"),
    )
    assert ended.code == 0, ended.err
    found = inpaint(seen, known)
    expected = np.where(known[:, :, None], seen, np.clip(np.rint(found.mean), 0, 255))
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "out.png")), expected)
    std = np.load(tmp_path / "std.npy")
    np.testing.assert_allclose(std[~known], found.std[~known], rtol=1e-6)
