"""BMCG and BMCGImputer: parameters, checks, scikit-learn's manners; no mathematics."""

from __future__ import annotations

import numbers
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .base import MatrixCompleter
from .graphs.precision import stack_graphs
from .inference.families import FAMILIES, Family
from .inference.run import Fit, Settings, SideInput, run
from .kernels.threads import count_jobs, workers
from .linalg.engines import ENGINES, EngineName
from .observations import Observations
from .posterior import Posterior, interval
from .progress import fit_progress
from .tables import like

Array = NDArray[np.float64]


class BMCG(MatrixCompleter):
    """Bayesian low-rank matrix completion with a graph on the rows and one on the columns.

    M ≈ UVᵀ on the observed entries. Columns of U and V share precisions that are learned, so
    the rank is found; rows of U and of V are tied by the graphs' Laplacians; the noise is
    learned. Nothing is tuned.

    Parameters
    ----------
    rank : int, default=100
        Most components, capped by the smaller side of the matrix. The fit starts with few
        and adds more while all of them earn their keep, so a large value costs little.
    posterior : {"column", "row", "joint"}, default="column"
        What the posterior keeps: correlation along the graph (the paper's choice),
        between components, or both.
    ridge : float, default=1e-6
        Added to the diagonal of each graph's Laplacian.
    max_sweeps : int, default=200
    tol : float, default=1e-5
        Stop when a sweep raises the evidence bound by less than this, relative to its size
        (at least one nat an observation).
    engine : {"auto", "dense", "sparse", "monte_carlo"}, default="auto"
        How variances along a graph are computed; chosen by cost unless given.
    random_state : int, RandomState or None
        Seed of the start and of Monte Carlo draws. The same seed gives the same result with
        any number of threads.
    n_jobs : int or None
        Threads; all cores by default.
    verbose : bool
        Show progress also when the output is not a terminal.

    Attributes
    ----------
    rank_ : int
        Components found.
    noise_std_ : float
    component_precisions_ : ndarray of shape (rank_,)
        ⟨λ⟩, in units of the data over its root mean square.
    row_factors_ : ndarray of shape (m, rank_)
    col_factors_ : ndarray of shape (n, rank_)
        Posterior means; row_factors_ @ col_factors_.T is the completed matrix.
    elbo_trace_ : ndarray of shape (n_sweeps_,)
        Evidence lower bound after every sweep, all constants included.
    rank_trace_ : ndarray of shape (n_sweeps_,)
    n_sweeps_ : int
    converged_ : bool
    stop_reason_ : str
        "converged", "max_sweeps" or "interrupted".
    engines_ : tuple of str
        Variance engines used for rows and columns.

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
    _fitted_numbers: ClassVar[tuple[str, ...]] = ("converged_", "stop_reason_", "engines_")

    fitted_: Posterior
    elbo_trace_: Array
    rank_trace_: NDArray[np.int64]
    converged_: bool
    stop_reason_: str
    engines_: tuple[str, str]

    def __init__(
        self,
        rank: int = 100,
        posterior: Family = "column",
        ridge: float = 1e-6,
        max_sweeps: int = 200,
        tol: float = 1e-5,
        *,
        engine: EngineName = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.rank = rank
        self.posterior = posterior
        self.ridge = ridge
        self.max_sweeps = max_sweeps
        self.tol = tol
        self.engine = engine
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

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
        std = np.sqrt(self._variance(i, j, include_noise))
        low, high = interval(self._mean(i, j), std, level)
        return like(low, rows, cols), like(high, rows, cols)

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
        _check_whole(n_draws, "n_draws", 1)
        return self.fitted_.draw(i, j, n_draws, _seed(random_state), include_noise)

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
        return np.sqrt(self._learned.scale) * self._learned.rows.factors.mean

    @property
    def col_factors_(self) -> Array:
        """Posterior means of the columns' factors, in the data's units, shape (n, rank_)."""
        return np.sqrt(self._learned.scale) * self._learned.cols.factors.mean

    @property
    def n_sweeps_(self) -> int:
        """Sweeps made."""
        return len(self.elbo_trace_)

    def _check_parameters(self, observations: Observations) -> None:
        _check_whole(self.rank, "rank", 1)
        _check_whole(self.max_sweeps, "max_sweeps", 1)
        _check_choice(self.posterior, "posterior", FAMILIES)
        _check_choice(self.engine, "engine", ENGINES)
        _check_positive(self.ridge, "ridge")
        _check_positive(self.tol, "tol", zero=True)
        count_jobs(self.n_jobs)

    def _fit(
        self, observations: Observations, A: sp.csr_array | None, B: sp.csr_array | None
    ) -> Posterior:
        m, n = observations.shape
        settings = Settings(
            family=self.posterior,
            rank=min(self.rank, m, n),
            max_sweeps=self.max_sweeps,
            tol=self.tol,
            engine=self.engine,
            seed=_seed(self.random_state),
        )
        with workers(self.n_jobs) as pool, fit_progress(self.max_sweeps, self.verbose) as show:
            fit = run(
                observations,
                self._side_input(A, m),
                self._side_input(B, n),
                settings,
                pool=pool,
                callback=show,
            )
        self._note(fit)
        return Posterior.from_fit(fit, self.posterior)

    def _side_input(self, A: sp.csr_array | None, n: int) -> SideInput:
        if A is None:
            return SideInput(stack_graphs([], n), 1.0)
        return SideInput(stack_graphs([A], n, ["graph"]), self.ridge)

    def _note(self, fit: Fit) -> None:
        self.elbo_trace_ = np.asarray(fit.trace)
        self.rank_trace_ = np.asarray(fit.ranks)
        self.converged_ = fit.converged
        self.engines_ = (fit.rows.half.engine.name, fit.cols.half.engine.name)
        self.stop_reason_ = (
            "converged" if fit.converged else "interrupted" if fit.interrupted else "max_sweeps"
        )
        if fit.interrupted:
            warnings.warn(
                f"interrupted after {len(fit.trace)} sweeps: the model holds the last of them",
                ConvergenceWarning,
                stacklevel=4,
            )
        elif not fit.converged:
            warnings.warn(
                f"stopped at max_sweeps={self.max_sweeps} before the bound settled; "
                "predictions are usable, more sweeps may improve them",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _complete(self) -> Array:
        return self.fitted_.matrix()

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        arrays, header = super()._state()
        arrays |= {"elbo_trace": self.elbo_trace_, "rank_trace": self.rank_trace_}
        header["fit"] = {name: getattr(self, name) for name in self._fitted_numbers}
        return arrays, header

    @classmethod
    def _from_state(cls, arrays: dict[str, NDArray[Any]], header: dict[str, Any]) -> Self:
        model = super()._from_state(arrays, header)
        model.elbo_trace_, model.rank_trace_ = arrays["elbo_trace"], arrays["rank_trace"]
        for name in cls._fitted_numbers:
            value = header["fit"][name]
            setattr(model, name, tuple(value) if isinstance(value, list) else value)
        return model


def _seed(random_state: Any) -> int:
    """A seed from whatever scikit-learn takes for a state."""
    try:
        return int(check_random_state(random_state).randint(2**31 - 1))
    except ValueError:
        raise ValueError(
            f"random_state={random_state!r}: pass a whole number, a RandomState or None"
        ) from None


def _check_whole(value: Any, name: str, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name}={value!r}: pass a whole number of at least {least}")


def _check_positive(value: Any, name: str, zero: bool = False) -> None:
    number = float(value) if isinstance(value, numbers.Real) else np.nan
    if not (np.isfinite(number) and (number > 0 or (zero and number == 0))):
        raise ValueError(f"{name}={value!r}: pass a number {'of at least' if zero else 'above'} 0")


def _check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> None:
    if value not in choices:
        raise ValueError(f"{name}={value!r}: choose one of {', '.join(map(repr, choices))}")
