"""Reading a saved model back into the estimator that wrote it."""

from __future__ import annotations

import os

import numpy as np

from ..base import MatrixCompleter
from ..baselines import METHODS
from .schema import check_model
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
    if not isinstance(name, str) or name not in by_name:
        raise ModelFileError(f"{path} holds a model of unknown method {str(name)[:60]!r}")
    try:
        check_model(arrays, header)
        model = by_name[name]._from_state(arrays, header)
        # One answer is asked for: what fits together may still not be a model.
        model._mean(np.zeros(1, dtype=np.intp), np.zeros(1, dtype=np.intp))
    # What a stranger's file runs into depends on what was done to it.
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        said = str(error)[:300]
        raise ModelFileError(f"{path} is not a complete {name} model: {said}") from None
    return model
