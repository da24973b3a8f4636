"""The page of the API names what there is to call."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

from bmcg import BMCG, BMCGImputer

PAGE = (Path(__file__).parents[2] / "docs" / "api.md").read_text()


@pytest.mark.parametrize("room", ["evaluation", "graphs", "imputing", "inpainting", "report"])
def test_every_public_name_of_a_room_is_on_the_page(room):
    public = importlib.import_module(f"bmcg.{room}").__all__
    assert [name for name in public if f"bmcg.{room}.{name}" not in PAGE] == []


@pytest.mark.parametrize("estimator", [BMCG, BMCGImputer])
def test_every_method_of_an_estimator_is_on_the_page(estimator):
    section = PAGE.split(f"autoclass:: bmcg.{estimator.__name__}\n")[1].split("\n.. auto")[0]
    ours = [
        name
        for name, member in inspect.getmembers(estimator, inspect.isfunction)
        if member.__module__.startswith("bmcg.") and not name.startswith("_")
    ]
    # `fit_transform` is scikit-learn's, which documents it.
    ours = [name for name in ours if name != "fit_transform"]
    assert [name for name in ours if f"automethod:: {name}\n" not in section] == []
