"""Several models on the same splits, side by side."""

from __future__ import annotations

import inspect
import os
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from ..base import MatrixCompleter
from ..caller import user_level
from ..checks import check_whole
from ..estimators.values import proposed
from .lists import LIST_MEASURES, judge_lists
from .picture import draw
from .splits import Split
from .values import LEVELS, VALUE_MEASURES, judge_values, step_of

Array = NDArray[np.float64]

# Likelihoods that give values probabilities.
DISCRETE = ("bernoulli", "ordinal", "poisson", "negative_binomial")
# Of these less is better; of coverage, nearer to 0.9.
LESS_IS_BETTER = ("rmse", "mae", "calibration", "seconds")


@dataclass(frozen=True)
class Evaluation:
    """What was measured, for each model and split.

    Attributes
    ----------
    names : tuple of str
        Of the models.
    measures : tuple of str
    cells : ndarray of shape (n_models, n_splits, n_measures)
        NaN where a model does not say.
    held : ndarray of shape (n_models, n_splits, n_levels)
        What central intervals of the levels `LEVELS` hold.
    at : int
        Length of the lists.
    """

    names: tuple[str, ...]
    measures: tuple[str, ...]
    cells: Array
    held: Array
    at: int

    def __getitem__(self, name: str) -> dict[str, float]:
        """Means over the splits of one model's measures."""
        if name not in self.names:
            raise KeyError(f"{name!r} was not evaluated: choose one of {', '.join(self.names)}")
        mean = self.mean[self.names.index(name)]
        return dict(zip(self.measures, mean.tolist(), strict=True))

    @property
    def mean(self) -> Array:
        """Means over the splits, shape (n_models, n_measures)."""
        return self.cells.mean(axis=1)

    @property
    def error(self) -> Array:
        """Standard errors of these means; NaN with one split."""
        n = self.cells.shape[1]
        if n == 1:
            return np.full(self.mean.shape, np.nan)
        return self.cells.std(axis=1, ddof=1) / np.sqrt(n)

    def title(self, measure: str) -> str:
        """A measure as tables and pictures call it."""
        return f"{measure}@{self.at}" if measure in LIST_MEASURES else measure

    def to_frame(self, backend: Any = "pandas") -> Any:
        """A long frame: model, measure, split and value a line.

        Parameters
        ----------
        backend : str
            Import name of the library: pandas, polars or pyarrow.
        """
        n_models, n_splits, n_measures = self.cells.shape
        titles = [self.title(measure) for measure in self.measures]
        columns = {
            "model": [name for name in self.names for _ in range(n_splits * n_measures)],
            "measure": titles * (n_models * n_splits),
            "split": [s for _ in self.names for s in range(n_splits) for _ in range(n_measures)],
            "value": self.cells.ravel().tolist(),
        }
        return nw.from_dict(columns, backend=backend).to_native()

    def to_markdown(self) -> str:
        """The table, a line for each model; best figures are bold."""
        shown = [m for m in range(len(self.measures)) if not np.isnan(self.mean[:, m]).all()]
        titles = [self.title(self.measures[m]) for m in shown]
        lines = [["model", *titles]]
        best = [_best(self.measures[m], self.mean[:, m]) for m in shown]
        for at, name in enumerate(self.names):
            cells = [self._cell(at, m, best=at in b) for m, b in zip(shown, best, strict=True)]
            lines.append([name, *cells])
        widths = [max(len(line[c]) for line in lines) for c in range(len(lines[0]))]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        text = [
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:]))]  # noqa: B905
            for line in lines
        ]
        return "\n".join(f"| {' | '.join(line)} |" for line in [text[0], rule, *text[1:]])

    def _cell(self, at: int, measure: int, *, best: bool) -> str:
        value, error = self.mean[at, measure], self.error[at, measure]
        if np.isnan(value):
            return "–"
        words = f"{value:.4g}" if np.isnan(error) else f"{value:.4g} ± {error:.1g}"
        return f"**{words}**" if best and len(self.names) > 1 else words

    def __str__(self) -> str:
        return self.to_markdown()

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The figures as a picture; needs matplotlib.

        Parameters
        ----------
        path : path-like, optional
            File to write, such as "evaluation.png".

        Returns
        -------
        Figure
        """
        titles = [self.title(measure) for measure in self.measures]
        return draw(self.names, titles, self.mean, self.error, self.held.mean(axis=1), path)


def evaluate(
    models: Mapping[str, MatrixCompleter],
    splits: Sequence[Split],
    *,
    at: int = 10,
    relevant: float | None = None,
    **known: Any,
) -> Evaluation:
    """Fit every model on every split and measure what it makes of the rest.

    Where a likelihood of levels or counts is among the models, log scores of all of them are of
    probabilities: densities count with what they have up to half a step around a value.

    Parameters
    ----------
    models : mapping of str to estimator
        `BMCG` or any of `bmcg.baselines.METHODS`, with their settings; they stay as they are.
    splits : sequence of Split
        From `random_split`, `leave_out`, `time_split` or `k_folds`.
    at : int
        Length of the lists.
    relevant : float, optional
        Held-out entries of at least this value are what a list should hold. By default those
        above the mean of what the models learn from, or all where values are equal or missing
        ones are zeros.
    **known : row_graph, col_graph, row_features, col_features
        As `BMCG.fit` takes them. What a method cannot use it goes without, and a warning says so.

    Returns
    -------
    Evaluation
    """
    if not models:
        raise ValueError("models is empty: pass names and estimators, such as {'BMCG': BMCG()}")
    if not splits:
        raise ValueError("splits is empty: make some with random_split, leave_out or k_folds")
    check_whole("at", at)
    if relevant is not None and (isinstance(relevant, bool) or not _is_number(relevant)):
        raise ValueError(f"relevant={relevant!r}: pass a number, or None")
    measures = (*VALUE_MEASURES, *LIST_MEASURES, "seconds")
    cells = np.full((len(models), len(splits), len(measures)), np.nan)
    held = np.full((len(models), len(splits), len(LEVELS)), np.nan)
    steps = [_step(models, split) for split in splits]
    for m, (name, model) in enumerate(models.items()):
        given = _usable(name, model, known)
        for s, split in enumerate(splits):
            began = time.perf_counter()
            fitted = clone(model).fit(split.train, **given)
            seconds = time.perf_counter() - began
            if not is_implicit(model):
                found = judge_values(fitted, split, steps[s])
                cells[m, s, : len(VALUE_MEASURES)], held[m, s] = found[:-1], found.held
            level = relevant if relevant is not None else _level(model, split)
            lists = judge_lists(fitted, split, at, level)
            cells[m, s, len(VALUE_MEASURES) :] = *lists[:-1], seconds
    return Evaluation(tuple(models), measures, cells, held, at)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and bool(np.isfinite(float(value)))


def is_implicit(model: Any) -> bool:
    """Whether a model takes what is missing for zeros, so that values are nothing it predicts."""
    return getattr(model, "missing", "unknown") == "weak-zero"


def _step(models: Mapping[str, Any], split: Split) -> float:
    """Distance of values, where some model has probabilities of them and no density."""
    x = split.train.values
    for model in models.values():
        name = getattr(model, "likelihood", "gaussian")
        if (proposed(x)[0] if name == "auto" else name) in DISCRETE and not is_implicit(model):
            return step_of(x)
    return 0.0


def _level(model: Any, split: Split) -> float | None:
    """What is relevant unless told."""
    x = split.train.values
    if is_implicit(model) or x.min() == x.max():
        return None
    return float(x.mean())


def _usable(name: str, model: Any, known: Mapping[str, Any]) -> dict[str, Any]:
    """What of graphs and features a method can use."""
    taken = inspect.signature(type(model).fit).parameters
    every = ("row_graph", "col_graph", "row_features", "col_features")
    strange = [argument for argument in known if argument not in every]
    if strange:
        raise TypeError(f"{strange[0]}: pass {', '.join(every)}, as BMCG.fit takes them")
    there = {argument: value for argument, value in known.items() if value is not None}
    without = [argument for argument in there if argument not in taken]
    if without:
        warnings.warn(
            f"{name} cannot use {' and '.join(without)}, and is evaluated without",
            UserWarning,
            stacklevel=user_level(),
        )
    return {argument: value for argument, value in there.items() if argument in taken}


def _best(measure: str, mean: Array) -> list[int]:
    """The models that are best, those that print alike included."""
    if np.isnan(mean).all() or measure == "seconds":
        return []
    distance = mean
    if measure == "coverage":
        distance = np.abs(mean - LEVELS[-1])
    elif measure not in LESS_IS_BETTER:
        distance = -mean
    least = np.nanargmin(distance)
    return [at for at in range(len(mean)) if f"{mean[at]:.4g}" == f"{mean[least]:.4g}"]
