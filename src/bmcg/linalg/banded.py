"""Variances along chains and strips: banded precisions, in time linear in the nodes.

In a good order Q = diag(d) + λL has entries near its diagonal alone, and so has its factor LDLᵀ.
Of the inverse Z only the band is needed, and it follows from itself (Takahashi):
Z_ij = −Σ_p L_pj Z_ip over p = j+1 … j+b, and Z_jj = 1/D_j − Σ_p L_pj Z_pj. Components lie side by
side, so that the innermost loop runs over them.
"""
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import reverse_cuthill_mckee

from ..graphs.precision import Precision
from ..kernels import fast
from .dense import SelectedInverse

Array = NDArray[np.float64]
Mapper = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

# Widest band: a factor costs its square, and a sparse one is better at wide ones with gaps.
WIDEST = 24
# Components of one pass.
LANES = 16


@dataclass(frozen=True)
class Bands:
    """The order in which a precision is banded.

    Attributes
    ----------
    order : ndarray of shape (n,)
        Nodes, one after the other.
    lower, lag : ndarray of shape (n_edges,)
        Place of the later end of each edge in that order, and how far before it the other lies.
    width : int
        Largest lag.
    """

    order: NDArray[np.intp]
    lower: NDArray[np.intp]
    lag: NDArray[np.intp]
    width: int

    def inverse(self, L: Precision, D: Array, lam: Array, spread_out: Mapper) -> SelectedInverse:
        """Of (diag(D[:, r]) + lam[r] L)⁻¹ for every r: D (n, k), lam (k,)."""
        return self.condition(L, D, np.zeros((L.n, 0)), lam, spread_out)[1]

    def condition(
        self, L: Precision, D: Array, H: Array, lam: Array, spread_out: Mapper
    ) -> tuple[Array, SelectedInverse]:
        """Solutions of (diag(D[:, r]) + lam[r] L) x = H[:, r], (n, k), and those inverses.

        An H without columns asks for no solution.
        """
        band = np.zeros((L.n, self.width + 1))
        band[:, 0] = L.diagonal[self.order]
        np.subtract.at(band, (self.lower, self.lag), L.weights)
        diagonal, between = np.empty(D.shape), np.empty((len(self.lag), len(lam)))
        log_det, mean = np.empty(len(lam)), np.empty(H.shape)

        def invert(at: slice) -> None:
            A = band[:, :, None] * lam[at]
            A[:, 0] += D[self.order, at]
            factor_bands(A)
            if not (A[:, 0] > 0.0).all():
                raise np.linalg.LinAlgError("a banded precision is not positive definite")
            log_det[at] = np.log(A[:, 0]).sum(axis=0)
            if H.shape[1]:
                x = np.ascontiguousarray(H[self.order, at])
                solve_bands(A, x)
                mean[self.order, at] = x
            Z = np.empty(A.shape)
            invert_bands(A, Z)
            diagonal[self.order, at] = Z[:, 0]
            between[:, at] = Z[self.lower, self.lag]

        for _ in spread_out(invert, [slice(r, r + LANES) for r in range(0, len(lam), LANES)]):
            pass
        return mean, SelectedInverse(diagonal, log_det, between)


def find_bands(L: Precision) -> Bands | None:
    """An order in which L is banded; None where there is none, or no edge."""
    if not L.has_edges or int(np.diff(L.indptr).max()) > 2 * WIDEST + 1:
        return None
    found = None
    as_it_is, narrow = partial(np.arange, L.n), partial(reverse_cuthill_mckee, symmetric_mode=True)
    for make in (as_it_is, lambda: narrow(L.to_csr())):
        order = make()
        place = np.empty(L.n, dtype=np.intp)
        place[order] = np.arange(L.n)
        heads, tails = place[L.heads], place[L.tails]
        lag = np.abs(heads - tails)
        width = int(lag.max())
        if width <= WIDEST and (found is None or width < found.width):
            found = Bands(order.astype(np.intp), np.maximum(heads, tails), lag, width)
        if width == 1:
            break
    return found


@fast
def factor_bands(A):
    """LDLᵀ in place: A (n, b + 1, k) has Q_{i,i−d} at [i, d], then L there, and D at [i, 0]."""
    n, width, k = A.shape
    for i in range(n):
        row = A[i]
        for d in range(min(width - 1, i), 0, -1):
            other, c = A[i - d], row[d]
            for e in range(1, min(width - d, i - d + 1)):
                a, b = row[d + e], other[e]
                for r in range(k):
                    c[r] -= a[r] * b[r]
        own = row[0]
        for d in range(1, min(width, i + 1)):
            c, pivot = row[d], A[i - d, 0]
            for r in range(k):
                l = c[r] / pivot[r]
                own[r] -= c[r] * l
                c[r] = l


@fast
def invert_bands(A, Z):
    """The band of the inverse: Z (n, b + 1, k) gets Z_{i,i−d} at [i, d], A as `factor_bands`."""
    n, width, k = A.shape
    for j in range(n - 1, -1, -1):
        last = min(j + width, n)
        for i in range(j + 1, last):
            z = Z[i, i - j]
            for r in range(k):
                z[r] = 0.0
            for p in range(j + 1, last):
                l = A[p, p - j]
                other = Z[i, i - p] if i > p else Z[p, p - i]
                for r in range(k):
                    z[r] -= l[r] * other[r]
        own, pivot = Z[j, 0], A[j, 0]
        for r in range(k):
            own[r] = 1.0 / pivot[r]
        for p in range(j + 1, last):
            l, z = A[p, p - j], Z[p, p - j]
            for r in range(k):
                own[r] -= l[r] * z[r]


@fast
def solve_bands(A, x):
    """x (n, k) becomes Q⁻¹x in place, A as `factor_bands` has left it."""
    n, width, k = A.shape
    for i in range(n):
        own = x[i]
        for d in range(1, min(width, i + 1)):
            l, other = A[i, d], x[i - d]
            for r in range(k):
                own[r] -= l[r] * other[r]
    for i in range(n - 1, -1, -1):
        own, pivot = x[i], A[i, 0]
        for r in range(k):
            own[r] /= pivot[r]
        for p in range(i + 1, min(i + width, n)):
            l, other = A[p, p - i], x[p]
            for r in range(k):
                own[r] -= l[r] * other[r]
