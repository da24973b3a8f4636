"""The best value of one positive parameter, by a few looks at a function that is costly."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, log, sqrt

GOLDEN = (sqrt(5.0) - 1.0) / 2.0
# How far from where it stands a parameter is looked for at once, as a factor.
REACH = 4.0
LOOKS = 8


def maximum(function: Callable[[float], float], old: float, least: float, most: float) -> float:
    """A value in [least, most] at which the function is no lower than at `old`.

    Golden section in the logarithm around `old`: a parameter that is updated in every sweep
    needs to move towards its best value, not to reach it.
    """
    low, high = max(log(least), log(old) - log(REACH)), min(log(most), log(old) + log(REACH))
    places = [high - GOLDEN * (high - low), low + GOLDEN * (high - low)]
    found = [function(exp(place)) for place in places]
    best = max(((function(old), old), *zip(found, map(exp, places), strict=True)))
    for _ in range(LOOKS):
        if found[0] > found[1]:
            high, places[1], found[1] = places[1], places[0], found[0]
            places[0] = high - GOLDEN * (high - low)
            found[0] = function(exp(places[0]))
            best = max(best, (found[0], exp(places[0])))
        else:
            low, places[0], found[0] = places[0], places[1], found[1]
            places[1] = low + GOLDEN * (high - low)
            found[1] = function(exp(places[1]))
            best = max(best, (found[1], exp(places[1])))
    return best[1]
