"""What a user hears at the end of a fit."""

from __future__ import annotations

import warnings

from sklearn.exceptions import ConvergenceWarning

from ..caller import user_level
from ..inference.fit import Fit


def warn_of_end(fit: Fit, stop_reason: str, max_sweeps: int, advice: str = "") -> None:
    """Warn of a fit that ended early, and of solves that did; advice ends a sentence."""
    said = []
    if fit.interrupted:
        said.append(
            f"interrupted after {len(fit.trace)} sweeps: the model holds the last of them{advice}"
        )
    elif fit.diagnostics is not None:
        said += [] if fit.converged else [fit.diagnostics.sentence]
    elif stop_reason == "max_sweeps":
        said.append(
            f"stopped at max_sweeps={max_sweeps} before the bound settled; "
            f"predictions are usable, more sweeps may improve them{advice}"
        )
    if fit.unsolved:
        said.append(
            f"{fit.unsolved} of the solves in the last sweep ran out of steps "
            f"(solve_steps_[-1]={fit.steps[-1]}): factors or variances are less accurate than "
            "they should be; a larger ridge, or graphs of less uneven weights, would help"
        )
    for words in said:
        warnings.warn(words, ConvergenceWarning, stacklevel=user_level())
