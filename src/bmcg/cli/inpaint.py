"""The command `bmcg inpaint`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


@app.command()
def inpaint(
    picture: Annotated[
        Path,
        typer.Argument(metavar="PICTURE", help="A grey or colour picture (PNG, JPEG, TIFF, ...)."),
    ],
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Picture to write.", show_default=False)
    ],
    mask: Annotated[
        Path | None,
        typer.Option(
            help="Picture of the same size that is white where pixels are missing.",
            show_default=False,
        ),
    ] = None,
    missing_color: Annotated[
        str | None,
        typer.Option(
            metavar="C",
            help="Colour of missing pixels: black, #ff00ff, ... or a grey level, 128.",
            show_default=False,
        ),
    ] = None,
    tolerance: Annotated[
        float, typer.Option(min=0.0, help="How far a colour may be from --missing-color.")
    ] = 0.0,
    drop: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Try it out: remove this share of the pixels and report how well they come back.",
            show_default=False,
        ),
    ] = None,
    std_map: Annotated[
        Path | None,
        typer.Option(
            help="Picture (or .npy) of the standard deviations, in grey levels.",
            show_default=False,
        ),
    ] = None,
    keep_known: Annotated[
        bool,
        typer.Option("--keep-known/--denoise", help="Keep known pixels, or clean them as well."),
    ] = True,
    seed: o.Seed = 0,
    jobs: o.Jobs = None,
    verbose: o.Verbose = False,
    force: o.Force = False,
) -> None:
    """Fill the missing pixels of a picture.

    Without --mask, --missing-color and --drop, the transparent pixels are the missing ones.

    **Examples**

    `bmcg inpaint scratched.png --mask scratches.png -o repaired.png`

    `bmcg inpaint photo.jpg --drop 0.7 -o filled.png --std-map doubt.png`
    """
    from .inpaint_work import Missing, inpaint_file

    missing = Missing(mask, missing_color, tolerance, drop)
    parameters = {"random_state": seed, "n_jobs": jobs, "verbose": verbose}
    inpaint_file(picture, missing, output, std_map, keep_known, parameters, force)
