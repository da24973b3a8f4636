"""How kernels are compiled."""

from __future__ import annotations

from numba import njit

# Sums may be reordered and contracted, but infinities and NaN keep their meaning.
fast = njit(
    cache=True,
    nogil=True,
    fastmath={"contract", "reassoc", "nsz", "arcp"},
    error_model="numpy",
)
