"""Where a warning points to: the line of the user, however deep in the package it arises."""

from __future__ import annotations

import inspect


def user_level() -> int:
    """The `stacklevel` for a warning of the calling function that shows the user's own line."""
    frame, level = inspect.currentframe(), 0
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        # scikit-learn's callbacks wrap `fit`.
        if not name.startswith(("bmcg.", "sklearn.callback")):
            break
        frame, level = frame.f_back, level + 1
    return max(level, 1)
