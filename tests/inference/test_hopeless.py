"""A variational trial that cannot win any more is over; one that comes nearer goes on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from bmcg.inference.hopeless import FIRST_LOOK, Hopeless


def ends(course, behind):
    """The sweep at which a trial with such losses ends."""
    watch = Hopeless(lambda loss: [np.full(3, loss)], lambda found: behind(found[0][0]))
    for sweep in range(1, 300):
        if watch(SimpleNamespace(sweep=sweep, fit=lambda at=sweep: course(at))):
            return sweep
    return None


def far(loss):
    return max(loss - 1.0, 0.0)


@pytest.mark.parametrize(
    ("course", "end"),
    [
        (lambda sweep: 2.0, 2 * FIRST_LOOK),
        (lambda sweep: 2.0 + sweep, 2 * FIRST_LOOK),
        (lambda sweep: 5.0 / sweep + 1.5, 2 * FIRST_LOOK),
        (lambda sweep: 20.0 / sweep + 0.5, None),
        (lambda sweep: 10.0 / sweep + 0.95, None),
        (lambda sweep: 10.0 / sweep + 1.1, 8 * FIRST_LOOK),
        (lambda sweep: 0.9, None),
    ],
)
def test_it_ends_where_it_is_behind_and_no_nearer(course, end):
    assert ends(course, far) == end
