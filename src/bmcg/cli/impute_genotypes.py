"""Genotypes filled: along the chromosome, from a panel, or by one low-rank matrix."""

from __future__ import annotations

from typing import Any

from ..estimators import BMCG
from ..imputing.genotypes import FilledGenotypes
from ..imputing.linkage import Along, Copied
from ..imputing.plink import PlinkSource
from ..imputing.positions import along, read_panel
from ..imputing.vcf import VcfSource
from .impute_check import Alike, Files, Reading, asks_for_low_rank
from .outcome import UserError, say


def fill_calls(
    source: VcfSource | PlinkSource,
    graphs: list[Any],
    files: Files,
    reading: Reading,
    alike: Alike,
    parameters: dict[str, Any],
) -> tuple[FilledGenotypes, BMCG | Copied | None]:
    """The missing calls; without a model where none can be filled."""
    linkage = reading.linkage
    if linkage == "auto" and reading.panel is None:
        asked = asks_for_low_rank(files, alike)
        if parameters["rank"] is not None:
            asked.append("--rank")
        if asked:
            linkage = False
            if reading.map is not None:
                raise UserError(f"--map is for calls that are copied, {asked[0]} for low rank")
    where = None if linkage is False else _along(source, reading)
    if where is None and linkage is True:
        raise UserError("--linkage yes: a position of the file is not a whole number")
    filled, model = source.fill(*graphs, along=where, linkage=linkage, **parameters)
    if model is None and files.model is not None:
        raise UserError("--save-model: no call can be filled, so there is no model to save")
    return filled, model


def _along(source: VcfSource | PlinkSource, reading: Reading) -> Along | None:
    """Where the sites lie, with the panel's haplotypes."""
    if source.places is None:
        return None
    panel = None
    if reading.panel is not None:
        assert source.col_names is not None
        panel = read_panel(reading.panel, source.places, source.col_names.tolist())
        for note in panel.notes:
            say(note)
    return along(source.places, reading.map, panel)
