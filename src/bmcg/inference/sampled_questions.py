"""What a sampled model is made of: each question answered by entries that were left out.

Questions are asked with few components and short chains, from a fresh start each, so that no
answer inherits what an earlier fit had dropped. A choice that gains nothing is not made, so that
knowing more never costs: a graph, features or biases that do not help are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from ..graphs.precision import GraphStack
from .fit import Settings, SideInput
from .left_out import Change, Choice, Judge, Score, Sides, weigh
from .verdict import Verdict

# Components that questions are asked with, before their number is one.
FIRST_RANK = 16
# Sweeps and kept draws of a trial, and the most of its burn-in.
TRIAL_DRAWS = 30
TRIAL_BURN_IN = 60
# A graph that joins more than this share of all pairs says how alike all nodes are, not who is
# next to whom; the nearest of each node may say more.
DENSE_SHARE = 0.1
NEAREST = (10, 5)

SIDES = ("rows", "columns")


Answer = tuple[Choice, list[Verdict]]


def choose(judge: Judge, settings: Settings, asked: Collection[str]) -> Answer:
    """All questions in turn; one that is not asked leaves the fuller model."""
    trial = replace(
        settings,
        rank=min(settings.rank, FIRST_RANK),
        bias=settings.bias is not False,
        max_sweeps=TRIAL_DRAWS,
        draws=TRIAL_DRAWS,
        chains=1,
        burn_in=TRIAL_BURN_IN,
    )
    choice = Choice(lambda sides: sides, trial, Score(np.full(1, np.inf), False))
    verdicts = list[Verdict]()
    if judge.folds:
        choice = replace(choice, score=judge.score(choice.change, trial, "the whole model"))
        for name, question in QUESTIONS.items():
            if name in asked:
                choice, found = question(judge, choice, settings)
                verdicts += found
    rank, bias = choice.settings.rank, choice.settings.bias
    return replace(choice, settings=replace(settings, rank=rank, bias=bias)), verdicts


def ask_graphs(judge: Judge, choice: Choice, settings: Settings) -> Answer:
    """Whether nearest neighbours say more than a dense graph, and whether a graph helps at all."""
    changes: list[tuple[Change, str]] = []
    for which, side in enumerate(judge.sides):
        counts = NEAREST if is_dense(side.stack) else ()
        changes += [(_on(which, nearest, count), _nearest_of(which, count)) for count in counts]
    choice, verdicts = _try_each(judge, choice, "graphs", changes)
    changes = [
        (_on(which, without_graphs), f"without the graphs of the {SIDES[which]}")
        for which, side in enumerate(judge.sides)
        if side.stack.names
    ]
    choice, more = _try_each(judge, choice, "graphs", changes, simpler=True)
    return choice, verdicts + more


def ask_features(judge: Judge, choice: Choice, settings: Settings) -> Answer:
    """Whether the features of a side help."""
    changes: list[tuple[Change, str]] = [
        (_on(which, without_features), f"without the features of the {SIDES[which]}")
        for which, side in enumerate(judge.sides)
        if side.features is not None
    ]
    return _try_each(judge, choice, "features", changes, simpler=True)


def ask_biases(judge: Judge, choice: Choice, settings: Settings) -> Answer:
    """Whether rows and columns do without offsets of their own."""
    if settings.bias is not None:
        return choice, []
    other = replace(choice, settings=replace(choice.settings, bias=False))
    choice, verdict = weigh(judge, choice, other, "biases", "without biases")
    return choice, [verdict]


def ask_components(judge: Judge, choice: Choice, settings: Settings) -> Answer:
    """How many components: twice as many while that helps, else half as many; or none."""
    verdicts = list[Verdict]()
    first = choice.settings.rank

    def offer(rank: int, words: str, bias: bool | None = None) -> bool:
        nonlocal choice
        asked = replace(choice.settings, rank=rank)
        asked = asked if bias is None else replace(asked, bias=bias)
        other = replace(choice, settings=asked)
        choice, verdict = weigh(judge, choice, other, "components", words)
        verdicts.append(verdict)
        return verdict.taken

    rank = 2 * first
    while rank <= settings.rank and offer(rank, f"{rank} components"):
        rank *= 2
    rank = first // 2
    while choice.settings.rank == 2 * rank > 0 and offer(rank, f"{rank} components"):
        rank //= 2
    if settings.bias is not False and choice.settings.rank:
        offer(0, "biases alone", bias=True)
    return choice, verdicts


QUESTIONS: dict[str, Callable[[Judge, Choice, Settings], Answer]] = {
    "graphs": ask_graphs,
    "features": ask_features,
    "biases": ask_biases,
    "components": ask_components,
}


def _try_each(
    judge: Judge,
    choice: Choice,
    question: str,
    changes: Sequence[tuple[Change, str]],
    simpler: bool = False,
) -> Answer:
    verdicts = []
    for change, tried in changes:
        other = choice.with_change(change)
        choice, verdict = weigh(judge, choice, other, question, tried, simpler)
        verdicts.append(verdict)
    return choice, verdicts


def _nearest_of(which: int, count: int) -> str:
    return f"the {count} nearest in the graphs of the {SIDES[which]}"


def _on(which: int, change: Callable[..., SideInput], *rest: int) -> Change:
    """A change of one side as one of both."""

    def both(sides: Sides) -> Sides:
        changed = change(sides[which], *rest)
        return (changed, sides[1]) if which == 0 else (sides[0], changed)

    return both


def is_dense(stack: GraphStack) -> bool:
    """Whether a graph joins so many pairs that nearest neighbours are worth a question."""
    pairs = stack.n * (stack.n - 1) / 2
    return (
        bool(len(stack.names))
        and max(NEAREST) < DENSE_SHARE * stack.n
        and (len(stack.heads) > DENSE_SHARE * pairs)
    )


def nearest(side: SideInput, count: int) -> SideInput:
    """The side with each node's strongest edges alone, those of either end."""
    return replace(side, stack=side.stack.nearest(count))


def without_features(side: SideInput) -> SideInput:
    """The side without its features; its graphs stay."""
    return replace(side, features=None)


def without_graphs(side: SideInput) -> SideInput:
    """The side without its graphs; its features stay."""
    none = np.empty(0, dtype=np.int32)
    bare = GraphStack(side.stack.n, none, none, np.empty((0, 0)), ())
    return replace(side, stack=bare, ridge=1.0)
