"""Pictures and masks on disk, through Pillow."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..files.storage import write_atomically

Array = NDArray[np.float64]
Bool = NDArray[np.bool_]

# Modes whose values are kept as they are; others become the nearest of these.
_KEPT = {"L": 255, "LA": 255, "RGB": 255, "RGBA": 255, "I;16": 65535}
# Formats that keep every pixel as it is.
_EXACT = ("PNG", "TIFF", "BMP", "PPM", "TGA")
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
    profile : bytes or None
        Of its colours (ICC), passed through.
    """

    values: Array
    alpha: NDArray[np.uint8] | None
    top: int
    profile: bytes | None = None


def read_picture(path: Path) -> Picture:
    """Read a grey or colour picture of any format that Pillow knows, as it is shown."""
    with _whole(path):
        image = _open(path)
        profile = None if image.mode in _NEAREST else image.info.get("icc_profile")
        frames = getattr(image, "n_frames", 1)
        # Older Pillows have another name for the 16 bits of a PNG, which has no more.
        deep = image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG")
        if image.mode == "P":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        image = image.convert(_NEAREST.get(image.mode, image.mode))
        values = np.asarray(image)
    if frames > 1:
        raise ValueError(f"{path} holds {frames} pictures; save one of them by itself")
    if deep:
        return Picture(values.astype(np.float64), None, 65535, profile)
    if image.mode not in _KEPT:
        raise ValueError(f"{path} has pixels of type {image.mode}: save it as PNG first")
    if image.mode in ("LA", "RGBA"):
        colours = values[:, :, 0] if image.mode == "LA" else values[:, :, :3]
        return Picture(colours.astype(np.float64), values[:, :, -1].copy(), 255, profile)
    return Picture(values.astype(np.float64), None, 255, profile)


def check_kind(path: Path, picture: Picture) -> bool:
    """Raise unless a picture can be written under a name; returns whether pixels stay exact."""
    kind = _pillow(path).registered_extensions().get(path.suffix.lower())
    if kind not in _pillow(path).SAVE:
        raise ValueError(
            f"cannot write {path}: no kind of picture has names that end in {path.suffix!r}; "
            "use .png, or another that Pillow writes"
        )
    small = Picture(picture.values[:1, :1], None, picture.top)
    if picture.alpha is not None:
        small = replace(small, alpha=picture.alpha[:1, :1])
    try:
        _image(small).save(BytesIO(), format=kind)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(f"cannot write {path}: {error}; use .png") from None
    return kind in _EXACT or (kind == "GIF" and picture.values.ndim == 2)


def write_picture(path: Path, picture: Picture) -> None:
    """Write a picture in the format that its name asks for."""
    image, profile = _image(picture), picture.profile
    try:
        # None where there is none: one that Pillow found for itself is not of these pixels.
        write_atomically(path, lambda name: image.save(name, icc_profile=profile))
    except (KeyError, ValueError) as error:
        raise ValueError(f"cannot write {path}: {error}") from None


def _image(picture: Picture) -> Any:
    from PIL import Image

    kind = np.uint8 if picture.top == 255 else np.uint16
    values = np.clip(np.rint(picture.values), 0, picture.top).astype(kind)
    if picture.alpha is not None:
        values = np.dstack((values, picture.alpha))
    return Image.fromarray(values)


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
    """Which pixels are missing: those that are light in the mask, shape (h, w).

    Of black and one other level, such as masks of 0 and 1 have, the other is the light one;
    otherwise what is lighter than half of white. A mask that marks no pixel, or all, is refused.
    """
    with _whole(path):
        image = _open(path)
        deep = image.mode.startswith("I")
        mask = np.asarray(image if deep else image.convert("L"))
    if mask.shape != shape:
        raise ValueError(
            f"the mask {path} is {mask.shape[1]} x {mask.shape[0]} pixels, the picture "
            f"{shape[1]} x {shape[0]}: they must be of one size"
        )
    levels = np.unique(mask)
    two = len(levels) == 2 and levels[0] == 0
    light = mask > (0 if two else 32767 if deep else 127)
    if not light.any():
        raise ValueError(
            f"the mask {path} marks no pixel: its levels are {_span(levels)}, and missing pixels "
            "are white"
        )
    if light.all():
        raise ValueError(
            f"the mask {path} marks every pixel: its levels are {_span(levels)}, and known pixels "
            "are black"
        )
    return np.asarray(light)


def of_color(picture: Picture, color: str, tolerance: float) -> Bool:
    """Which pixels have a colour, shape (h, w).

    Parameters
    ----------
    picture : Picture
    color : str
        A name, #rrggbb, or a grey level as a number, in the picture's own units.
    tolerance : float
        How far each channel may be from it.
    """
    rgb = _channels(picture, color)
    if picture.values.ndim == 2:
        if len(set(rgb.tolist())) > 1:
            raise ValueError(
                f"the picture is grey and has no pixel of the colour {color}: give a grey level "
                f"from 0 to {picture.top}, or a mask"
            )
        return np.asarray(np.abs(picture.values - rgb[0]) <= tolerance)
    return np.asarray(np.abs(picture.values - rgb).max(axis=2) <= tolerance)


def _channels(picture: Picture, color: str) -> Array:
    """Red, green and blue in the picture's units, shape (3,)."""
    from PIL import ImageColor

    if color.isdecimal():
        if int(color) > picture.top:
            raise ValueError(f"{color} is not a grey level of the picture: 0 to {picture.top} are")
        return np.full(3, float(color))
    try:
        rgb = ImageColor.getrgb(color)[:3]
    except ValueError:
        raise ValueError(
            f"{color!r} is not a colour; write a name, #rrggbb or a grey level"
        ) from None
    return np.array(rgb, dtype=np.float64) * picture.top / 255


def _span(levels: NDArray[Any]) -> str:
    return str(levels[0]) if len(levels) == 1 else f"{levels[0]} to {levels[-1]}"


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """What a broken file raises depends on where it is broken, and on versions."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        raise ValueError(f"{path} is not a picture that can be read: {error}") from None


def _open(path: Path) -> Any:
    image = _pillow(path).open(path)
    image.load()
    from PIL import ImageOps

    # A camera that was turned says so beside the pixels, which would be lost.
    ImageOps.exif_transpose(image, in_place=True)
    return image


def _pillow(path: Path) -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise ImportError(f"{path} needs Pillow: pip install 'bmcg[plot]'") from None
    return Image
