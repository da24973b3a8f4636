"""What `make test-oldest` installs is what pyproject.toml admits."""

from __future__ import annotations

import re

from .oldest import pins


def test_every_dependency_has_an_oldest_version():
    found = pins()
    assert len(found) > 15
    assert all(re.fullmatch(r"[a-z0-9-]+==[0-9.]+", pin) for pin in found)
