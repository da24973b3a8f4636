"""scikit-learn's callbacks around every sweep of a fit, where its version has them (from 1.9)."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from .inference.fit import Progress
from .progress import fit_progress

try:
    from sklearn import callback as protocol
except ImportError:
    protocol = None

F = TypeVar("F", bound=Callable[..., Any])

if TYPE_CHECKING or protocol is None:

    class CallbackSupport:
        """Gives an estimator `set_callbacks`, where scikit-learn has callbacks."""

    def with_callbacks(method: F) -> F:
        """Callbacks of the estimator are torn down however the method ends."""
        return method

else:
    CallbackSupport, with_callbacks = protocol.CallbackSupportMixin, protocol.with_callbacks


class SweepTasks:
    """The tasks that callbacks hear of: one fit, and each of its sweeps.

    Parameters
    ----------
    estimator : estimator
        Whose callbacks they are; its method runs `with_callbacks`.
    X : matrix
        As it was given to `fit`.
    values : ndarray of shape (n_observed,)
        The observed values, for callbacks that ask for targets.
    most : int or None
        Sweeps there can be, if that is known.
    """

    def __init__(self, estimator: Any, X: Any, values: Any, most: int | None) -> None:
        self.estimator, self.known = estimator, {"X": X, "y": values}
        self.whole: Any = None
        self.one: Any = None
        if protocol is not None:
            self.whole = estimator._init_callback_context(max_subtasks=most)
            self.whole.call_on_fit_task_begin(estimator=estimator, **self.known)

    def progress(self, verbose: bool) -> AbstractContextManager[Any]:
        """The fit's own line of progress; none beside scikit-learn's bar."""
        set_here = getattr(self.estimator, "_skl_callbacks", ())
        if protocol is not None and any(isinstance(c, protocol.ProgressBar) for c in set_here):
            return nullcontext(_nothing)
        return fit_progress(verbose)

    def begin(self) -> None:
        """A sweep begins."""
        if self.whole is not None:
            self.one = self.whole.subcontext(task_name="sweep")
            self.one.call_on_fit_task_begin(estimator=self.estimator, **self.known)

    def end(self, model: Callable[[], Any]) -> bool:
        """A sweep has ended; whether a callback asks the fit to stop.

        Parameters
        ----------
        model : callable
            Makes the model as it would be, had the fit ended here; called only where a callback
            asks for a fitted estimator.
        """

        def attributes() -> dict[str, Any]:
            found = model()
            own = isinstance(self.estimator, type(found))
            return vars(found) if own else {"model_": found}

        return self.one is not None and self.one.call_on_fit_task_end(
            estimator=self.estimator, reconstruction_attributes=attributes, **self.known
        )

    def finish(self) -> None:
        """The fit has ended, and the estimator holds what it learned."""
        if self.whole is not None:
            self.whole.call_on_fit_task_end(
                estimator=self.estimator, reconstruction_attributes={}, **self.known
            )


def _nothing(sweep: Progress, about: str = "") -> None:
    """Show nothing."""
