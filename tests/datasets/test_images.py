from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bmcg.datasets import DatasetFormatError, DatasetUnavailableError, load_image
from bmcg.graphs import chain_graph

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def pixels() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, size=(24, 18)).astype(np.uint8)


@pytest.fixture
def folder(tmp_path: Path, pixels) -> Path:
    (tmp_path / "images").mkdir()
    Image.fromarray(pixels).save(tmp_path / "images" / "toy.png")
    return tmp_path


def test_an_image_is_found_by_name_and_by_path(folder: Path, pixels) -> None:
    by_name = load_image("toy", data_dir=folder)
    by_path = load_image(folder / "images" / "toy.png")
    np.testing.assert_array_equal(by_name.truth, pixels)
    np.testing.assert_array_equal(by_path.truth, pixels)
    np.testing.assert_array_equal(by_name.observations.values, by_path.observations.values)


def test_without_noise_observed_pixels_are_the_image(folder: Path, pixels) -> None:
    data = load_image("toy", observed=0.25, snr_db=None, data_dir=folder)
    obs = data.observations
    assert len(obs) == round(0.25 * pixels.size)
    np.testing.assert_array_equal(obs.values, pixels[obs.row_indices, obs.col_indices])
    np.testing.assert_array_equal(data.test_values, pixels[data.test_rows, data.test_cols])


def test_held_out_pixels_carry_no_noise(folder: Path, pixels) -> None:
    data = load_image("toy", snr_db=5.0, data_dir=folder)
    np.testing.assert_array_equal(data.test_values, pixels[data.test_rows, data.test_cols])
    obs = data.observations
    assert np.abs(obs.values - pixels[obs.row_indices, obs.col_indices]).min() > 0.0


def test_a_mask_is_followed_exactly(folder: Path, pixels) -> None:
    mask = np.ones(pixels.shape, dtype=bool)
    mask[8:12] = False
    data = load_image("toy", mask=mask, data_dir=folder)
    seen = np.zeros(pixels.shape, dtype=bool)
    seen[data.observations.row_indices, data.observations.col_indices] = True
    np.testing.assert_array_equal(seen, mask)


@pytest.mark.parametrize("mask", [np.ones((3, 3), dtype=bool), np.ones((24, 18))])
def test_a_mask_of_another_shape_or_type_is_refused(folder: Path, mask) -> None:
    with pytest.raises(ValueError, match="mask has shape"):
        load_image("toy", mask=mask, data_dir=folder)


def test_an_empty_mask_is_refused(folder: Path, pixels) -> None:
    with pytest.raises(ValueError, match="no entry observed"):
        load_image("toy", mask=np.zeros(pixels.shape, dtype=bool), data_dir=folder)


def test_graphs_are_chains_along_both_sides(folder: Path) -> None:
    data = load_image("toy", data_dir=folder)
    assert (data.row_graph != chain_graph(24)).nnz == 0
    assert (data.col_graph != chain_graph(18)).nnz == 0


def test_damaged_missing_and_deep_images_are_refused(folder: Path, pixels) -> None:
    path = folder / "images" / "toy.png"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DatasetFormatError, match=r"toy\.png is not a complete image"):
        load_image("toy", data_dir=folder)
    path.write_text("not an image")
    with pytest.raises(DatasetFormatError, match=r"toy\.png is not a complete image"):
        load_image(path)
    Image.fromarray(pixels.astype(np.uint16) * 256).save(path)
    with pytest.raises(DatasetFormatError, match="8-bit"):
        load_image(path)
    with pytest.raises(DatasetUnavailableError, match=r"images.house\.png"):
        load_image("house", data_dir=folder)
    with pytest.raises(DatasetUnavailableError, match=r"there is no file .*gone\.png"):
        load_image(folder / "gone.png")


def test_a_missing_pillow_is_named_with_its_extra(folder: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match=r"pip install 'bmcg\[plot\]'"):
        load_image("toy", data_dir=folder)


@pytest.mark.parametrize(
    "name", ["house", "peppers", "baboon", "barbara", "bridge", "facade", "airplane"]
)
def test_real_images_are_grey_and_256_pixels_wide(real_data: Path, name: str) -> None:
    data = load_image(name)
    assert data.truth.shape == (256, 256)
    assert len(data.observations) == round(0.1 * 256 * 256)
