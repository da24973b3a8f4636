"""CONTRIBUTING's map names every room, and its table of places leads to the line."""

from __future__ import annotations

import re
from pathlib import Path

import bmcg

HOUSE = Path(bmcg.__file__).parent
TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()


def test_the_map_has_every_room_and_no_other():
    section = TEXT[TEXT.index("## Map") : TEXT.index("## Where is it?")]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name.rstrip("/") for row in rows for name in re.findall(r"`([^`]+)`", row)}
    rooms = {path.name for path in HOUSE.iterdir() if (path / "__init__.py").exists()}
    flat = {path.name for path in HOUSE.glob("*.py")} - {"__init__.py", "__main__.py"}
    assert named == rooms | flat
    assert len(flat) <= 8


def test_every_place_in_the_table_is_there():
    section = TEXT[TEXT.index("## Where is it?") : TEXT.index("## Add a likelihood")]
    places = re.findall(r"\| `([^`]+)`: `([^`]+)` \|", section)
    assert len(places) == 16
    for file, name in places:
        text = (HOUSE / file).read_text()
        assert re.search(rf"(def {name}\(|class {name}[:(])", text), (file, name)
