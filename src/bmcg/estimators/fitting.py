"""How a BMCG is fitted, becomes the model of its fit, and is kept: checks and manners."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..backends import Backend, count_jobs
from ..backends.devices import Work, check_device, grouping_on, open_device
from ..callbacks import CallbackSupport, SweepTasks
from ..caller import user_level
from ..checks import (
    check_choice,
    check_number,
    check_range,
    check_subset,
    check_whole,
    is_auto,
    seed_of,
)
from ..files.checkpoints import Checkpoint, identify, open_checkpoint
from ..inference.families import FAMILIES, Family, posterior_of
from ..inference.fit import Fit, Progress, Settings, SideInput, Start
from ..inference.selection import QUESTIONS, Selection, runner_of, select
from ..inference.side import Prior
from ..inference.snapshot import Snapshot
from ..inference.variational import run
from ..likelihoods import Likelihood, WeakZero
from ..linalg.engines import ENGINES, EngineName
from ..observations import Observations
from ..observations.grouping import grouped_by
from ..posterior import Posterior
from ..progress import fit_progress
from ..serving.exposure import exposed_again, exposure_digests, with_exposures
from .ending import warn_of_end
from .equal import equal_words, far_words, size_if_equal
from .implicit import check_missing, is_implicit
from .many import Keeper, check_shared, group_of, lines_of_one, quiet, together
from .recorded import RecordedModel
from .sides import SideSpec, side_spec
from .smooth import check_local, lines_for
from .values import check_known, check_likelihood, chosen_likelihood, device_for, may_be_uneven

Array = NDArray[np.float64]


class Asked(NamedTuple):
    """Which posterior is asked for: a variational family, draws, or either if the data say so."""

    family: Family
    draw: bool = False
    either: bool = False


class FittingModel(CallbackSupport, RecordedModel):
    """Base of BMCG: from its parameters to a fit, and from a fit to its attributes."""

    # Parameters, which BMCG documents.
    rank: int
    posterior: Any
    ridge: float | None
    max_sweeps: int
    tol: float
    engine: EngineName
    storage: str
    bias: bool | str
    learn_graphs: bool | str
    selection: Any
    n_draws: int
    likelihood: str
    noise: str
    missing: str
    local: Any
    value_range: Any
    random_state: Any
    n_jobs: int | None
    device: str
    verbose: bool
    checkpoint: Any
    resume: bool

    def _fit_for(
        self,
        owner: Any,
        given: Any,
        X: Any,
        row_graph: Any,
        col_graph: Any,
        row_features: Any = None,
        col_features: Any = None,
        exposures: tuple[Any, Any] = (None, None),
    ) -> Self:
        """Fit; the owner's callbacks hear of it, and of the matrix that the owner was given."""
        check_device(self.device)
        with grouped_by(grouping_on(self.device, getattr(X, "nnz", 0))):
            observations = Observations.from_any(X)
        self._check_parameters(observations)
        likelihood: Likelihood = WeakZero()
        if not is_implicit(self):
            likelihood = chosen_likelihood(self.likelihood, self.noise, observations)
        likelihood = with_exposures(likelihood, observations, *exposures)
        given_rows, given_cols = (row_graph, row_features), (col_graph, col_features)
        check_shared(observations, likelihood, given_rows, given_cols, self.posterior)
        rows = side_spec(row_graph, row_features, observations, "rows")
        cols = side_spec(col_graph, col_features, observations, "cols")
        asked = self._asked(rows, cols)
        notes = (("row_features", rows.joined), ("col_features", cols.joined))
        joined = {argument: note for argument, note in notes if note}
        codes = {s: c for s, c in (("rows", rows.code), ("cols", cols.code)) if c is not None}
        # Chains end their burn-in themselves.
        most = None if asked.draw else self.max_sweeps
        tasks = SweepTasks(owner, given, observations.values, most)
        fit, fitted, selection, advice = self._run(
            observations, rows, cols, asked, likelihood, tasks
        )
        # Nothing is set before the fit stands: what fails leaves the model as it was.
        self._adopt(observations, fit, fitted, selection)
        self.joined_, self.feature_codes_ = joined, codes
        warn_of_end(fit, self.stop_reason_, self.max_sweeps, advice)
        for words in self._doubts(observations):
            warnings.warn(words, UserWarning, stacklevel=user_level())
        tasks.finish()
        return self

    def _doubts(self, observations: Observations) -> Iterator[str]:
        """What the values themselves say against the fit."""
        equal = None if is_implicit(self) else equal_words(observations.values)
        alone = group_of(observations) is None
        far = far_words(observations) if alone and self.likelihood == "gaussian" else None
        yield from (words for words in (equal, far) if words is not None)

    def _check_parameters(self, observations: Observations) -> None:
        check_whole("rank", self.rank)
        check_whole("max_sweeps", self.max_sweeps)
        check_choice("posterior", self.posterior, ("auto", "sampled", "variational", *FAMILIES))
        check_whole("n_draws", self.n_draws)
        check_choice("engine", self.engine, ENGINES)
        check_choice("storage", self.storage, ("float64", "float32"))
        check_choice("bias", self.bias, ("auto", True, False))
        check_choice("learn_graphs", self.learn_graphs, ("auto", True, False))
        check_subset("selection", self.selection, QUESTIONS)
        check_likelihood(self.likelihood, self.noise, self.value_range)
        check_missing(self, observations)
        check_local(self)
        x = observations.values
        check_range("value_range", self.value_range, float(x.min()), float(x.max()))
        if self.ridge is not None:
            check_number("ridge", self.ridge)
        check_number("tol", self.tol, allow_equal=True)
        count_jobs(self.n_jobs)

    def _asked(self, rows: SideSpec, cols: SideSpec) -> Asked:
        featured = rows.features is not None or cols.features is not None
        family: Family = "joint" if featured else "column"
        if is_implicit(self):
            family = "joint" if rows.is_tied or cols.is_tied else "row"
        if self.posterior == "sampled":
            self._check_sampled()
            return Asked(family, True)
        if self.posterior == "auto":
            # Options of variational fits alone ask for one.
            draws = not any(True for _ in self._undrawn())
            return Asked(family, draws, draws)
        if self.posterior != "variational":
            family = self.posterior
        kind = posterior_of(family)
        if featured and not kind.takes_features:
            raise ValueError(
                'posterior="column" has no room for features, whose weights tie the columns\' '
                'rows together: use posterior="auto", "variational", "row" or "joint"'
            )
        if self.storage != "float64" and not kind.stores_moments:
            raise ValueError(
                f"storage={self.storage!r} does nothing for the column posterior, which stores no "
                'second moments: use storage="float64", or posterior="row" or "joint"'
            )
        return Asked(family)

    def _undrawn(self) -> Iterator[tuple[str, Any, str]]:
        """Options set that draws have no use for, their usual values, and why."""
        for name, usual, why in (
            ("engine", "auto", "variances are those of the draws"),
            ("storage", "float64", "no second moments are stored"),
            ("local", None, "the local term is part of variational fits"),
        ):
            if getattr(self, name) != usual:
                yield name, usual, why

    def _check_sampled(self) -> None:
        for name, usual, why in self._undrawn():
            raise ValueError(
                f'{name}={getattr(self, name)!r} does not go with posterior="sampled": {why}; '
                f"leave it at {usual!r}, or use a variational posterior"
            )

    def _run(
        self,
        observations: Observations,
        rows: SideSpec,
        cols: SideSpec,
        asked: Asked,
        likelihood: Likelihood,
        tasks: SweepTasks,
    ) -> tuple[Fit, Posterior, Selection, str]:
        """The fit, what it learned, its questions, and advice where it did not converge."""
        m, n = observations.shape
        learn = rows.is_tied or cols.is_tied if self.learn_graphs == "auto" else self.learn_graphs
        settings = self._settings(observations, asked, bool(learn), likelihood)
        sides = rows.to_input(m, self.ridge), cols.to_input(n, self.ridge)
        group = group_of(observations)
        lines = lines_of_one(group, self.local, lambda: lines_for(self.local, sides, (m, n))) or ()
        settings = replace(
            settings,
            local=lines[0] if lines else None,
            local_open=lines if self.local == "auto" else (),
        )
        file = self._open_checkpoint(observations, *sides, settings)
        resume = None if file is None else file.snapshot
        if file is not None and resume is not None:
            settings = replace(settings, seed=file.identity.seed)
        kept, progress = Keeper(file, group), quiet(group, tasks.progress(self.verbose))

        def between(place: Snapshot) -> None:
            kept(place)
            tasks.begin()

        work = self._work(observations, sides, settings)
        device = "cpu" if lines else device_for(self.device, likelihood)
        with (
            open_device(device, self.n_jobs, work, group) as backend,
            progress as show,
            together(group, kept) as ends,
        ):

            def after(sweep: Progress) -> bool:
                show(sweep)
                return ends(tasks.end(lambda: self._as_of(sweep.fit(), observations)))

            tasks.begin()
            fit, selection = select(
                observations,
                sides,
                settings,
                backend=backend,
                show=show,
                asked=check_subset("selection", self.selection, QUESTIONS),
                callback=after,
                keep=between,
                resume=resume,
            )
            fitted = self._posterior(fit, observations, backend)
        kept.finish(fit)
        return fit, fitted, selection, kept.advice

    def _open_checkpoint(
        self, observations: Observations, rows: SideInput, cols: SideInput, settings: Settings
    ) -> Checkpoint | None:
        if self.checkpoint is None and not self.resume:
            return None
        fixed: dict[str, Any] = {
            "posterior": settings.family,
            "rank": settings.rank,
            "ridge": None if self.ridge is None else float(self.ridge),
            "engine": self.engine,
            "storage": self.storage,
            "bias": self.bias,
            "learn_graphs": settings.learn,
        }
        if settings.draws:
            fixed |= {"n_draws": settings.draws, "either": settings.either}
            fixed["selection"] = sorted(check_subset("selection", self.selection, QUESTIONS))
        if not settings.prior.likelihood.is_plain:
            fixed["likelihood"] = settings.prior.likelihood.title
        fixed |= exposure_digests(settings.prior.likelihood)
        if is_implicit(self):
            fixed["missing"] = self.missing
        return open_checkpoint(
            self.checkpoint,
            self.resume,
            identify(observations, rows, cols, fixed, settings.seed),
            self.max_sweeps,
            isinstance(self.random_state, numbers.Integral),
        )

    def _go_on(
        self, observations: Observations, rows: SideInput, cols: SideInput, start: Start
    ) -> None:
        kind, likelihood = self.posterior_, exposed_again(self.fitted_)
        check_known(likelihood, observations)
        if isinstance(likelihood, WeakZero):
            likelihood = likelihood.of_shape(observations.shape)
        asked = Asked("joint", True) if kind == "sampled" else Asked(kind)
        settings = self._settings(observations, asked, False, likelihood)
        again = runner_of(settings)
        # A chain has as many components as it is told to.
        rank = settings.rank if again is run else start.state.rank
        # Noise that was held to what left-out entries tell is what it was.
        held = any(v.question == "noise" and v.taken for v in self.selection_.verdicts)
        held = held and bool(settings.draws) and likelihood.is_plain
        least = self.noise_std_ if held else 0.0
        prior = replace(settings.prior, pooled=bool(settings.draws) and start.state.is_pooled)
        bias = start.state.biased
        settings = replace(settings, bias=bias, rank=rank, least_noise=least, prior=prior)
        work = self._work(observations, (rows, cols), settings)
        device = device_for(self.device, likelihood)
        with open_device(device, self.n_jobs, work) as backend, fit_progress(self.verbose) as show:
            fit = again(
                observations, rows, cols, settings, backend=backend, callback=show, start=start
            )
            fitted = self._posterior(self._within(fit, observations), observations, backend)
        weights = self.graph_weights_
        selection = Selection("the update", self.selection_.verdicts)
        self._adopt(observations, fit, fitted, selection)
        self.graph_weights_ = weights
        warn_of_end(fit, self.stop_reason_, self.max_sweeps)

    def _within(self, fit: Fit, observations: Observations) -> Fit:
        """An update within the observed range, where the model was: that is not asked again."""
        if not is_auto(self.value_range) or not np.isfinite(self.fitted_.limits).any():
            return fit
        low, high = float(observations.values.min()), float(observations.values.max())
        return replace(fit, limits=(low, high))

    def _work(
        self, observations: Observations, sides: tuple[SideInput, SideInput], settings: Settings
    ) -> Work:
        """The fit by its shapes, for the device to say whether it fits."""
        ties = sum(
            len(side.stack.heads) + (0 if side.features is None else side.features.nnz)
            for side in sides
        )
        kind = "sampled" if settings.draws else settings.family
        moments = not settings.prior.likelihood.is_plain
        return Work(*observations.shape, len(observations), settings.rank, kind, ties, moments)

    def _settings(
        self, observations: Observations, asked: Asked, learn: bool, likelihood: Likelihood
    ) -> Settings:
        return Settings(
            family=asked.family,
            draws=self.n_draws if asked.draw else 0,
            either=asked.either,
            rank=min(self.rank, *observations.shape),
            max_sweeps=self.max_sweeps,
            tol=self.tol,
            engine=self.engine,
            seed=seed_of(self.random_state),
            bias=None if self.bias == "auto" else bool(self.bias),
            limits=None if is_auto(self.value_range) else self._limits(observations),
            learn=learn,
            single=self.storage == "float32",
            prior=Prior(likelihood=likelihood),
            open_noise=self.noise == "auto" and may_be_uneven(likelihood, observations.values),
        )

    def _posterior(
        self,
        fit: Fit,
        observations: Observations,
        backend: Backend | None = None,
    ) -> Posterior:
        # Moments of draws are those of independent rows.
        family: Family = "row" if fit.kind == "sampled" else fit.kind
        fitted = Posterior.from_fit(fit, family, fit.limits or self._limits(observations), backend)
        size = 0.0 if is_implicit(self) else size_if_equal(observations.values)
        return fitted.unsure(size) if size and fitted.likelihood.is_linear else fitted

    def _limits(self, observations: Observations) -> tuple[float, float]:
        """The range of an entry, as numbers; values that are all equal span none."""
        given, x = self.value_range, observations.values
        if given is None or is_auto(given) or (isinstance(given, str) and size_if_equal(x)):
            return -np.inf, np.inf
        low, high = (x.min(), x.max()) if isinstance(given, str) else given
        return float(low), float(high)

    def _as_of(self, fit: Fit, observations: Observations) -> Self:
        """This model as a fit under way would leave it."""
        model = copy.copy(self)
        fitted = self._posterior(fit, observations)
        model._adopt(observations, fit, fitted, Selection("a fit under way"))
        model.joined_, model.feature_codes_ = {}, {}
        return model

    def _adopt(
        self,
        observations: Observations,
        fit: Fit,
        fitted: Posterior,
        selection: Selection,
    ) -> None:
        """Become the model of a fit."""
        self.posterior_ = fit.kind
        self._remember(observations)
        self._describe(fit, selection)
        self.fitted_ = fitted
