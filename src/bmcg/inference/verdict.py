"""What became of one thing that was tried."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Verdict(NamedTuple):
    """What became of one thing that was tried.

    Attributes
    ----------
    question : str
        "biases", "components", "features" or "graphs".
    tried : str
        The model that was tried.
    taken : bool
        Whether it took the place of the one that stood.
    measure : str
        What decided: "bound" (higher is better), "left-out error" (lower is), or a rule.
    standing, trial : float
        That measure of the model that stood and of the one tried; NaN where a rule decided.
    sweeps : int
        Of the fits made for this verdict.
    seconds : float
    """

    question: str
    tried: str
    taken: bool
    measure: str
    standing: float
    trial: float
    sweeps: int
    seconds: float

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        end = "taken" if self.taken else "not taken"
        if np.isnan(self.trial):
            return f"{self.question}: {self.tried} {end}, {self.measure}"
        return (
            f"{self.question}: {self.tried} {end}, {self.measure} {self.trial:.6g} against "
            f"{self.standing:.6g} ({self.sweeps} sweeps, {self.seconds:.2g} s)"
        )
