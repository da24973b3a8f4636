"""The commands `bmcg info` and `bmcg demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import bmcg.cli.options as o

from .app import app


@app.command()
def info(model: o.Model) -> None:
    """Say what a model holds: rank, noise, how the fit ended, how far each graph was used.

    **Example**

    `bmcg info model.safetensors`
    """
    from .predict_work import load
    from .summary import describe

    typer.echo(describe(load(model), model))


@app.command()
def demo(
    output: Annotated[
        Path,
        typer.Option("-o", "--output", "--out", help="Folder for the pictures and the report."),
    ] = Path("bmcg-demo"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything that is drawn.")] = 0,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier demo in the folder.")
    ] = False,
) -> None:
    """Fit three small cases that are drawn on the spot; write pictures and a report.

    **Example**

    `bmcg demo -o bmcg-demo`
    """
    from ..demo import run_demo
    from .compiling import announced_compilation

    with announced_compilation(verbose=True):
        run_demo(output, seed=seed, force=force, say=typer.echo)
