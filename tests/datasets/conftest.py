"""Tiny files in the publishers' layouts, and the real ones where ``BMCG_DATA`` points to them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bmcg.datasets import movielens


@pytest.fixture
def real_data() -> Path:
    """Folder of the real files; the test is skipped where it is not given."""
    folder = os.environ.get("BMCG_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("BMCG_DATA does not name a folder with the publishers' files")
    return Path(folder)


@pytest.fixture
def ml_100k(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A MovieLens 100K of 12 users, 15 movies and 60 ratings; the folder ``ml-100k``."""
    monkeypatch.setattr(
        movielens,
        "ML_100K",
        replace(movielens.ML_100K, n_users=12, n_items=15, n_ratings=(60, 60)),
    )
    folder = tmp_path / "ml-100k"
    folder.mkdir()
    at = np.random.default_rng(0).permutation(12 * 15)[:60]
    lines = [f"{k // 15 + 1}\t{k % 15 + 1}\t{k % 5 + 1}\t874965758\n" for k in at]
    (folder / "u1.base").write_text("".join(lines[:48]))
    (folder / "u1.test").write_text("".join(lines[48:]))
    (folder / "u.user").write_text(
        "".join(
            f"{i}|{20 + i}|{'MF'[i % 2]}|{('artist', 'other')[i % 2]}|12345\n" for i in range(1, 13)
        )
    )
    (folder / "u.genre").write_text("unknown|0\nAction|1\nDrama|2\n\n")
    items = [
        f"{i}|Café {i} (19{60 + i})|01-Jan-19{60 + i}||http://x|0|{i % 2}|1\n" for i in range(1, 15)
    ]
    items.append("15|unknown||||1|0|0\n")
    (folder / "u.item").write_bytes("".join(items).encode("latin-1"))
    return folder


@pytest.fixture
def ml_1m(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A MovieLens 1M of 12 users, 14 movies (ids with gaps) and 50 or 51 ratings."""
    monkeypatch.setattr(
        movielens,
        "ML_1M",
        replace(movielens.ML_1M, n_users=12, n_items=14, n_ratings=(50, 51)),
    )
    folder = tmp_path / "ml-1m"
    folder.mkdir()
    at = np.sort(np.random.default_rng(1).permutation(12 * 14)[:50])
    lines = [f"{k // 14 + 1}::{2 * (k % 14) + 1}::{k % 5 + 1}::0\n" for k in at]
    (folder / "ratings.dat").write_text("".join(lines))
    (folder / "users.dat").write_text(
        "".join(
            f"{i}::{'MF'[i % 2]}::{(18, 25, 56)[i % 3]}::{i % 4}::48067\n" for i in range(1, 13)
        )
    )
    movies = [
        f"{2 * i + 1}::2001 Nights, Épisode {i} (19{60 + i})::{('Drama', 'Comedy|Drama')[i % 2]}\n"
        for i in range(14)
    ]
    (folder / "movies.dat").write_bytes("".join(movies).encode("latin-1"))
    return folder
