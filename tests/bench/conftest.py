"""A bench in the same process, where workers are not what is tested."""

from __future__ import annotations

import pytest

from bmcg.bench import figures, running
from bmcg.bench.measuring import measure


@pytest.fixture
def no_workers(monkeypatch: pytest.MonkeyPatch) -> list:
    """Measure in this process; the list holds the cells that were measured."""
    measured = []

    def run_cells(cells, limits, jobs, done):
        for cell in cells:
            measured.append(cell)
            done(cell, measure(cell))

    monkeypatch.setattr(running, "run_cells", run_cells)
    return measured


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no figure: drawing takes longer than everything else here."""
    monkeypatch.setattr(figures, "save", lambda figure, path: None)
