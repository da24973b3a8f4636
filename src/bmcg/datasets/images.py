"""Grey images with most pixels missing."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..graphs import chain_graph
from ._files import DatasetFormatError, DatasetUnavailableError, Source, locate
from .dataset import Dataset, Floats, add_noise, complete_dataset, random_mask

_SOURCE = Source(
    "Test image",
    "any collection of test images (the paper uses classic ones, such as those of "
    "https://sipi.usc.edu/database/, and the Berkeley segmentation data set), as a PNG",
)
_MODES = ("1", "L", "LA", "P", "RGB", "RGBA")


def load_image(
    name_or_path: str | os.PathLike[str],
    observed: float = 0.1,
    snr_db: float | None = 5.0,
    seed: int = 0,
    mask: ArrayLike | None = None,
    data_dir: str | os.PathLike[str] | None = None,
) -> Dataset:
    """A grey image of which only some pixels are observed, with noise.

    The defaults are those of the paper's inpainting experiment: 10 % of the pixels, noise at
    5 dB. Both graphs are chains with weights exp(−|i − j|²/3), which know nothing of the image.

    Parameters
    ----------
    name_or_path : str or path
        ``"house"`` for ``images/house.png`` in the data folder, or the path of any image file.
        Colours are turned into luminance.
    observed : float
        Share of observed pixels, chosen at random; not used with `mask`.
    snr_db : float or None
        Signal-to-noise ratio of the observed pixels in decibels; None for no noise.
    seed : int
        Of the choice of pixels and of the noise.
    mask : array_like of bool, shape (m, n), optional
        True where a pixel is observed.
    data_dir : path, optional
        Folder that holds ``images/``; by default ``BMCG_DATA``, else a cache.

    Returns
    -------
    Dataset
        `truth` is the image in grey levels from 0 to 255; held out are all pixels that are not
        observed, without noise.
    """
    path = _find(name_or_path, data_dir)
    truth = _read_grey(path)
    rng = np.random.default_rng(seed)
    if mask is None:
        seen = random_mask(truth.shape, observed, rng)
    else:
        seen = _checked_mask(mask, truth.shape)
    m, n = truth.shape
    noise = "no noise" if snr_db is None else f"noise at {snr_db} dB"
    return complete_dataset(
        path.stem,
        truth,
        seen,
        measured=add_noise(truth, snr_db, rng),
        row_graph=chain_graph(m),
        col_graph=chain_graph(n),
        provenance=(
            f"Image {path.name}; {seen.sum()} of {seen.size} pixels observed, {noise}, "
            f"seed {seed}. Graphs: chains along rows and columns, which have seen no pixel."
        ),
        licence="Unknown; that of the image.",
    )


def _find(name_or_path: str | os.PathLike[str], data_dir: str | os.PathLike[str] | None) -> Path:
    given = Path(name_or_path).expanduser()
    if given.suffix or len(given.parts) > 1:
        if not given.is_file():
            raise DatasetUnavailableError(f"name_or_path: there is no file {given}")
        return given
    (path,) = locate(_SOURCE, (f"images/{given.name}.png",), data_dir)
    return path


def _read_grey(path: Path) -> Floats:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise ImportError(f"reading {path} needs Pillow: pip install 'bmcg[plot]'") from None
    try:
        with Image.open(path) as image:
            if image.mode not in _MODES:
                raise DatasetFormatError(
                    f"{path}: expected 8-bit grey levels or colours, found mode {image.mode!r}"
                )
            return np.asarray(image.convert("L"), dtype=np.float64)
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise DatasetFormatError(f"{path} is not a complete image file: {error}") from None


def _checked_mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    seen = np.asarray(mask)
    if seen.shape != shape or seen.dtype != np.bool_:
        raise ValueError(
            f"mask has shape {seen.shape} and type {seen.dtype}, expected {shape} and bool"
        )
    return seen
