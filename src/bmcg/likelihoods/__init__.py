"""How observed values come from the matrix: one file for each distribution."""

from .base import Drawn, Likelihood, Match, Noise, Own, Weighting
from .gaussian import Gaussian
from .student import Student
from .uneven import Uneven
from .weak_zero import WeakZero

LIKELIHOODS = ("gaussian", "student")


def likelihood_of(title: str) -> Likelihood:
    """The likelihood of a name; noise of each row or column has the side after it."""
    if title.startswith(WeakZero.name):
        return WeakZero.of_title(title)
    made: dict[str, Likelihood] = {
        "gaussian": Gaussian(),
        "gaussian rows": Uneven(side="rows"),
        "gaussian cols": Uneven(side="cols"),
        "student": Student(),
    }
    return made[title]


__all__ = [
    "LIKELIHOODS",
    "Drawn",
    "Gaussian",
    "Likelihood",
    "Match",
    "Noise",
    "Own",
    "Student",
    "Uneven",
    "WeakZero",
    "Weighting",
    "likelihood_of",
]
