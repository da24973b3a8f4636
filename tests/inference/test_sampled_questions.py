"""The sequence of questions of a sampled model, answered by errors that are made up."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bmcg.graphs import chain_graph
from bmcg.graphs.precision import stack_graphs
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.folds import Fold
from bmcg.inference.form import AS_GIVEN
from bmcg.inference.left_out import Choice, Judge
from bmcg.inference.sampled_questions import Questions
from bmcg.inference.score import Score

ASKED = ("components", "graphs")


class Told(Judge):
    """A judge who knows the error of every model."""

    knows_pools = False

    def score(self, form, settings, name):
        # The same few entries, so that a gain has hardly a standard error.
        known = (settings.prior.pooled,) if self.knows_pools else ()
        losses = np.full(100, self.error(form.graphs, settings.rank, *known) ** 2)
        return Score(losses + 1e-9 * np.arange(100), False)


@pytest.fixture
def answer():
    """What is chosen where errors are a function of the graphs used and of components."""

    def choose(error, rank=64, values=None):
        side = SideInput(stack_graphs([chain_graph(6)], 6, ["chain"]), None)
        fold = Fold(None, None, None, np.arange(9.0) if values is None else values)
        unseen = np.zeros(6, dtype=bool)
        judge = Told([fold], (side, side), None, None, (unseen, unseen), 100)
        judge.error, judge.knows_pools = error, values is not None
        settings = Settings(rank=rank, bias=True, draws=10)
        return Questions(judge, settings, ASKED).answer()

    return choose


def test_a_graph_that_few_components_made_nothing_of_is_asked_about_again(answer):
    def error(graphs, rank):
        helps = graphs[0] is not None and rank >= 32
        return (2.0 if rank < 16 else 1.0 - 0.01 * np.log2(rank / 16)) - 0.1 * helps

    choice, verdicts = answer(error)
    assert choice.settings.rank == 64
    assert choice.form.graphs == (AS_GIVEN, None)
    tried = [(v.tried, v.taken) for v in verdicts if v.question == "graphs"]
    assert tried.count(("with the graphs of the rows", False)) == 1
    assert tried.count(("with the graphs of the rows", True)) == 1


def test_a_graph_is_asked_about_once_where_components_stay(answer):
    def error(graphs, rank):
        return 1.0 + 0.01 * abs(rank - 16)

    choice, verdicts = answer(error)
    assert (choice.settings.rank, choice.form.graphs) == (16, (None, None))
    asked = [v.tried for v in verdicts if v.question == "graphs"]
    assert sorted(asked) == ["with the graphs of the columns", "with the graphs of the rows"]


def test_a_graph_that_held_few_components_back_goes_with_many(answer):
    def error(graphs, rank):
        used = graphs[1] is not None
        return 1.0 - 0.005 * rank - (0.06 if used and rank <= 16 else 0.0) + 0.05 * used

    choice, _ = answer(error)
    assert (choice.settings.rank, choice.form.graphs) == (64, (None, None))


RARE_ONES = np.append(np.zeros(19), 1.0)


def precisions(verdicts):
    return [(v.tried, v.taken) for v in verdicts if v.tried.endswith("one precision")]


def test_rare_ones_may_have_many_components_of_one_precision(answer):
    def error(graphs, rank, pooled):
        return 1.0 - 0.002 * rank * pooled - 0.01 * min(rank, 16)

    choice, verdicts = answer(error, 64, RARE_ONES)
    assert (choice.settings.rank, choice.settings.prior.pooled) == (64, True)
    assert precisions(verdicts) == [("32 components of one precision", True)]
    # What is taken up again from a checkpoint is the same.
    again = Choice.from_plain(choice.to_plain(), Settings(rank=64, draws=10))
    assert again.settings.prior.pooled


def test_one_precision_has_to_show_and_is_no_question_where_fewer_components_do(answer):
    def error(graphs, rank, pooled):
        return 1.0 + 0.1 * pooled - 0.01 * min(rank, 16)

    choice, verdicts = answer(error, 64, RARE_ONES)
    assert (choice.settings.rank, choice.settings.prior.pooled) == (16, False)
    assert precisions(verdicts) == [("32 components of one precision", False)]

    def few(graphs, rank, pooled):
        return 1.0 + 0.01 * max(rank, 4) - pooled

    choice, verdicts = answer(few, 64, RARE_ONES)
    assert (choice.settings.rank, precisions(verdicts)) == (4, [])
    # Ones that are not rare have as many entries to speak for a component as zeros.
    assert precisions(answer(error, 64, np.array([0.0, 1.0, 0.0]))[1]) == []


def test_one_precision_is_asked_of_other_values_where_components_are_as_many_as_may_be(answer):
    def error(graphs, rank, pooled):
        return 1.0 - 0.01 * rank - 0.1 * pooled

    choice, verdicts = answer(error, 64, np.arange(9.0))
    assert (choice.settings.rank, choice.settings.prior.pooled) == (64, True)
    assert precisions(verdicts) == [("64 components of one precision", True)]
    choice, verdicts = answer(lambda *at: 1.0 + 0.01 * abs(at[1] - 32), 64, np.arange(9.0))
    assert (choice.settings.rank, precisions(verdicts)) == (32, [])


@pytest.mark.parametrize(("lead", "few", "more"), [(0.5, True, False), (0.5, False, True)])
def test_a_chain_that_has_clearly_lost_is_asked_nothing_more(lead, few, more):
    """To a variational fit that needs no more components than it has."""
    side = SideInput(stack_graphs([chain_graph(6)], 6, ["chain"]), None)
    unseen = np.zeros(6, dtype=bool)
    judge = Told([Fold(None, None, None, np.arange(9.0))], (side, side), None, None,
                 (unseen, unseen), 100)  # fmt: skip
    judge.latest = SimpleNamespace(state=SimpleNamespace(rank=3 if few else 17))
    settings = Settings(rank=64, bias=True, draws=10)
    score = judge.score
    judge.error = lambda graphs, rank: 1.0 - 0.01 * (graphs[0] is not None) + (rank < 16)
    judge.score = lambda form, own, name: (
        score(form, own, name) if own.draws else Score(np.full(100, (1.0 - lead) ** 2), False)
    )
    asked = (*ASKED, "posterior")
    choice, verdicts = Questions(judge, settings, asked, replace(settings, draws=0)).answer()
    assert not choice.settings.draws
    last = [v.tried for v in verdicts].index("with the graphs of the columns")
    after = [v.tried for v in verdicts[last + 1 :] if v.question != "posterior"]
    assert bool(after) is more
