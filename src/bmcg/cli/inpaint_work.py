"""Filling pictures on disk."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray

from ..inpainting import inpaint
from ..inpainting.files import (
    Picture,
    check_kind,
    of_color,
    read_mask,
    read_picture,
    write_levels,
    write_picture,
)
from .compiling import announced_compilation
from .outcome import UserError, check_input, check_output, say, spoken_warnings

Bool = NDArray[np.bool_]


@dataclass(frozen=True)
class Missing:
    """How the missing pixels are told: by one of these, else by transparency."""

    mask: Path | None
    color: str | None
    tolerance: float
    drop: float | None


def inpaint_file(
    path: Path,
    missing: Missing,
    output: Path,
    std_map: Path | None,
    keep_known: bool,
    parameters: dict[str, Any],
    force: bool,
) -> None:
    """Fill a picture and write it."""
    for given in (path, missing.mask):
        if given is not None:
            check_input(given)
    for made in (output, std_map):
        if made is not None:
            check_output(made, force, (path, missing.mask))
    if std_map is not None and output.resolve() == std_map.resolve():
        raise UserError("-o and --std-map are two files: give two names")
    picture = read_picture(path)
    if not check_kind(output, picture) and keep_known:
        say(f"warning: {output.suffix} changes pixels that were known a little; .png keeps them")
    if std_map is not None and std_map.suffix.lower() != ".npy":
        check_kind(std_map, Picture(picture.values[:, :, :1].squeeze(), None, picture.top))
    gone = _missing(path, picture, missing, parameters["random_state"])
    if keep_known and not gone.any():
        raise UserError(f"{path}: no pixel is missing; --denoise cleans the known ones")
    # What nobody sees has a colour by accident.
    shown = np.full(gone.shape, True) if picture.alpha is None else picture.alpha > 0
    if not (shown & ~gone).any():
        raise UserError(f"{path}: every pixel is missing, there is nothing to fill it from")
    with spoken_warnings(), announced_compilation(parameters["verbose"]):
        found = inpaint(picture.values, shown & ~gone, **parameters)
    change = gone if keep_known else gone | shown
    filled, std = picture.values.copy(), np.zeros_like(picture.values)
    filled[change], std[change] = found.mean[change], found.std[change]
    alpha = picture.alpha
    if alpha is not None:
        alpha = np.where(gone, np.uint8(255), alpha)
    made_picture = replace(picture, values=filled, alpha=alpha)
    write_picture(output, made_picture)
    if std_map is not None:
        write_levels(std_map, std, picture.top)
    score = _score(picture, filled, gone, missing)
    cleaned = "" if keep_known else ", the others cleaned"
    typer.echo(f"{output}: {gone.sum()} of {gone.size} pixels filled{cleaned}{score}")


def _missing(path: Path, picture: Picture, missing: Missing, seed: int) -> Bool:
    given = (missing.mask, missing.color, missing.drop)
    if sum(part is not None for part in given) > 1:
        raise UserError("--mask, --missing-color and --drop: give one of them")
    if missing.tolerance and missing.color is None:
        raise UserError("--tolerance is about --missing-color: give both, or neither")
    shape = picture.values.shape[:2]
    if missing.mask is not None:
        return read_mask(missing.mask, (shape[0], shape[1]))
    if missing.color is not None:
        found = of_color(picture, missing.color, missing.tolerance)
        if not found.any():
            raise UserError(
                f"{path} has no pixel of the colour {missing.color}; a larger --tolerance "
                "takes near ones, JPEG files rarely keep a colour exactly"
            )
        return found
    if missing.drop is not None:
        return np.random.default_rng(seed).random(shape) < missing.drop
    if picture.alpha is None or not (picture.alpha == 0).any():
        raise UserError(
            f"which pixels of {path} are missing? pass --mask FILE, --missing-color C or "
            "--drop SHARE (transparent pixels would be taken, but there are none)"
        )
    return picture.alpha == 0


def _score(picture: Picture, filled: Any, gone: Bool, missing: Missing) -> str:
    if missing.drop is None or not gone.any():
        return ""
    error = np.mean((np.clip(filled, 0, picture.top) - picture.values)[gone] ** 2)
    decibel = 10 * np.log10(picture.top**2 / max(error, 1e-12))
    whole = 10 * np.log10(picture.top**2 / max(error * gone.mean(), 1e-12))
    return f", PSNR {whole:.2f} dB ({decibel:.2f} dB over the filled pixels)"
