"""BMCG: parameters, checks, scikit-learn's manners; no mathematics."""

from __future__ import annotations

import copy
import numbers
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..backends import count_jobs, open_backend
from ..callbacks import CallbackSupport, SweepTasks, with_callbacks
from ..caller import user_level
from ..checks import (
    check_choice,
    check_number,
    check_range,
    check_subset,
    check_whole,
    seed_of,
)
from ..files.checkpoints import Checkpoint, identify, open_checkpoint
from ..inference.families import FAMILIES, Family
from ..inference.fit import Fit, Progress, Settings, SideInput, Start
from ..inference.selection import QUESTIONS, Selection, select
from ..inference.snapshot import Snapshot
from ..inference.usage import GraphWeight, graph_weights
from ..inference.variational import run
from ..linalg.engines import ENGINES, EngineName
from ..observations import Observations
from ..observations.frames import like
from ..posterior import Posterior, Predictive
from ..progress import fit_progress
from ..serving import ServingModel
from .sides import SideSpec, side_spec

Array = NDArray[np.float64]


class BMCG(CallbackSupport, ServingModel):
    """Bayesian low-rank matrix completion with a graph on the rows and one on the columns.

    M ≈ UVᵀ on the observed entries. Components, columns of U and V, share precisions that are
    learned, so the rank is found; rows of U and of V are tied by the graphs' Laplacians; the
    noise is learned. Nothing is tuned.

    Parameters
    ----------
    rank : int, default=100
        Most components, capped by the smaller side of the matrix. The fit starts with few
        and adds more while all of them earn their keep, so a large value costs little.
    posterior : {"auto", "column", "row", "joint"}, default="auto"
        What the posterior keeps: correlation along the graph ("column", the paper's choice),
        between components, or both. "auto" is "joint" with features and "column" without.
    ridge : float or None
        Added to the diagonal of each side's Laplacian. Where strengths are learned the ridge is
        one of them, and this is where it starts: 0.1 by default. Else it stays: 1e-6 by default.
    max_sweeps : int, default=200
    tol : float, default=1e-5
        Stop when a sweep raises the evidence bound by less than this, relative to its size
        (at least one nat an observation).
    engine : {"auto", "dense", "sparse", "monte_carlo"}, default="auto"
        How variances along a graph are computed; chosen by cost unless given. Features leave
        "sparse" out, and "dense" to small sides. A side without graph and features needs none.
    storage : {"float64", "float32"}, default="float64"
        What second moments are stored in while they are summed. "float32" halves the memory
        and traffic of sums in "row" and "joint", which are taken in float64 either way; "column"
        stores none.
    bias : {"auto", True, False}, default="auto"
        Whether rows and columns have offsets of their own, smoothed by the same graphs, around
        a global one. "auto" uses them where a row or a column has no observation, and else
        makes a short fit with and one without and keeps what has the higher bound.
    learn_graphs : {"auto", True, False}, default="auto"
        Whether the strengths of the graphs, of the ridge and of features are learned; "auto"
        does so wherever there are any, and leaves out a graph that does not pay for its
        strength. False keeps every graph at weight one and the ridge as given, which is the
        paper's model.
    selection : bool or list of {"biases", "components", "features", "graphs"}, default=True
        Which questions are asked about what the model is made of: whether `bias="auto"` means
        biases, and whether the fit would do without components, without features, without a
        graph. One that is not asked leaves the fuller model.
    value_range : None, "observed" or (low, high)
        Range that a value can take. Centres of predictions are moved into it, and what lies
        beyond an end is moved to that end, where distributions then have mass; means,
        deviations, intervals, draws and scores are those of the clipped Gaussian.
    random_state : int, RandomState or None
        Seed of the start and of Monte Carlo draws. The same seed gives the same result with
        any number of threads.
    n_jobs : int or None
        Threads; all cores by default.
    verbose : bool
        Show progress also when the output is not a terminal.
    checkpoint : path-like or None
        File that a long fit is written to every two minutes, and where Ctrl-C ends it. A file
        that exists is not replaced unless the fit goes on from it.
    resume : bool
        Go on from `checkpoint`, exactly as if the fit had never stopped. Data, graphs and
        settings must be the same; `max_sweeps` and `tol` may change.

    Attributes
    ----------
    posterior_ : {"column", "row", "joint"}
        What the posterior kept.
    rank_ : int
        Components found.
    noise_std_ : float
    component_precisions_ : ndarray of shape (rank_,)
        ⟨λ⟩, in units of the data over its root mean square.
    row_factors_ : ndarray of shape (m, rank_)
    col_factors_ : ndarray of shape (n, rank_)
        Posterior means, in the data's units.
    row_bias_ : ndarray of shape (m,)
    col_bias_ : ndarray of shape (n,)
        What every entry of a row, and of a column, has besides; zero without biases.
    offset_ : float
        What every entry starts from; zero without biases. The completed matrix, before the range
        of values, is
        ``row_factors_ @ col_factors_.T + row_bias_[:, None] + col_bias_ + offset_``.
    selection_ : Selection
        What was tried, each verdict with its figures, and which fit the model holds.
    elbo_trace_ : ndarray of shape (n_sweeps_,)
        Evidence lower bound after every sweep of that fit, all constants included.
    rank_trace_ : ndarray of shape (n_sweeps_,)
    solve_steps_ : ndarray of shape (n_sweeps_,)
        Steps of conjugate gradients in every sweep that this process made.
    n_sweeps_ : int
    converged_ : bool
    stop_reason_ : str
        "converged", "max_sweeps", "interrupted" (by Ctrl-C) or "stopped" (by a callback).
    engines_ : tuple of str
        Variance engines used for rows and columns.
    biased_ : bool
        Whether the model has biases.
    graph_weights_ : dict
        For "rows" and "cols" a dict of names to `GraphWeight`: the strength of each graph, of
        the ridge and of the features, and the share of the prior that each determines.
    joined_ : dict
        For "row_features" and "col_features", where given, how their lines were matched with
        the data: by which labels or by position, and how many lines were left out.

    Examples
    --------
    >>> import numpy as np
    >>> from bmcg import BMCG
    >>> from bmcg.graphs import chain_graph
    >>> X = np.outer(np.sin(np.arange(30) / 5), np.cos(np.arange(20) / 5))
    >>> X[::3, ::2] = np.nan
    >>> model = BMCG(random_state=0).fit(X, row_graph=chain_graph(30), col_graph=chain_graph(20))
    >>> mean, std = model.predict([0], [0], return_std=True)
    """

    _fitted_type: ClassVar[type[Any]] = Posterior
    _fitted_numbers: ClassVar[tuple[str, ...]] = (
        "posterior_",
        "converged_",
        "stop_reason_",
        "engines_",
        "biased_",
        "graph_weights_",
        "selection_",
    )

    fitted_: Posterior
    posterior_: Family
    elbo_trace_: Array
    rank_trace_: NDArray[np.int64]
    solve_steps_: NDArray[np.int64]
    selection_: Selection
    converged_: bool
    stop_reason_: str
    engines_: tuple[str, str]
    biased_: bool
    graph_weights_: dict[str, dict[str, GraphWeight]]

    def __init__(
        self,
        rank: int = 100,
        posterior: Family | Literal["auto"] = "auto",
        ridge: float | None = None,
        max_sweeps: int = 200,
        tol: float = 1e-5,
        *,
        engine: EngineName = "auto",
        storage: Literal["float64", "float32"] = "float64",
        bias: bool | str = "auto",
        learn_graphs: bool | str = "auto",
        selection: Any = True,
        value_range: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        checkpoint: Any = None,
        resume: bool = False,
    ) -> None:
        self.rank = rank
        self.posterior = posterior
        self.ridge = ridge
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.engine = engine
        self.storage = storage
        self.bias = bias
        self.learn_graphs = learn_graphs
        self.selection = selection
        self.value_range = value_range
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.checkpoint = checkpoint
        self.resume = resume

    @with_callbacks
    def fit(
        self,
        X: Any,
        row_graph: Any = None,
        col_graph: Any = None,
        row_features: Any = None,
        col_features: Any = None,
    ) -> Self:
        """Learn from the observed entries, the graphs and the features.

        Parameters
        ----------
        X : Observations, ndarray with NaN, masked array, sparse matrix or wide data frame
            The matrix, shape (m, n). Stored entries of a sparse matrix are observed,
            stored zeros included.
        row_graph, col_graph : graph, mapping of names to graphs, "auto" or None
            Which rows, and which columns, are alike: an adjacency matrix, edge list, frame or
            networkx graph. Several by name, or those that "auto" builds from the observation
            pattern and the features, get weights from the evidence.
        row_features, col_features : array, sparse matrix, frame, (frame, key), "pattern" or None
            What is known of each row, and of each column; a linear map into the factors is
            learned with them. Where the data has labels, lines of a frame are found by label:
            in the key column, else in an index or column that has the labels' title, else in
            the index. Arrays are matched by position. "pattern" is the observation pattern
            itself.

        Returns
        -------
        self

        Notes
        -----
        With scikit-learn 1.9 or later, callbacks given to `set_callbacks` hear of the fit and of
        each sweep, whose fitted estimator they may ask for, and can end the fit.
        """
        return self._fit_for(self, X, X, row_graph, col_graph, row_features, col_features)

    def _fit_for(
        self,
        owner: Any,
        given: Any,
        X: Any,
        row_graph: Any,
        col_graph: Any,
        row_features: Any = None,
        col_features: Any = None,
    ) -> Self:
        """Fit; the owner's callbacks hear of it, and of the matrix that the owner was given."""
        observations = Observations.from_any(X)
        self._check_parameters(observations)
        rows = side_spec(row_graph, row_features, observations, "rows")
        cols = side_spec(col_graph, col_features, observations, "cols")
        family = self._family(rows, cols)
        notes = {"row_features": rows.joined, "col_features": cols.joined}
        joined = {argument: note for argument, note in notes.items() if note}
        given_codes = {"rows": rows.code, "cols": cols.code}
        codes = {side: code for side, code in given_codes.items() if code is not None}
        tasks = SweepTasks(owner, given, observations.values)
        fit, fitted, selection, advice = self._run(observations, rows, cols, family, tasks)
        # Nothing is set before the fit stands: what fails leaves the model as it was.
        self._adopt(observations, family, fit, fitted, selection)
        self.joined_, self.feature_codes_ = joined, codes
        self._warn(fit, advice)
        tasks.finish()
        return self

    def predict_interval(
        self, rows: Any, cols: Any, level: float = 0.9, *, include_noise: bool = True
    ) -> tuple[Any, Any]:
        """Central intervals that hold a new observation with the given probability.

        Parameters
        ----------
        rows, cols : array_like of positions or labels, shape (n_pairs,)
        level : float
        include_noise : bool
            False for the entry itself rather than a noisy observation of it.

        Returns
        -------
        low, high : ndarray of shape (n_pairs,)
        """
        i, j = self._pairs(rows, cols)
        low, high = self.fitted_.interval(i, j, level, include_noise)
        return like(low, rows, cols), like(high, rows, cols)

    def predictive(self, rows: Any, cols: Any, *, include_noise: bool = True) -> Predictive:
        """Predictive distributions of entries, to score values that the fit has not seen.

        Parameters
        ----------
        rows, cols : array_like of positions or labels, shape (n_pairs,)
        include_noise : bool
            False for the entry itself rather than a noisy observation of it.

        Returns
        -------
        Predictive
            With `mean`, `std`, `interval(level)`, `log_density(values)` and `pit(values)`.
        """
        i, j = self._pairs(rows, cols)
        return self.fitted_.predictive(i, j, include_noise)

    def sample(
        self,
        rows: Any,
        cols: Any,
        n_draws: int = 1,
        random_state: Any = None,
        *,
        include_noise: bool = False,
    ) -> Array:
        """Joint draws of a set of entries from the posterior.

        Parameters
        ----------
        rows, cols : array_like of positions or labels, shape (n_pairs,)
        n_draws : int
        random_state : int, RandomState or None
        include_noise : bool
            True for new observations rather than the entries themselves.

        Returns
        -------
        ndarray of shape (n_draws, n_pairs)
        """
        i, j = self._pairs(rows, cols)
        check_whole("n_draws", n_draws)
        return self.fitted_.draw(i, j, n_draws, seed_of(random_state), include_noise)

    @property
    def _learned(self) -> Posterior:
        check_is_fitted(self, "fitted_")
        return self.fitted_

    @property
    def rank_(self) -> int:
        """Components found."""
        return len(self._learned.lam.shape)

    @property
    def noise_std_(self) -> float:
        """Standard deviation of the noise, in the data's units."""
        return float(np.sqrt(self._learned.noise_variance))

    @property
    def component_precisions_(self) -> Array:
        """⟨λ⟩ of each component, shape (rank_,)."""
        return self._learned.lam.mean

    @property
    def row_factors_(self) -> Array:
        """Posterior means of the rows' factors, in the data's units, shape (m, rank_)."""
        return np.sqrt(self._learned.scale) * self._learned.rows.factors.mean[:, : self.rank_]

    @property
    def col_factors_(self) -> Array:
        """Posterior means of the columns' factors, in the data's units, shape (n, rank_)."""
        return np.sqrt(self._learned.scale) * self._learned.cols.factors.mean[:, : self.rank_]

    @property
    def row_bias_(self) -> Array:
        """Posterior means of the rows' biases, shape (m,); zero without biases."""
        return self._learned.scale * self._learned.rows.bias

    @property
    def col_bias_(self) -> Array:
        """Posterior means of the columns' biases, shape (n,); zero without biases."""
        return self._learned.scale * self._learned.cols.bias

    @property
    def offset_(self) -> float:
        """What every entry starts from; zero without biases."""
        return self._learned.offset

    @property
    def n_sweeps_(self) -> int:
        """Sweeps made."""
        return len(self.elbo_trace_)

    def _check_parameters(self, observations: Observations) -> None:
        check_whole("rank", self.rank)
        check_whole("max_sweeps", self.max_sweeps)
        check_choice("posterior", self.posterior, ("auto", *FAMILIES))
        check_choice("engine", self.engine, ENGINES)
        check_choice("storage", self.storage, ("float64", "float32"))
        check_choice("bias", self.bias, ("auto", True, False))
        check_choice("learn_graphs", self.learn_graphs, ("auto", True, False))
        check_subset("selection", self.selection, QUESTIONS)
        x = observations.values
        check_range("value_range", self.value_range, float(x.min()), float(x.max()))
        if self.ridge is not None:
            check_number("ridge", self.ridge)
        check_number("tol", self.tol, allow_equal=True)
        count_jobs(self.n_jobs)

    def _family(self, rows: SideSpec, cols: SideSpec) -> Family:
        featured = rows.features is not None or cols.features is not None
        family: Family = "joint" if featured else "column"
        if self.posterior != "auto":
            family = self.posterior
        if family == "column" and featured:
            raise ValueError(
                'posterior="column" has no room for features, whose weights tie the columns\' '
                'rows together: use posterior="auto", "row" or "joint"'
            )
        if family == "column" and self.storage != "float64":
            raise ValueError(
                f"storage={self.storage!r} does nothing for the column posterior, which stores no "
                'second moments: use storage="float64", or posterior="row" or "joint"'
            )
        return family

    def _run(
        self,
        observations: Observations,
        rows: SideSpec,
        cols: SideSpec,
        family: Family,
        tasks: SweepTasks,
    ) -> tuple[Fit, Posterior, Selection, str]:
        """The fit, what it learned, the questions asked, and advice where it did not converge."""
        m, n = observations.shape
        learn = rows.is_tied or cols.is_tied if self.learn_graphs == "auto" else self.learn_graphs
        settings = self._settings(observations, family, bool(learn))
        sides = rows.to_input(m, self.ridge), cols.to_input(n, self.ridge)
        kept = self._open_checkpoint(observations, *sides, settings)
        resume = None if kept is None else kept.snapshot
        if kept is not None and resume is not None:
            settings = replace(settings, seed=kept.identity.seed)
        progress = tasks.progress(self.max_sweeps, self.verbose)

        def between(place: Snapshot) -> None:
            if kept is not None:
                kept(place)
            tasks.begin()

        with open_backend(self.n_jobs) as backend, progress as show:

            def after(sweep: Progress) -> bool:
                show(sweep)
                return tasks.end(lambda: self._as_of(sweep.fit(), observations, family))

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
            fitted = Posterior.from_fit(fit, family, self._limits(observations), backend)
        if kept is not None:
            kept.finish(fit)
        return fit, fitted, selection, "" if kept is None else kept.advice

    def _open_checkpoint(
        self, observations: Observations, rows: SideInput, cols: SideInput, settings: Settings
    ) -> Checkpoint | None:
        if self.checkpoint is None and not self.resume:
            return None
        fixed = {
            "posterior": settings.family,
            "rank": settings.rank,
            "ridge": None if self.ridge is None else float(self.ridge),
            "engine": self.engine,
            "storage": self.storage,
            "bias": self.bias,
            "learn_graphs": settings.learn,
        }
        return open_checkpoint(
            self.checkpoint,
            self.resume,
            identify(observations, rows, cols, fixed, settings.seed),
            self.max_sweeps,
            isinstance(self.random_state, numbers.Integral),
        )

    def _resume(
        self, observations: Observations, rows: SideInput, cols: SideInput, start: Start
    ) -> Posterior:
        family = self.posterior_
        settings = self._settings(observations, family, False)
        settings = replace(settings, bias=start.state.biased)
        progress = fit_progress(self.max_sweeps, self.verbose)
        with open_backend(self.n_jobs) as backend, progress as show:
            fit = run(
                observations, rows, cols, settings, backend=backend, callback=show, start=start
            )
            fitted = Posterior.from_fit(fit, family, self._limits(observations), backend)
        weights = self.graph_weights_
        self._describe(fit, Selection("the update", self.selection_.verdicts))
        self.graph_weights_ = weights
        self._warn(fit)
        return fitted

    def _settings(self, observations: Observations, family: Family, learn: bool) -> Settings:
        return Settings(
            family=family,
            rank=min(self.rank, *observations.shape),
            max_sweeps=self.max_sweeps,
            tol=self.tol,
            engine=self.engine,
            seed=seed_of(self.random_state),
            bias=None if self.bias == "auto" else bool(self.bias),
            learn=learn,
            single=self.storage == "float32",
        )

    def _limits(self, observations: Observations) -> tuple[float, float]:
        """The range of an entry, as numbers."""
        if self.value_range is None:
            return -np.inf, np.inf
        if isinstance(self.value_range, str):
            return float(observations.values.min()), float(observations.values.max())
        low, high = self.value_range
        return float(low), float(high)

    def _as_of(self, fit: Fit, observations: Observations, family: Family) -> Self:
        """This model as a fit under way would leave it."""
        model = copy.copy(self)
        fitted = Posterior.from_fit(fit, family, self._limits(observations))
        model._adopt(observations, family, fit, fitted, Selection("a fit under way"))
        model.joined_, model.feature_codes_ = {}, {}
        return model

    def _adopt(
        self,
        observations: Observations,
        family: Family,
        fit: Fit,
        fitted: Posterior,
        selection: Selection,
    ) -> None:
        """Become the model of a fit."""
        self.posterior_ = family
        self._remember(observations)
        self._describe(fit, selection)
        self.fitted_ = fitted

    def _describe(self, fit: Fit, selection: Selection) -> None:
        self.elbo_trace_ = np.asarray(fit.trace)
        self.rank_trace_ = np.asarray(fit.ranks)
        self.solve_steps_ = np.asarray(fit.steps)
        self.selection_ = selection
        self.converged_ = fit.converged
        self.biased_ = fit.state.biased
        self.graph_weights_ = {"rows": graph_weights(fit.rows), "cols": graph_weights(fit.cols)}
        self.engines_ = (fit.rows.side.engine.name, fit.cols.side.engine.name)
        ends = ("converged", "interrupted", "stopped")
        self.stop_reason_ = next((end for end in ends if getattr(fit, end)), "max_sweeps")

    def _warn(self, fit: Fit, advice: str = "") -> None:
        said = []
        if fit.interrupted:
            said.append(
                f"interrupted after {len(fit.trace)} sweeps: the model holds the last of them"
                f"{advice}"
            )
        elif self.stop_reason_ == "max_sweeps":
            said.append(
                f"stopped at max_sweeps={self.max_sweeps} before the bound settled; "
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

    def _mean(self, i: NDArray[np.intp], j: NDArray[np.intp], include_noise: bool = True) -> Array:
        return self.fitted_.mean(i, j, include_noise)

    def _complete(self) -> Array:
        return self.fitted_.matrix()

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = super()._state()
        arrays |= {"elbo_trace": self.elbo_trace_, "rank_trace": self.rank_trace_}
        arrays["solve_steps"] = self.solve_steps_
        # Where a fit was kept is no part of the model.
        for name in ("checkpoint", "resume"):
            header["parameters"].pop(name, None)
        header["fit"] = {name: getattr(self, name) for name in self._fitted_numbers}
        return arrays, header

    @classmethod
    def _from_state(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Self:
        model = super()._from_state(arrays, header)
        model.elbo_trace_, model.rank_trace_ = arrays["elbo_trace"], arrays["rank_trace"]
        # Files of earlier versions lack both.
        model.solve_steps_ = arrays.get("solve_steps", np.empty(0, np.int64))
        header["fit"].setdefault("selection_", ["not recorded", []])
        for name in cls._fitted_numbers:
            value = header["fit"][name]
            if name == "selection_":
                value = Selection.from_plain(value)
            if name == "graph_weights_":
                value = {
                    side: {graph: GraphWeight(*parts) for graph, parts in weights.items()}
                    for side, weights in value.items()
                }
            setattr(model, name, tuple(value) if type(value) is list else value)
        return model
