"""Whether graphs and features are worth having for lists, and how strong a graph is: ask lists."""

from __future__ import annotations

import numpy as np

from ..observations import Observations
from .fit import Settings, SideInput
from .form import Form, Sides
from .list_trials import Known
from .weak_zeros import Learned

# Strengths that graphs are tried with, the first unless lists are better with another: of a prior
# that ties every node about alike, and of which as much again is a node's own.
STRENGTHS = (1.0, 0.3, 3.0)
NAMES = ("the rows", "the columns")


def ask_known(
    learned: Learned, observations: Observations, sides: Sides, settings: Settings, asked: bool
) -> Known:
    """What is used of either side: all that does not harm lists.

    Nodes with many edges would be held to their neighbours far more than others, whatever they
    themselves have seen, so edges are made even first where strengths may be learned.

    Parameters
    ----------
    learned : Learned
    observations : Observations
    sides : tuple of SideInput
    settings : Settings
    asked : bool
        Whether graphs and features are in question; else all are used.
    """
    usual = STRENGTHS[0] if settings.learn else None
    everything = Known("all that is known", sides, Form(), (usual, usual))
    tied = [which for which, side in enumerate(sides) if _is_tied(side)]
    if not asked or not tied or learned.search is None:
        return everything
    known = everything._replace(form=_without(tied))
    for which in tied:
        others = [at for at in tied if at != which and known.form.graphs[at] is None]
        wider = known._replace(form=_without(others))
        view = (observations.by_row, observations.by_col)[which]
        # What is all that is known of some is left out only where lists are surely worse.
        least = 0.0 if np.diff(view.indptr).all() else -1.0
        known = _tried(learned, known, wider, which, least)
    return known


def _tried(learned: Learned, known: Known, wider: Known, which: int, least: float) -> Known:
    """With one more side, at the strength that lists are best with, or without it."""
    search, given = learned.search, (learned.likelihood, learned.rank)
    assert search is not None
    name = f"what is known of {NAMES[which]}"
    if wider.strengths[which] is None or not wider.sides[which].stack.names:
        tried = wider._replace(name=name)
        return tried if search.keeps(*given, tried, least) else known
    taken = known
    for strength in STRENGTHS:
        strengths = (strength, known.strengths[1]) if which == 0 else (known.strengths[0], strength)
        tried = wider._replace(name=f"{name}, of strength {strength:g}", strengths=strengths)
        if search.keeps(*given, tried, least if taken is known else 0.0):
            taken = tried
    return taken


def _is_tied(side: SideInput) -> bool:
    return bool(side.stack.names) or side.features is not None


def _without(which: list[int]) -> Form:
    graphs, features = list(Form().graphs), list(Form().features)
    for at in which:
        graphs[at], features[at] = None, False
    return Form((graphs[0], graphs[1]), (features[0], features[1]))
