"""What lies around holes: how far it tells their errors, and how wide bands have to be."""

from __future__ import annotations

import numpy as np
import pytest

from bmcg.inpainting import inpaint
from bmcg.inpainting.gaps import independence
from bmcg.inpainting.surroundings import Left, Surroundings, wide_gaps


def holed(tops, side=15, shape=(60, 400)):
    known = np.ones(shape, dtype=bool)
    for left in tops:
        known[20 : 20 + side, left : left + side] = False
    return known


def test_surroundings_of_a_hole_are_the_pixels_as_near_as_it_is_deep():
    rng = np.random.default_rng(0)
    known = holed((30, 200))
    picture = rng.standard_normal(known.shape)
    picture[:, 150:] *= 10.0
    # What is missing, or lies far away, tells nothing.
    picture[~known] = picture[:, 90:150] = 1e3
    wide = wide_gaps(picture[None], known)
    first, second = wide.number[25, 35], wide.number[25, 205]
    assert wide.around[first] == pytest.approx(0.0, abs=0.2)
    assert wide.around[second] == pytest.approx(np.log(100.0), abs=0.2)
    assert (wide.number > 0).sum() == (~known).sum()


def test_shallow_gaps_are_no_wide_ones():
    known = holed((30, 200), side=6)
    assert not wide_gaps(np.zeros((1, *known.shape)), known).number.any()


@pytest.mark.parametrize("tied", [True, False])
def test_errors_follow_their_surroundings_only_where_left_out_holes_do(tied):
    rng = np.random.default_rng(1)
    known = holed(range(10, 380, 30))
    wide = wide_gaps(np.zeros((1, *known.shape)), known)
    around = rng.standard_normal(len(wide.around))
    loud = np.exp(0.5 * around if tied else rng.permutation(0.5 * around))[wide.number]
    ratio = loud * rng.standard_normal(known.shape) ** 2
    weight = np.where(known, 0.0, independence(known))
    found = Surroundings([Left(wide._replace(around=around), weight, ratio)])
    assert found.slope == pytest.approx(0.5, abs=0.15) if tied else found.slope < 0.2
    factor = found(wide._replace(around=around))
    inside = ratio[~known] <= 1.645**2 * factor[~known]
    assert inside.mean() == pytest.approx(0.9, abs=0.01)


def test_few_holes_tell_no_slope():
    known = holed((30, 200))
    wide = wide_gaps(np.random.default_rng(0).standard_normal((1, *known.shape)), known)
    found = Surroundings([Left(wide, np.where(known, 0.0, 1.0), np.ones(known.shape))])
    assert (found(wide) == 1.0).all()


def test_a_few_great_errors_among_many_of_nothing_are_not_forgotten():
    rng = np.random.default_rng(0)
    known = holed(range(10, 380, 30))
    wide = wide_gaps(rng.standard_normal((1, *known.shape)), known)
    ratio = np.where(rng.random(known.shape) < 0.05, 20.0, 1e-9)
    weight = np.where(known, 0.0, 1.0)
    found = Surroundings([Left(wide, weight, ratio)])(wide)[~known]
    assert found.mean() == pytest.approx(0.25, rel=0.2)


def test_bands_are_wider_in_a_hole_among_branches_than_in_the_sky():
    rng = np.random.default_rng(2)
    picture = 120.0 + rng.standard_normal((128, 256))
    branches = rng.standard_normal((130, 130)).cumsum(axis=0).cumsum(axis=1)[2:, 2:]
    picture[:, 128:] += 20 * (branches - branches.mean()) / branches.std()
    picture[:, 128:] += 30 * rng.standard_normal((128, 128))
    known = np.ones(picture.shape, dtype=bool)
    known[50:70, 30:50] = known[50:70, 190:210] = False
    std = inpaint(np.where(known, picture, 0.0), known, n_jobs=1).std
    assert std[55:65, 195:205].mean() > 3 * std[55:65, 35:45].mean()
