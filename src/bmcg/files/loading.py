"""Reading a saved model back into the estimator that wrote it."""

from __future__ import annotations

import os

from ..base import MatrixCompleter
from ..baselines import METHODS
from .storage import ModelFileError, read_model


def load_model(path: str | os.PathLike[str]) -> MatrixCompleter:
    """Read a model written by `save`.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    The fitted estimator; the values it was fitted on are not part of it.
    """
    arrays, header = read_model(path)
    by_name = {method.__name__: method for method in METHODS.values()}
    name = header.get("method")
    if name not in by_name:
        raise ModelFileError(f"{path} holds a model of unknown method {name!r}")
    try:
        return by_name[name]._from_state(arrays, header)
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path} is not a complete {name} model: {error}") from None
