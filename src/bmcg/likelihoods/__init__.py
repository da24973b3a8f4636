"""How observed values come from the matrix: one file for each distribution."""

from .base import Drawn, Likelihood, Match, Noise, Own, Weighting
from .bernoulli import Bernoulli
from .gaussian import Gaussian
from .negative_binomial import NegativeBinomial
from .ordinal import Ordinal
from .poisson import Poisson
from .student import Student
from .uneven import Uneven
from .weak_zero import WeakZero

LIKELIHOODS = ("gaussian", "student", "bernoulli", "ordinal", "poisson", "negative_binomial")


def likelihood_of(title: str) -> Likelihood:
    """The likelihood of a name.

    Noise of each row or column has the side after it, ordered values their levels.
    """
    if title.startswith(WeakZero.name):
        return WeakZero.of_title(title)
    name, *rest = title.split(" ")
    if name == "ordinal":
        return Ordinal(levels=tuple(map(float, rest)))
    made: dict[str, Likelihood] = {
        "gaussian": Gaussian(),
        "gaussian rows": Uneven(side="rows"),
        "gaussian cols": Uneven(side="cols"),
        "student": Student(),
        "bernoulli": Bernoulli(),
        "poisson": Poisson(),
        "negative_binomial": NegativeBinomial(),
    }
    return made[title]


__all__ = [
    "LIKELIHOODS",
    "Bernoulli",
    "Drawn",
    "Gaussian",
    "Likelihood",
    "Match",
    "NegativeBinomial",
    "Noise",
    "Ordinal",
    "Own",
    "Poisson",
    "Student",
    "Uneven",
    "WeakZero",
    "Weighting",
    "likelihood_of",
]
