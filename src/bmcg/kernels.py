"""Functions that Numba compiles, when they are first called.

Nothing here imports Numba before that: it takes half a second, which nobody should wait for who
only looks a model up. Machine code is kept beside the source, or in the user's cache folder where
that cannot be written to, so that one machine compiles once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any

_LOCK = RLock()


class Kernel:
    """A function to be compiled.

    With the first call its module gets the compiled function in its place, and so does every
    kernel that this one calls, by name.

    Parameters
    ----------
    function : callable
    options : dict
        Of `numba.njit`.
    """

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self.options = function, options
        self._compiled: Any = None
        update_wrapper(self, function)

    def __call__(self, *given: Any) -> Any:
        return self.compiled()(*given)

    def compiled(self) -> Any:
        """Numba's dispatcher of the function."""
        with _LOCK:
            if self._compiled is None:
                from numba import njit

                self._compiled = njit(**self.options)(self.py_func)
                names = self.py_func.__globals__
                for name in (*self.py_func.__code__.co_names, self.py_func.__name__):
                    if isinstance(names.get(name), Kernel):
                        names[name] = names[name].compiled()
            return self._compiled


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorator of a function that is compiled when first called, cached and without the lock."""
    return lambda function: Kernel(function, {"cache": True, "nogil": True, **options})


# As written: integers, orders, searches.
exact = kernel()
# Sums may be reordered and contracted, but infinities and NaN keep their meaning.
fast = kernel(fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy")
# The same as part of the one kernel that calls it, which saves compiling it by itself as well.
inlined = kernel(
    fastmath={"contract", "reassoc", "nsz", "arcp"}, error_model="numpy", inline="always"
)
