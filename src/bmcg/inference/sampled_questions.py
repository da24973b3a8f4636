"""The questions of a sampled model, from less to more: each answered by entries left out.

It begins with some components and biases, and nothing that is known besides the entries. Would
fewer components do? Do the graphs of a side help, and in which form; do features? Each has to show,
by more than the standard error of its gain, so that knowing more never costs. Then whether biases
are needed, whether a variational posterior predicts better, and whether a chain needs more
components. Questions of few components are quick: they come first.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from ..likelihoods import Uneven
from .fit import Settings, SideInput
from .form import AS_GIVEN, Form, forms_of
from .left_out import Choice, Judge, weigh
from .score import DEAR, LESS, MORE, OTHER, SURER, Confidence
from .verdict import Verdict

# Components that questions are asked with, before their number is one.
FIRST_RANK = 16
# Sweeps and kept draws of a trial, and the most of its burn-in.
TRIAL_DRAWS = 30
TRIAL_BURN_IN = 60
# Features of more numbers than this share of the entries make every solve of a chain long. Where
# there is a choice they are left to the variational posterior.
HEAVY_SHARE = 0.5

# Sizes of noise that are tried, one after the other.
MOST_NOISES = 3

SIDES = ("rows", "columns")
# Noise that may not be one for all. Columns come first: what a table measures has a noise each.
WHOSE = (("column", Uneven(side="cols")), ("row", Uneven(side="rows")))


class Questions:
    """All questions in turn; one that is not asked leaves the fuller model.

    Parameters
    ----------
    judge : Judge
    settings : Settings
        Of the fit that is to be made.
    asked : collection of str
    variational : Settings or None
        The variational fit that could take its place.

    Attributes
    ----------
    choice : Choice
        The model that stands.
    verdicts : list of Verdict
    """

    def __init__(
        self,
        judge: Judge,
        settings: Settings,
        asked: Collection[str],
        variational: Settings | None = None,
    ) -> None:
        self.judge, self.settings, self.asked = judge, settings, asked
        self.variational = variational
        self.verdicts = list[Verdict]()
        self.rival: tuple[Choice, Verdict] | None = None
        self.grows = True
        # Components that stood before they were asked to have one precision.
        self.unpooled = 0
        # The model whose noise was asked about.
        self.noise_of: tuple[object, ...] | None = None
        rank = min(settings.rank, FIRST_RANK) if "components" in asked else settings.rank
        self.first = rank
        trial = replace(
            settings,
            rank=rank,
            bias=settings.bias is not False,
            max_sweeps=TRIAL_DRAWS,
            draws=TRIAL_DRAWS,
            chains=judge.chains,
            burn_in=TRIAL_BURN_IN,
        )
        self.choice = Choice(self._least(), trial)
        self.tried = {_model_of(self.choice)}

    def answer(self) -> tuple[Choice, list[Verdict]]:
        """The model that predicts best, with the settings of its fit, and what was tried."""
        if self.judge.folds:
            self.choice = self.judge.scored(self.choice, "components and biases")
            self._ask()
        chosen = self.choice.settings
        full = self.settings if chosen.draws else chosen
        full = replace(full, rank=chosen.rank, bias=chosen.bias, least_noise=chosen.least_noise)
        full = replace(full, prior=chosen.prior)
        return replace(self.choice, settings=full), self.verdicts

    def _ask(self) -> None:
        sides, variational = self.judge.sides, self.variational
        has_graphs = any(side.stack.names for side in sides)
        questions = (
            ("noise", self._ask_noise, self._is_plain),
            ("components", self._ask_fewer, True),
            ("graphs", self._ask_graphs, has_graphs),
            ("components", self._ask_many_with_all, has_graphs and "graphs" in self.asked),
            ("features", self._ask_features, any(side.features is not None for side in sides)),
            ("biases", self._ask_biases, self.settings.bias is None),
            ("components", self._ask_many_pooled, self.judge.has_rare_ones),
            ("posterior", self._ask_posterior, variational is not None),
            ("components", self._ask_more, True),
            ("noise", self._ask_noise, self._is_plain),
        )
        due = [(name, ask) for name, ask, is_due in questions if is_due and name in self.asked]
        for number, (name, ask) in enumerate(due, 1):
            self.judge.asking = f"question {number} of {len(due)}, {name}: "
            ask()
        self._meet_rival()

    def _least(self) -> Form:
        """Nothing but what is not in question."""
        asked = self.asked if self.judge.folds else ()
        graphs = None if "graphs" in asked else AS_GIVEN
        kept = ["features" not in asked or not self._dispensable(which) for which in (0, 1)]
        return Form((graphs, graphs), (kept[0], kept[1]))

    def _reaches_unseen(self, which: int) -> bool:
        """Whether graphs are what is known of rows without entries, which none can judge."""
        stack, unseen = self.judge.sides[which].stack, self.judge.unseen[which]
        return bool((unseen[stack.heads] | unseen[stack.tails]).any())

    def _dispensable(self, which: int) -> bool:
        """Whether entries can say if features help: not of rows that they know nothing else of."""
        features = self.judge.sides[which].features
        unseen = self.judge.unseen[which]
        return features is None or not (np.diff(features.indptr)[unseen] > 0).any()

    def _offer(
        self, question: str, tried: str, rule: int, form: Form | None = None, **changes: object
    ) -> bool:
        other = Choice(
            form or self.choice.form,
            replace(self.choice.settings, **changes),  # type: ignore[arg-type]
        )
        if _model_of(other) in self.tried:
            # It has lost to one that what stands has won against.
            return False
        self.tried.add(_model_of(other))
        self.choice, verdict = weigh(self.judge, self.choice, other, question, tried, rule)
        self.verdicts.append(verdict)
        return verdict.taken

    @property
    def _is_plain(self) -> bool:
        return self.settings.prior.likelihood.is_plain

    def _ask_noise(self) -> None:
        """Whether noise as large as left-out errors tell predicts better.

        Values that are not what the model takes them for (zeros with few ones, rounded numbers)
        are explained by components, and hardly any noise is left: it is then surer of entries than
        those that were left out allow, and believes too much of what it has seen.
        """
        own = self.choice.settings
        model = self.choice.form, own.rank, own.bias, own.prior.pooled
        if not self.grows or model == self.noise_of or not self._is_one_for_all():
            return
        for _ in range(MOST_NOISES):
            told, is_held = self._confidence, self.choice.settings.least_noise > 0
            variance = self._next_noise()
            # A model that is told its noise knows more: that has to show, its size does not.
            rule = OTHER if is_held else MORE
            if not variance:
                break
            if self._noise(variance, rule):
                continue
            # Too much of it; half the way may do.
            self._noise(float(np.sqrt(told.own * variance)), rule)
            break
        self.noise_of = model

    def _is_one_for_all(self) -> bool:
        """Whether noise has one size, after asking; if not, nothing is asked of that size.

        Where each row, or column, has noise of its own, what is known of the size of errors has to
        be told better by that, and entries be predicted as well.
        """
        settings, here = self.choice.settings, self.judge.backend.on_host
        is_open = here and settings.open_noise and not settings.least_noise
        if is_open and settings.prior.likelihood.is_plain:
            for one, likelihood in WHOSE:
                words = f"noise of each {one}"
                prior = replace(settings.prior, likelihood=likelihood)
                self._offer("noise", words, SURER, prior=prior)
        return self.choice.settings.prior.likelihood.is_plain

    def _next_noise(self) -> float:
        """Variance of noise to try next; nought if there is nothing to try.

        What errors have beyond what is expected of them is noise; less than a model has of its own
        cannot be asked for. Noise that has shown may still be too little, though errors are told:
        half the way to all of them is tried.
        """
        told, is_held = self._confidence, self.choice.settings.least_noise > 0
        if told.untold > 0 and not is_held:
            return told.own + told.untold
        if not is_held:
            return 0.0
        if told.untold < 0:
            return max(told.own + told.untold, 0.0)
        assert self.choice.score is not None
        return float(np.sqrt(told.own)) * self.choice.score.error

    @property
    def _confidence(self) -> Confidence:
        assert self.choice.score is not None
        return self.choice.score.confidence

    def _noise(self, variance: float, rule: int) -> bool:
        size = float(np.sqrt(variance))
        return self._offer("noise", f"noise of {size:.4g} at the least", rule, least_noise=size)

    def _ask_fewer(self) -> None:
        """Half as many components while that helps; or none, and then few."""
        rank = self.choice.settings.rank // 2
        while rank and self._components(rank):
            rank //= 2
        least = self.choice.settings.rank
        if self.settings.bias is not False and least:
            self._offer("components", "biases alone", OTHER, bias=True, rank=0)
            # Many components may lose to none where few would not.
            rank = 1
            while self.choice.settings.rank == rank // 2 and rank < least:
                self._components(rank)
                rank *= 2

    def _ask_more(self) -> None:
        """Twice as many components while that shows; fewer again where ties have changed."""
        if not self.grows:
            return
        rank, most = self.choice.settings.rank, self.settings.rank
        first = self.unpooled or rank
        while rank < most:
            rank = min(2 * rank or 1, most)
            if not self._components(rank, DEAR):
                break
        if first < self.choice.settings.rank == most:
            self._ask_pooled(most, OTHER)
        if self.choice.settings.rank > first and "graphs" in self.asked:
            # A graph that few components made nothing of may show with many.
            self._ask_graphs()
        if self.choice.form != self._least():
            if self.choice.settings.rank == first:
                self._ask_fewer()
            if self.choice.settings.rank != first:
                self._ask_graphs_again()

    def _ask_many_pooled(self) -> None:
        """Whether many of one precision do better, where no fewer than were tried do as well.

        A few with one precision each say too little of rare ones to be compared with another
        posterior: this comes before that.
        """
        rank = self.choice.settings.rank
        if rank >= self.first:
            self._ask_pooled(min(2 * rank, self.settings.rank), MORE)
            self.unpooled = rank

    def _ask_pooled(self, rank: int, rule: int) -> None:
        """Whether components do with one precision, where entries speak for as many as there are.

        With one each, every component has to earn it; ones among zeros have many weak causes of
        which none does. With one for all the model is a Gaussian process whose kernel is the
        product of both sides' priors, and more components only draw it more finely.
        """
        prior = self.choice.settings.prior
        if rank and self.grows and not prior.pooled:
            words = f"{rank} components of one precision"
            pooled = replace(prior, pooled=True)
            self._offer("components", words, rule, rank=rank, prior=pooled)

    def _ask_many_with_all(self) -> None:
        """Whether all that is known besides makes up for many components, where few were left."""
        sides, form = self.judge.sides, self.choice.form
        for which, side in enumerate(sides):
            if side.stack.names and form.graphs[which] is None:
                form = form.with_graphs(which, forms_of(side.stack)[0])
        if self.choice.settings.rank < self.first and form != self._least():
            words = f"{self.first} components with all graphs"
            if self._offer("components", words, MORE, form, rank=self.first):
                self._ask_graphs_again()

    def _components(self, rank: int, rule: int = OTHER) -> bool:
        words = "1 component" if rank == 1 else f"{rank} components"
        return self._offer("components", words, rule, rank=rank)

    def _ask_graphs(self) -> None:
        """Whether graphs that are not used help: as given or, where all are joined, their nearest.

        Graphs that are all that is known of a row without entries stay unless they harm.
        """
        for which, side in enumerate(self.judge.sides):
            if not side.stack.names or self.choice.form.graphs[which] is not None:
                continue
            name = f"the graphs of the {SIDES[which]}"
            rule = LESS if self._reaches_unseen(which) else MORE
            for count in forms_of(side.stack):
                words = f"the {count} nearest in {name}" if count else f"with {name}"
                form = self.choice.form.with_graphs(which, count)
                if self._offer("graphs", words, rule, form):
                    # A form of what has shown already has only to be better.
                    rule = OTHER

    def _ask_graphs_again(self) -> None:
        """Whether it does without graphs now: too many components need what holds them back."""
        for which, side in enumerate(self.judge.sides):
            used = side.stack.names and self.choice.form.graphs[which] is not None
            if not used or "graphs" not in self.asked:
                continue
            rule = MORE if self._reaches_unseen(which) else LESS
            words = f"without the graphs of the {SIDES[which]}"
            self._offer("graphs", words, rule, self.choice.form.with_graphs(which, None))

    def _ask_features(self) -> None:
        """Whether features help: those of both sides together, weighed by the fit."""
        given = tuple(side.features is not None for side in self.judge.sides)
        used = tuple(
            have and (self.variational is None or not self._heavy(side))
            for have, side in zip(given, self.judge.sides, strict=True)
        )
        form = replace(self.choice.form, features=(used[0], used[1]))
        if any(used) and form != self.choice.form:
            self._offer("features", "with features", MORE, form)

    def _heavy(self, side: SideInput) -> bool:
        assert side.features is not None
        return side.features.nnz > HEAVY_SHARE * self.judge.n_entries

    def _ask_biases(self) -> None:
        """Whether it does without."""
        if self.choice.settings.rank:
            self._offer("biases", "without biases", OTHER, bias=False)

    def _ask_posterior(self) -> None:
        """Whether a variational posterior, with all features, predicts better.

        A chain that clearly loses to a fit with no more components than it has does not lose for
        want of components, and fewer have been tried: it is asked nothing more. Else it may have
        more of them before this is decided.
        """
        settings, drawn = self.variational, self.choice
        assert settings is not None
        assert drawn.score is not None
        form = replace(drawn.form, features=(True, True))
        other = Choice(form, replace(settings, bias=drawn.settings.bias))
        words = f"a variational posterior ({settings.family})"
        self.choice, verdict = weigh(self.judge, drawn, other, "posterior", words, OTHER)
        if verdict.taken:
            assert self.choice.score is not None
            found = self.judge.latest
            few = found is not None and found.state.rank <= drawn.settings.rank
            self.grows = not (few and drawn.score.trails(self.choice.score))
            self.rival, self.choice = (self.choice, verdict), drawn
            return
        self.verdicts.append(verdict)

    def _meet_rival(self) -> None:
        """The variational fit that was ahead, against the chain as it is in the end."""
        if self.rival is None:
            return
        (rival, verdict), drawn = self.rival, self.choice
        assert rival.score is not None
        assert drawn.score is not None
        taken = rival.score.replaces(drawn.score, OTHER)
        self.verdicts.append(verdict._replace(taken=taken, standing=drawn.score.error))
        self.choice = _after(rival, drawn) if taken else drawn


def _model_of(choice: Choice) -> tuple[object, ...]:
    """What tells a model from others."""
    own = choice.settings
    prior = own.prior.likelihood.title, own.prior.pooled
    return choice.form, own.rank, own.bias, own.least_noise, prior


def _after(rival: Choice, drawn: Choice) -> Choice:
    """A variational fit that has taken the place of a chain, and what that has answered.

    One from a luckless start would have lost. Where a chain without features falls behind by more
    than the standard error, features have shown: the fit need not answer to another without them.
    """
    assert rival.score is not None
    assert drawn.score is not None
    shown = not any(drawn.form.features) and not drawn.score.is_as_good_as(rival.score)
    return replace(rival, answered=("start", "features") if shown else ("start",))
