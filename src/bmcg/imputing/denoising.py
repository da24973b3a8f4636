"""Every entry replaced by what the model makes of it: counts as rates, measurements as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import BMCG
from ..estimators.scaling import Scale
from .matrix import learn

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Residuals:
    """Counts in units of the noise that counting alone would bring.

    With sᵢ the size of a row and μⱼ the rate of a column, a count has mean and variance
    eᵢⱼ = sᵢμⱼ where rows differ in size alone. (xᵢⱼ − eᵢⱼ)/√eᵢⱼ then has noise of one standard
    deviation everywhere, which is what the model assumes.

    Attributes
    ----------
    values : ndarray of shape (m, n)
        NaN where missing.
    sizes : ndarray of shape (m,)
        Totals of the rows over their median.
    rates : ndarray of shape (n,)
        Counts of a column in a row of median size.
    """

    values: Array
    sizes: Array
    rates: Array

    @classmethod
    def of(cls, counts: Array) -> Residuals:
        """Residuals of counts (m, n), NaN where missing."""
        totals = np.nansum(counts, axis=1)
        positive = totals[totals > 0]
        sizes = np.where(totals > 0, totals / np.median(positive), 1.0) if len(positive) else 1.0
        sizes = np.broadcast_to(sizes, totals.shape)
        seen = ~np.isnan(counts)
        rates = np.nansum(counts, axis=0) / np.maximum(sizes @ seen, 1e-300)
        expected = np.maximum(np.outer(sizes, rates), 1e-12)
        values = (counts - expected) / np.sqrt(expected)
        # One count in a column of next to none is no proof of a large rate.
        most = np.sqrt(len(counts))
        return cls(np.clip(values, -most, most), sizes, rates)

    def log_rates(self, values: Array) -> Array:
        """log(1 + count in a row of median size) from denoised residuals (m, n)."""
        expected = np.outer(self.sizes, self.rates)
        counts = np.maximum(expected + np.sqrt(expected) * values, 0.0)
        return np.log1p(counts / self.sizes[:, None])


def are_counts(values: Array) -> bool:
    """Whether all values that are there are whole numbers of at least zero."""
    seen = values[~np.isnan(values)]
    return bool(len(seen) and seen.min() >= 0 and (seen == np.floor(seen)).all())


def denoise(
    values: Array,
    row_graph: Any = None,
    col_graph: Any = None,
    *,
    scale: Scale = "auto",
    **parameters: Any,
) -> tuple[Array, BMCG]:
    """Replace every entry of a matrix by its posterior mean.

    Parameters
    ----------
    values : ndarray of shape (m, n)
        NaN where missing. Whole numbers of at least zero are taken for counts, whose rows
        differ in size: the result is then log(1 + x), x being the count that a row of median
        size would have.
    row_graph, col_graph, scale
        As in `fill`; counts are scaled by their own noise, whatever `scale` says.
    **parameters
        Of `BMCG`.

    Returns
    -------
    denoised : ndarray of shape (m, n)
    model : BMCG
        Of the values, in the columns' own units, or of the residuals of counts.
    """
    if not are_counts(values):
        model = learn(values, row_graph, col_graph, scale=scale, **parameters)
        return model.fitted_.matrix(), model
    residuals = Residuals.of(values)
    model = learn(residuals.values, row_graph, col_graph, scale=False, **parameters)
    return residuals.log_rates(model.fitted_.matrix()), model
