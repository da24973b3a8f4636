"""How good a completion is: points, images, and the distributions around them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import correlate1d
from scipy.special import ndtr, ndtri

from .checks import check_number

Floats = NDArray[np.float64]

# Wang, Bovik, Sheikh and Simoncelli 2004: an 11×11 Gaussian window and two stabilisers.
_WINDOW_STD, _WINDOW_RADIUS = 1.5, 5
_SSIM_K1, _SSIM_K2 = 0.01, 0.03


class Calibration(NamedTuple):
    """Nominal against reached coverage of central intervals.

    Attributes
    ----------
    levels : ndarray of float64, shape (n_levels,)
    coverage : ndarray of float64, shape (n_levels,)
        Share of values inside the interval of each level.
    error : float
        Largest absolute difference between the two.
    """

    levels: Floats
    coverage: Floats
    error: float


def rmse(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Root mean squared error.

    Parameters
    ----------
    y_true, y_pred : array_like of the same shape
    """
    y, p = _pair(y_true, y_pred)
    return float(np.sqrt(np.mean((y - p) ** 2)))


def mae(y_true: ArrayLike, y_pred: ArrayLike) -> float:
    """Mean absolute error.

    Parameters
    ----------
    y_true, y_pred : array_like of the same shape
    """
    y, p = _pair(y_true, y_pred)
    return float(np.mean(np.abs(y - p)))


def error_rate(y_true: ArrayLike, y_pred: ArrayLike, *, levels: ArrayLike = (0.0, 1.0)) -> float:
    """Share of entries whose prediction, moved to the nearest level, is wrong.

    Parameters
    ----------
    y_true, y_pred : array_like of the same shape
    levels : array_like of float, shape (n_levels,)
        The values an entry can take. A prediction half-way between two goes to the upper one.

    Returns
    -------
    float
        Between 0 and 1.
    """
    y, p = _pair(y_true, y_pred)
    known = np.unique(np.asarray(levels, dtype=np.float64))
    foreign = ~np.isin(y, known)
    if foreign.any():
        raise ValueError(
            f"y_true holds {y[foreign][0]}, which is none of the levels {known.tolist()}"
        )
    midpoints = (known[1:] + known[:-1]) / 2.0
    return float(np.mean(known[np.searchsorted(midpoints, p, side="right")] != y))


def psnr(truth: ArrayLike, estimate: ArrayLike, *, data_range: float = 255.0) -> float:
    """Peak signal-to-noise ratio in decibels, 10·log10(data_range² / mean squared error).

    Parameters
    ----------
    truth, estimate : array_like, shape (m, n)
    data_range : float
        Difference between the largest and the smallest value a pixel can take.

    Returns
    -------
    float
        Infinite where the two are equal.
    """
    y, p = _pair(truth, estimate)
    check_number("data_range", data_range)
    mse = np.mean((y - p) ** 2)
    return float("inf") if mse == 0.0 else float(10.0 * np.log10(data_range**2 / mse))


def ssim(truth: ArrayLike, estimate: ArrayLike, *, data_range: float = 255.0) -> float:
    """Structural similarity, averaged over all positions where the window fits.

    Gaussian window of 11×11 pixels with standard deviation 1.5, K1 = 0.01, K2 = 0.03, weighted
    (population) variances. The value depends on `data_range`: pixels kept between 0 and 255 but
    scored with a larger range come out near one whatever the picture.

    Parameters
    ----------
    truth, estimate : array_like, shape (m, n), both at least 11
    data_range : float
        Difference between the largest and the smallest value a pixel can take.
    """
    x, y = _pair(truth, estimate)
    check_number("data_range", data_range)
    if x.ndim != 2 or min(x.shape) < 2 * _WINDOW_RADIUS + 1:
        raise ValueError(f"truth has shape {x.shape}; SSIM needs an image of at least 11 x 11")
    mean_x, mean_y = _window_mean(x), _window_mean(y)
    var_x = _window_mean(x * x) - mean_x**2
    var_y = _window_mean(y * y) - mean_y**2
    cov = _window_mean(x * y) - mean_x * mean_y
    c1, c2 = (_SSIM_K1 * data_range) ** 2, (_SSIM_K2 * data_range) ** 2
    luminance = (2.0 * mean_x * mean_y + c1) / (mean_x**2 + mean_y**2 + c1)
    structure = (2.0 * cov + c2) / (var_x + var_y + c2)
    return float(np.mean(luminance * structure))


def coverage(y_true: ArrayLike, low: ArrayLike, high: ArrayLike) -> float:
    """Share of values inside their closed intervals.

    Parameters
    ----------
    y_true, low, high : array_like of the same shape
    """
    y, lower = _pair(y_true, low)
    _, upper = _pair(y_true, high)
    if (lower > upper).any():
        raise ValueError(f"low exceeds high at {int((lower > upper).sum())} entries")
    return float(np.mean((lower <= y) & (y <= upper)))


