"""BMCG: parameters, checks, scikit-learn's manners; no mathematics."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..callbacks import with_callbacks
from ..checks import check_whole, seed_of
from ..inference.families import Family
from ..linalg.engines import EngineName
from ..observations.frames import like
from ..posterior import Distribution, Posterior, simulated
from .levels import LevelsModel

Array = NDArray[np.float64]


class BMCG(LevelsModel):
    """Bayesian low-rank matrix completion with a graph on the rows and one on the columns.

    M ≈ UVᵀ on the observed entries. Components, columns of U and V, share precisions that are
    learned, so the rank is found; rows of U and of V are tied by the graphs' Laplacians; the
    noise is learned. Nothing is tuned.

    Parameters
    ----------
    rank : int, default=100
        Most components, capped by the smaller side of the matrix. The fit starts with few
        and adds more while all of them earn their keep, so a large value costs little.
    posterior : {"auto", "sampled", "variational", "column", "row", "joint"}, default="auto"
        "sampled" draws from the posterior itself, by Gibbs sampling, and decides on graphs,
        features, biases and the number of components by entries that it leaves out meanwhile.
        A variational posterior keeps correlation along the graph ("column", the paper's choice),
        between components ("row"), or both ("joint"); "variational" is "joint" with features and
        "column" without. "auto" is "sampled" or "variational", whichever predicts left-out
        entries better; where an option of variational fits alone is given, that. Among weak zeros
        "auto" takes columns for parameters and integrates rows out, unless biases are asked for,
        and "variational" is "row", or "joint" with graphs or features.
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
        makes a short fit with and one without and keeps what has the higher bound; among weak
        zeros it uses none, because a component holds how popular columns are.
    learn_graphs : {"auto", True, False}, default="auto"
        Whether the strengths of the graphs, of the ridge and of features are learned; "auto"
        does so wherever there are any, and leaves out a graph that does not pay for its strength.
        False keeps every graph at weight one and the ridge as given, which is the paper's model.
    selection : bool or list of str, default=True
        "biases", "components", "features", "graphs", "local", "noise": which questions are asked:
        whether `bias="auto"` means biases, `local="auto"` a local term, whether the fit would do
        without components, features or a graph, and whether Gaussian noise of a sampled model has
        to be as large as left-out entries tell. One not asked leaves the fuller model.
    n_draws : int, default=100
        Draws that a sampled model keeps, 4 bytes for each draw, row or column, and component:
        from `max_sweeps` sweeps after the burn-in, of four chains where there are 100 or more and
        not over 500,000 entries.
    likelihood : {"gaussian", "student", "bernoulli", "ordinal", "poisson", "negative_binomial", \
"auto"}, default="gaussian"
        How a value comes from its entry: with Gaussian noise; with Student's, whose degrees of
        freedom are learned and which outliers do not move; as a zero or one; as one of several
        ordered levels between learned thresholds; as a count. "auto" proposes, and says so.
    noise : {"auto", "shared", "rows", "cols"}, default="auto"
        Gaussian noise of one size, or one each; "auto" asks left-out entries, in draws alone.
    missing : {"unknown", "weak-zero"}, default="unknown"
        What an entry is that was not observed. "weak-zero" is for what was chosen (clicks, plays):
        every pair is a zero of small weight, one that was seen a one besides, which weighs by its
        count; left-out lists tell the weights. Predictions then order lists; they are no values.
    local : {None, "auto", "rows", "cols", "both"}, default=None
        A term besides the low-rank one: what each row has of its own that is smooth along the
        column graph ("cols"), each column along the row graph ("rows"), or every cell along both,
        with learned scales; the fit is variational. Along one, the graph runs along a line
        (`chain_graph`, `time_graph`) and cells are at most 33,554,432; along both, graphs have up
        to 4,096 nodes (16,384 along a line) and cells are at most 2,097,152. "auto" keeps what
        predicts gaps like those of the data best, if any does (both at once up to 131,072 cells
        and 1,048,576 ties). Such a model takes no new rows, updates or draws.
    value_range : {"auto", None, "observed"} or (low, high), default="auto"
        Range that a value can take. What lies beyond an end is moved to that end, and centres to
        where the mean is what was learned, held to the range (no end gets more than two thirds);
        means, deviations, intervals, draws and scores are of this one distribution. "observed" is
        that of the observed values; "auto" takes it where left-out entries are predicted better.
    random_state : int, RandomState or None
        Seed of the start and of draws: the same result with any number of threads.
    n_jobs : int or None
        Threads; all cores by default.
    device : {"auto", "cpu", "cuda", "cuda:1", ...}, default="auto"
        Where the fit is done. A GPU needs PyTorch, the extra `bmcg[gpu]`; it stores in single
        precision, sums in double, and a seed gives the same fit twice on the same kind of GPU.
        "auto" takes one for "row", "joint" and "sampled" fits of five million entries or more.
    verbose : bool
        Show progress also when the output is not a terminal.
    checkpoint : path-like or None
        File that a long fit is written to every two minutes, and by Ctrl-C; one that exists is only
        replaced by a fit that goes on from it.
    resume : bool
        Go on from `checkpoint`, exactly as if the fit had never stopped. Data, graphs and
        settings must be the same; `max_sweeps` and `tol` may change.

    Attributes
    ----------
    posterior_ : {"column", "row", "joint", "sampled"}
        What the posterior kept.
    rank_ : int
        Components found.
    likelihood_ : str
        The likelihood that was fitted.
    levels_ : ndarray of shape (n_levels,)
        Values of a likelihood with levels, "bernoulli" or "ordinal"; else empty.
    noise_std_ : float
        NaN where values have no noise that is added to them. Of a model that `bmcg impute` saved
        of scaled columns, which have units of their own, this and all below are in the one unit
        of the fit; predictions are in those of the columns.
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
    local_term_ : ndarray of shape (m, n) or None
        Posterior mean of the local term, which every entry has besides; None without.
    selection_ : Selection
        What was tried, each verdict with its figures, and which fit the model holds.
    elbo_trace_ : ndarray of shape (n_sweeps_,)
        Evidence lower bound after every sweep of that fit, all constants included; of a sampled
        one, the log density of the observed entries at each of its places, burn-in included.
    diagnostics_ : Diagnostics or None
        Of a sampled model: effective sizes and split-R̂ of noise and density, and the burn-in.
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
    graph_weights_ : dict
        For "rows" and "cols": names to `GraphWeight`, strength and share of the prior of each.
    joined_ : dict
        How lines of "row_features" and "col_features" were matched, and how many were left out.

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

    def __init__(
        self,
        rank: int = 100,
        posterior: Family | Literal["auto", "sampled", "variational"] = "auto",
        ridge: float | None = None,
        max_sweeps: int = 200,
        tol: float = 1e-5,
        *,
        engine: EngineName = "auto",
        storage: Literal["float64", "float32"] = "float64",
        bias: bool | str = "auto",
        learn_graphs: bool | str = "auto",
        selection: Any = True,
        n_draws: int = 100,
        likelihood: str = "gaussian",
        noise: str = "auto",
        missing: Literal["unknown", "weak-zero"] = "unknown",
        local: Literal["auto", "rows", "cols", "both"] | None = None,
        value_range: Any = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        device: str = "auto",
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
        self.n_draws = n_draws
        self.likelihood = likelihood
        self.noise = noise
        self.missing = missing
        self.local = local
        self.value_range = value_range
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.device = device
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
        *,
        row_exposure: Any = None,
        col_exposure: Any = None,
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
        row_exposure, col_exposure : array_like, mapping of labels, Series or None
            Of counts alone: what each row, and each column, was exposed to, such as hours of
            observation or the depth of a cell, above zero. Expected counts are proportional to
            both; what is learned is the rate for one unit. Arrays go by position.

        Returns
        -------
        self

        Notes
        -----
        With scikit-learn 1.9 or later, callbacks given to `set_callbacks` hear of the fit and of
        each sweep, whose fitted estimator they may ask for, and can end the fit.
        """
        known = row_graph, col_graph, row_features, col_features
        return self._fit_for(self, X, X, *known, (row_exposure, col_exposure))

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

    def predictive(self, rows: Any, cols: Any, *, include_noise: bool = True) -> Distribution:
        """Predictive distributions of entries, to score values that the fit has not seen.

        Parameters
        ----------
        rows, cols : array_like of positions or labels, shape (n_pairs,)
        include_noise : bool
            False for the entry itself rather than a noisy observation of it.

        Returns
        -------
        Distribution
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
        return simulated(self.fitted_, i, j, n_draws, seed_of(random_state), include_noise)

    @property
    def _learned(self) -> Posterior:
        check_is_fitted(self, "fitted_")
        return self.fitted_

    @property
    def rank_(self) -> int:
        """Components found."""
        return len(self._learned.lam.shape)

    @property
    def likelihood_(self) -> str:
        """The likelihood that was fitted."""
        return self._learned.likelihood.name

    @property
    def noise_std_(self) -> float:
        """Standard deviation of the noise, in the data's units; NaN where it is not additive.

        Where columns have units of their own it is the fit's: the noise of scaled columns.
        """
        if not self._learned.likelihood.is_linear:
            return float("nan")
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
        return self._learned.offset + float(self._learned.own.get("intercept", np.zeros(())))

    @property
    def local_term_(self) -> Array | None:
        """Posterior mean of the local term, in the data's units, shape (m, n); None without."""
        fitted = self._learned
        return None if fitted.local is None else fitted.scale * fitted.local.mean

    @property
    def n_sweeps_(self) -> int:
        """Sweeps made."""
        return len(self.elbo_trace_)
