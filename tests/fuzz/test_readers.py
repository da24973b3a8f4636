"""Every reader answers or refuses, whatever was done to its file."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .readers import READERS

CORPUS = Path(__file__).parent / "corpus"
quick = settings(
    max_examples=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.mark.parametrize("name", READERS)
def test_whole_files_are_read(name, tmp_path):
    reader = READERS[name]
    assert "answered" in [reader.attack(data, tmp_path) for data in reader.seeds]


@pytest.mark.parametrize("name", READERS)
@quick
@given(seed=st.integers(0, 2**32))
def test_broken_files_are_refused_or_read(name, seed, tmp_path):
    READERS[name].attack(READERS[name].drawn(Random(seed)), tmp_path)


@pytest.mark.parametrize("path", sorted(CORPUS.iterdir()), ids=lambda path: path.name)
def test_what_once_broke_a_reader_does_so_no_more(path, tmp_path):
    name, _, _ = path.name.partition("~")
    READERS[name].attack(path.read_bytes(), tmp_path)