def interval_calibration(
    y_true: ArrayLike,
    mean: ArrayLike,
    std: ArrayLike,
    *,
    levels: ArrayLike = (0.5, 0.8, 0.9, 0.95, 0.99),
) -> Calibration:
    """Coverage of the central Gaussian intervals at several levels.

    Parameters
    ----------
    y_true, mean : array_like, shape (n,)
    std : array_like, shape (n,) or scalar
        Predictive standard deviations, noise included.
    levels : array_like of float, shape (n_levels,)
        Between 0 and 1.
    """
    wanted = np.atleast_1d(np.asarray(levels, dtype=np.float64))
    if not ((wanted > 0.0) & (wanted < 1.0)).all():
        raise ValueError(f"levels={wanted.tolist()}: give shares between 0 and 1")
    distance = np.abs(_standardise(y_true, mean, std))
    reached = np.array([np.mean(distance <= ndtri(0.5 + level / 2.0)) for level in wanted])
    return Calibration(wanted, reached, float(np.abs(reached - wanted).max()))


def pit(y_true: ArrayLike, mean: ArrayLike, std: ArrayLike) -> Floats:
    """Probability integral transform: the predictive distribution function at the outcome.

    Uniform on (0, 1) where the predictive distributions are right.

    Parameters
    ----------
    y_true, mean : array_like, shape (n,)
    std : array_like, shape (n,) or scalar

    Returns
    -------
    ndarray of float64, shape (n,)
    """
    values: Floats = ndtr(_standardise(y_true, mean, std))
    return values


def gaussian_nlpd(y_true: ArrayLike, mean: ArrayLike, std: ArrayLike) -> float:
    """Mean negative log predictive density, in nats, of Gaussian predictions.

    Parameters
    ----------
    y_true, mean : array_like, shape (n,)
    std : array_like, shape (n,) or scalar
    """
    z = _standardise(y_true, mean, std)
    log_std = np.log(np.broadcast_to(np.asarray(std, dtype=np.float64), z.shape))
    with np.errstate(over="ignore"):
        return float(np.mean(0.5 * z**2 + log_std) + 0.5 * np.log(2.0 * np.pi))


def homoscedastic_nlpd(y_true: ArrayLike, mean: ArrayLike, std: float | None = None) -> float:
    """`gaussian_nlpd` of the same means with one standard deviation for every entry.

    The measure to beat: standard deviations that differ between entries are worth having where
    their `gaussian_nlpd` is lower.

    Parameters
    ----------
    y_true, mean : array_like, shape (n,)
    std : float, optional
        By default the root mean squared error on these very entries: the best constant there is,
        which favours the reference.
    """
    constant = rmse(y_true, mean) if std is None else std
    return gaussian_nlpd(y_true, mean, constant)


def _pair(y_true: ArrayLike, y_pred: ArrayLike) -> tuple[Floats, Floats]:
    y, p = np.asarray(y_true, dtype=np.float64), np.asarray(y_pred, dtype=np.float64)
    if y.shape != p.shape:
        raise ValueError(f"the arrays must have the same shape, got {y.shape} and {p.shape}")
    if y.size == 0:
        raise ValueError("the arrays are empty: there is nothing to score")
    if not (np.isfinite(y).all() and np.isfinite(p).all()):
        raise ValueError("the arrays must be finite: score only entries with a value")
    return y, p


def _standardise(y_true: ArrayLike, mean: ArrayLike, std: ArrayLike) -> Floats:
    y, m = _pair(y_true, mean)
    s = np.asarray(std, dtype=np.float64)
    if s.shape not in ((), y.shape):
        raise ValueError(f"std has shape {s.shape}, expected {y.shape} or a scalar")
    if not (np.isfinite(s).all() and (s > 0.0).all()):
        raise ValueError("std must be positive and finite (a standard deviation, not a precision)")
    # What is further off than a number can say is infinitely far off.
    with np.errstate(over="ignore"):
        return (y - m) / s


def _window_mean(image: Floats) -> Floats:
    """Gaussian-weighted local mean at the positions where the whole window fits."""
    offsets = np.arange(-_WINDOW_RADIUS, _WINDOW_RADIUS + 1)
    weights = np.exp(-0.5 * (offsets / _WINDOW_STD) ** 2)
    weights /= weights.sum()
    smooth = correlate1d(correlate1d(image, weights, axis=0), weights, axis=1)
    return smooth[_WINDOW_RADIUS:-_WINDOW_RADIUS, _WINDOW_RADIUS:-_WINDOW_RADIUS]
