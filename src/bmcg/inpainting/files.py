"""Pictures and masks on disk, through Pillow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.storage import write_atomically

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

# Modes whose values are kept as they are; others become the nearest of these.
_KEPT = {"L": 255, "LA": 255, "RGB": 255, "RGBA": 255, "I;16": 65535}
_NEAREST = {"1": "L", "CMYK": "RGB", "YCbCr": "RGB", "HSV": "RGB", "LAB": "RGB", "PA": "RGBA"}


@dataclass(frozen=True)
class Picture:
    """A picture as arrays.

    Attributes
    ----------
    values : ndarray of shape (h, w) or (h, w, channels)
        Grey levels or colours, without transparency.
    alpha : ndarray of uint8, shape (h, w), or None
        Transparency, passed through.
    top : int
        The largest value a pixel can have.
    """

    values: Array
    alpha: NDArray[np.uint8] | None
    top: int


def read_picture(path: Path) -> Picture:
    """Read a grey or colour picture of any format that Pillow knows."""
    image = _open(path)
    if getattr(image, "n_frames", 1) > 1:
        raise ValueError(f"{path} holds {image.n_frames} pictures; save one of them by itself")
    if image.mode == "P":
        image = image.convert("RGBA" if "transparency" in image.info else "RGB")
    if image.mode.startswith("I;16"):
        return Picture(np.asarray(image, dtype=np.float64), None, 65535)
    if image.mode not in _KEPT:
        if image.mode not in _NEAREST:
            raise ValueError(f"{path} has pixels of type {image.mode}: save it as PNG first")
        image = image.convert(_NEAREST[image.mode])
    values = np.asarray(image)
    if image.mode in ("LA", "RGBA"):
        colours = values[:, :, 0] if image.mode == "LA" else values[:, :, :3]
        return Picture(colours.astype(np.float64), values[:, :, -1].copy(), 255)
    return Picture(values.astype(np.float64), None, 255)


def write_picture(path: Path, picture: Picture) -> None:
    """Write a picture in the format that its name asks for."""
    Image = _pillow(path)
    kind = np.uint8 if picture.top == 255 else np.uint16
    values = np.clip(np.rint(picture.values), 0, picture.top).astype(kind)
    if picture.alpha is not None:
        values = np.dstack((values, picture.alpha))
    image = Image.fromarray(values)
    try:
        write_atomically(path, image.save)
    except (KeyError, ValueError) as error:
        raise ValueError(f"cannot write {path}: {error}") from None


def write_levels(path: Path, levels: Array, top: int) -> None:
    """Write an array of levels, .npy with all digits, else as a picture; colours averaged."""
    if path.suffix.lower() == ".npy":

        def save(temporary: str) -> None:
            with open(temporary, "wb") as file:
                np.save(file, levels)

        write_atomically(path, save)
        return
    grey = levels if levels.ndim == 2 else np.sqrt((levels**2).mean(axis=2))
    write_picture(path, Picture(grey, None, top))


def read_mask(path: Path, shape: tuple[int, int]) -> Bool:
    """Which pixels are missing: those that are light in the mask, shape (h, w)."""
    mask = np.asarray(_open(path).convert("L"))
    if mask.shape != shape:
        raise ValueError(
            f"the mask {path} is {mask.shape[1]} x {mask.shape[0]} pixels, the picture "
            f"{shape[1]} x {shape[0]}: they must be of one size"
        )
    return mask > 127


def of_color(picture: Picture, color: str, tolerance: float) -> Bool:
    """Which pixels have a colour, by name or as #rrggbb, shape (h, w)."""
    from PIL import ImageColor

    try:
        rgb = np.array(ImageColor.getrgb(color)[:3], dtype=np.float64)
    except ValueError:
        raise ValueError(f"{color!r} is not a colour; write a name or #rrggbb") from None
    if picture.values.ndim == 2:
        grey = rgb.mean() * picture.top / 255
        return np.abs(picture.values - grey) <= tolerance
    return np.asarray(np.abs(picture.values - rgb).max(axis=2) <= tolerance)


def _open(path: Path) -> Any:
    Image = _pillow(path)
    try:
        image = Image.open(path)
        image.load()
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{path} is not a picture that can be read: {error}") from None
    return image


def _pillow(path: Path) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"{path} needs Pillow: pip install 'bmcg[plot]'") from None
    return Image
