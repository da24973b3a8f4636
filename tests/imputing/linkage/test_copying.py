"""Haplotypes copied from each other: against brute force, and on planted mosaics."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from bmcg.imputing.genotype_fill import fill_genotypes
from bmcg.imputing.genotypes import Genotypes
from bmcg.imputing.linkage import Along, Copied, fill_along
from bmcg.imputing.linkage.chances import Trust, frequencies, of_pairs
from bmcg.imputing.linkage.copying import State, _windows, nearest
from bmcg.imputing.linkage.kernels import backward, choice, copied, forward, options, phase
from bmcg.imputing.linkage.strands import Strands

from ..cohorts import haplotypes, hidden


def tiny(w=4, K=3, seed=0):
    """Alleles of states, switches and an error of a window that can be enumerated."""
    rng = np.random.default_rng(seed)
    L = rng.random((w, K)).astype(np.float32)
    switch = np.concatenate(([0.0], rng.random(w - 1) * 0.5)).astype(np.float32)
    return L, switch, 0.05


def path_weight(path, x, L, switch, error, skip=None):
    """Probability of a path of states and of the calls along it, one call left out."""
    K, weight = L.shape[1], 1.0 / L.shape[1]
    for s, k in enumerate(path):
        if s:
            weight *= switch[s] / K + (1 - switch[s]) * (path[s - 1] == k)
        if x[s] >= 0 and s != skip:
            one = error + (1 - 2 * error) * L[s, k]
            weight *= one if x[s] == 1 else 1 - one
    return weight


@pytest.mark.parametrize("plain", [False, True], ids=["compiled", "plain"])
def test_copied_alleles_are_those_of_all_paths_without_the_own_call(plain, monkeypatch):
    L, switch, error = tiny()
    w, K = L.shape
    x = np.array([1, -1, 0, 1], dtype=np.int8)
    B, a, out = np.empty((w, K), np.float32), np.empty(K, np.float32), np.empty(w, np.float32)
    run = copied.py_func if plain else copied
    run(x, L, np.ones_like(L), np.full(w, 0.5, np.float32), switch, error, B, a, out)
    for s in range(w):
        top = bottom = 0.0
        for path in product(range(K), repeat=w):
            weight = path_weight(path, x, L, switch, error, skip=s)
            top, bottom = top + weight * L[s, path[s]], bottom + weight
        # A thousandth of the site's share is mixed in.
        assert out[s] == pytest.approx((top / bottom + 0.0005) / 1.001, rel=1e-4)


def pair_weight(x, L, switch, error):
    """Probability of the calls of two haplotypes, (2, w), over all paths of each."""
    w, K = L.shape
    paths = list(product(range(K), repeat=w))
    return np.prod([sum(path_weight(p, x[h], L, switch, error) for p in paths) for h in (0, 1)])


def test_a_heterozygote_is_turned_with_or_without_what_follows_by_its_probability():
    L, switch, error = tiny(seed=5)
    w, K = L.shape
    x = np.array([[1, 0, 1, 0], [0, 1, 0, -1]], dtype=np.int8)
    s, one = 2, 0
    B, a = np.empty((2, w, K), np.float32), np.full((2, K), 1 / K, np.float32)
    for h in (0, 1):
        backward(x[h], L, switch, error, B[h])
        for before in range(s):
            forward(x[h, before], L, switch, error, before, a[h])
    weights = np.empty(4)
    options(x[0, s], x[1, s], a, L, B, one, error, s, weights)
    brute = []
    for crossed, turned in product((0, 1), repeat=2):
        y = x.copy()
        y[:, s] = x[::-1, s] if turned else x[:, s]
        y[:, s + 1 :] = x[::-1, s + 1 :] if crossed else x[:, s + 1 :]
        brute.append(pair_weight(y, L, switch, error))
    np.testing.assert_allclose(weights / weights.sum(), brute / np.sum(brute), rtol=1e-4)


def test_options_are_drawn_by_their_weights():
    weights = np.array([1.0, 3.0, 0.0, 4.0])
    assert [choice.py_func(weights, bar) for bar in (0.1, 0.2, 0.49, 0.51, 0.99)] == [0, 1, 1, 3, 3]
    assert choice.py_func(weights, -1.0) == 3


def test_the_phase_is_the_more_probable_of_the_two():
    L, switch, error = tiny(seed=3)
    w, K = L.shape

    def likelihood(x):
        return pair_weight(x, L, switch, error)

    x = np.array([[1, -1, 1, 0], [0, -1, 0, 0]], dtype=np.int8)
    other = np.array([[1, -1, 0, 0], [0, -1, 1, 0]], dtype=np.int8)
    free = np.array([True, False, True, False])
    B, a = np.empty((2, w, K), np.float32), np.empty((2, K), np.float32)
    best = max((x, other), key=likelihood)
    for start in (x, other):
        found = start.copy()
        phase(found, free, L, switch, error, w, np.full(w, -1.0, np.float32), B, a)
        assert likelihood(found) == pytest.approx(likelihood(best), rel=1e-4)


def cohort(H, gone, phased):
    """Genotypes of people with haplotypes H, (m, 2n)."""
    copies = np.where(gone, np.nan, H[:, ::2] + H[:, 1::2])
    n = copies.shape[1]
    sides = [None, None]
    if phased:
        sides = [np.where(gone, -1, part).astype(np.int8) for part in (H[:, ::2], H[:, 1::2])]
    return Genotypes(copies, np.full(copies.shape, 2, np.uint8), *sides, np.full(n, phased))


def along(m, panel=None):
    return Along(np.full(m, "22", dtype=object), np.arange(m) * 0.01, panel)


@pytest.mark.parametrize("phased", [True, False])
def test_calls_of_mosaics_are_found_with_honest_probabilities(phased):
    H = haplotypes(m=150, n=60, switch=0.02)
    gone = hidden((150, 60))
    filled, found = fill_along(cohort(H, gone, phased), along(150), gone)
    truth = (H[:, ::2] + H[:, 1::2])[filled.rows, filled.cols]
    right = np.argmax(filled.chances, axis=1) == truth
    assert right.mean() > (0.96 if phased else 0.93)
    assert abs(filled.chances.max(axis=1).mean() - right.mean()) < 0.03
    np.testing.assert_allclose(filled.chances.sum(axis=1), 1.0)
    assert isinstance(found, Copied)


def test_the_result_does_not_depend_on_threads_or_on_the_order_of_sites():
    H = haplotypes(m=60, n=20)
    gone = hidden((60, 20))
    given = cohort(H, gone, True)
    one, _ = fill_along(given, along(60), gone, n_jobs=1)
    two, _ = fill_along(given, along(60), gone, n_jobs=2)
    np.testing.assert_array_equal(one.chances, two.chances)
    turned = np.arange(60)[::-1]
    where = along(60).some(turned)
    back, _ = fill_along(given.some(turned), where, gone[turned], n_jobs=1)
    matrix = np.full(gone.shape, np.nan)
    matrix[59 - back.rows, back.cols] = back.mean
    np.testing.assert_allclose(matrix[one.rows, one.cols], one.mean)


def test_a_panel_fills_sites_that_the_cohort_lacks():
    H = haplotypes(m=100, n=60)
    panel, H = H[:, 40:].astype(np.int8), H[:, :40]
    gone = hidden((100, 20))
    gone[50:55] = True
    filled, _ = fill_genotypes(cohort(H, gone, True), along=along(100, panel), random_state=0)
    at = (filled.rows >= 50) & (filled.rows < 55)
    assert at.sum() == 100
    truth = (H[:, ::2] + H[:, 1::2])[filled.rows, filled.cols]
    assert (np.argmax(filled.chances, axis=1) == truth)[at].mean() > 0.9


def test_left_out_calls_choose_copying_where_haplotypes_are_mosaics():
    H = haplotypes(m=200, n=60, founders=24, switch=0.04)
    gone = hidden((200, 60))
    _, found = fill_genotypes(
        cohort(H, gone, True), along=along(200), random_state=0, max_sweeps=30
    )
    assert isinstance(found, Copied)


def test_samples_of_one_chromosome_have_no_second_haplotype_to_copy():
    H = haplotypes(m=150, n=30, founders=6, switch=0.02)
    gone = hidden(H.shape, 0.5)
    one = np.ones(H.shape, np.uint8)
    given = Genotypes(np.where(gone, np.nan, 2.0 * H), one, None, None, np.zeros(60, bool))
    strands = Strands.of(given, None)
    np.testing.assert_array_equal(strands.real, np.tile([True, False], 60))
    near = nearest(State.start(strands).R, np.full(150, 0.5, np.float32), 60, strands.real)
    assert (near % 2 == 0).all()
    for i, states in enumerate(near):
        assert 2 * i not in states
        assert len(set(states)) == near.shape[1] == 58
    filled, copied = fill_along(given, along(150), gone)
    assert copied.n_haplotypes == 60
    right = np.argmax(filled.chances, axis=1) == H[filled.rows, filled.cols]
    assert right.mean() > 0.95
    assert abs(filled.chances.max(axis=1).mean() - right.mean()) < 0.03


def test_what_cannot_be_copied_is_refused():
    given = cohort(haplotypes(m=20, n=10), hidden((20, 10)), True)
    with pytest.raises(ValueError, match="needs positions"):
        fill_genotypes(given, linkage=True)
    with pytest.raises(ValueError, match="graphs"):
        fill_genotypes(given, np.eye(20), along=along(20), linkage=True)


def test_unphased_heterozygotes_are_the_free_ones_and_keep_their_sum():
    H = haplotypes(m=40, n=15)
    given = cohort(H, hidden((40, 15)), False)
    strands = Strands.of(given, None)
    both = strands.alleles.reshape(15, 2, 40)
    known = np.isfinite(given.copies.T)
    np.testing.assert_array_equal(both.sum(axis=1)[known], given.copies.T[known])
    np.testing.assert_array_equal(strands.free, given.copies.T == 1)


def test_trust_learns_that_copies_are_too_sure():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    truth = (rng.random(4000) < p).astype(np.intp)
    sure = p**3 / (p**3 + (1 - p) ** 3)
    share = np.full(4000, 0.5)
    found = Trust.of(np.column_stack((1 - sure, sure)), share, truth)
    assert found.power == pytest.approx(1 / 3, abs=0.05)


def test_pairs_of_equal_haplotypes_are_hardy_weinberg():
    p = np.array([0.1, 0.7])
    np.testing.assert_allclose(of_pairs(p, p), frequencies(p, 2))


@pytest.mark.parametrize(("start", "stop"), [(0, 100), (7, 90), (5, 14), (3, 34), (0, 1)])
def test_windows_cover_each_site_once_and_see_a_quarter_around(start, stop):
    sites, wanted = 20, []
    for a, first, last, b in _windows(slice(start, stop), sites):
        wanted += range(first, last)
        assert a == max(start, first - 5)
        assert b == min(stop, last + 5)
        # The rest is no window of its own where it is less than half of one.
        assert last - first <= 29
        assert last == stop or last - first == 20
    assert wanted == list(range(start, stop))
