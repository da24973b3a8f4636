"""Whether copying predicts calls better than low rank is asked of a stretch in the middle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bmcg.imputing import linkage_judge
from bmcg.imputing.genotype_fill import _places
from bmcg.imputing.genotypes import FilledGenotypes, Genotypes
from bmcg.imputing.haplotypes import BOTH, Columns
from bmcg.imputing.linkage import Along
from bmcg.imputing.linkage.copying import State
from bmcg.imputing.linkage.strands import Strands
from bmcg.imputing.linkage_judge import ASKED, COPIED, FITTED, Powers, judge


def cohort(m, n, seed=0):
    rng = np.random.default_rng(seed)
    copies = rng.integers(0, 3, (m, n)).astype(float)
    two = np.full((m, n), 2, dtype=np.uint8)
    split = np.zeros(n, dtype=bool)
    order = rng.permutation(m)
    along = Along(np.full(m, "1", dtype=object), order.astype(float), None)
    return Genotypes(copies, two, None, None, split), along


def test_the_stretch_lies_in_the_middle_and_is_as_long_as_asked(monkeypatch):
    m, n = ASKED[0] + 40, ASKED[1] + 5
    genotypes, along = cohort(m, n)
    seen = {}

    class Enough(Exception):
        pass

    def look(given, here, hidden, **options):
        seen.update(copies=given.copies, here=here, hidden=hidden)
        raise Enough

    monkeypatch.setattr(linkage_judge, "fill_along", look)
    monkeypatch.setattr(linkage_judge, "WHOLE", m * n - 1)
    with pytest.raises(Enough):
        judge(genotypes, along, lambda given: None)
    assert seen["copies"].shape == ASKED
    # Positions are those of the middle, 20 sites left at either end.
    assert sorted(seen["here"].centimorgans) == list(range(20, 20 + ASKED[0]))
    assert np.isnan(seen["copies"][seen["hidden"]]).all()
    assert 0 < seen["hidden"].mean() < 0.5
    left = ~np.isnan(seen["copies"])
    assert left.any(axis=0).all()
    assert left.any(axis=1).all()


def test_too_few_calls_are_not_asked():
    genotypes, along = cohort(3, 2)
    assert judge(genotypes, along, lambda given: None) == FITTED


def filled(genotypes, hidden, chances):
    i, j = np.nonzero(hidden)
    P = chances[i, j]
    mean = P @ np.arange(3)
    none = np.zeros(len(i), dtype=bool)
    two = np.full(len(i), 2, dtype=np.uint8)
    shape = genotypes.copies.shape
    return FilledGenotypes(shape, i, j, mean, mean, P, two, none, none, np.full(shape[0], np.nan))


def chances_of(truth, sure, seed):
    """Probabilities that point at the truth by a strength of their own at each call."""
    rng = np.random.default_rng(seed)
    log = sure * (np.arange(3) == truth[..., None]) + rng.normal(size=(*truth.shape, 3))
    P = np.exp(log)
    return P / P.sum(axis=-1, keepdims=True)


def judged(monkeypatch, copied, fitted, m=60, n=40):
    genotypes, along = cohort(m, n)
    truth = genotypes.copies.astype(int)
    P, Q = chances_of(truth, copied, 1), chances_of(truth, fitted, 2)

    def copy(given, here, hidden, **options):
        return filled(given, hidden, P), None

    monkeypatch.setattr(linkage_judge, "fill_along", copy)
    return judge(genotypes, along, lambda given: filled(given, given.missing, Q))


def test_two_that_err_apart_are_pooled(monkeypatch):
    powers = judged(monkeypatch, 2.0, 2.0)
    assert powers.copied > 0.5
    assert powers.fitted > 0.5


def test_one_that_says_nothing_is_not_heard(monkeypatch):
    nothing = judged(monkeypatch, 2.0, -1.0)
    assert nothing.fitted < 0.1 * nothing.copied
    assert judged(monkeypatch, -1.0, 2.0).copied < 0.1


def test_large_files_are_not_pooled(monkeypatch):
    monkeypatch.setattr(linkage_judge, "WHOLE", 60 * 40 - 1)
    assert judged(monkeypatch, 2.0, 1.0) == COPIED
    assert judged(monkeypatch, 1.0, 2.0) == FITTED


def test_a_pool_is_the_product_of_powers_and_keeps_what_is_impossible():
    genotypes, _ = cohort(4, 3)
    P = chances_of(genotypes.copies.astype(int), 1.0, 1)
    Q = chances_of(genotypes.copies.astype(int), 1.0, 2)
    hidden = np.ones((4, 3), dtype=bool)
    copied, fitted = filled(genotypes, hidden, P), filled(genotypes, hidden, Q)
    ploidy = copied.ploidy.copy()
    ploidy[0] = 1
    pooled = Powers(0.7, 0.4).pool(replace(copied, ploidy=ploidy), fitted)
    wanted = copied.chances**0.7 * fitted.chances**0.4
    wanted[0, 2] = 0.0
    wanted /= wanted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(pooled.chances, wanted, atol=1e-12)
    np.testing.assert_allclose(pooled.mean, wanted @ np.arange(3), atol=1e-12)
    variance = wanted @ np.arange(3) ** 2 - pooled.mean**2
    np.testing.assert_allclose(pooled.std, np.sqrt(variance), atol=1e-12)


def test_each_haplotype_of_a_sample_is_found_in_its_column():
    split = np.array([True, False, True, False])
    copies = np.zeros((2, 4))
    alleles = np.zeros((2, 4), dtype=np.int8)
    genotypes = Genotypes(copies, np.full((2, 4), 2, dtype=np.uint8), alleles, alleles, split)
    columns = Columns.of(genotypes)
    cols = np.array([5, 1, 0, 2, 4, 3])[: len(columns.sample)]
    place = _places(columns, cols, 4)
    for sample in range(4):
        for which in (0, 1):
            at = cols[place[which, sample]]
            assert columns.sample[at] == sample
            assert columns.copy[at] == (which if split[sample] else BOTH)


def test_calls_that_are_revealed_are_both_alleles_and_phase_is_as_copied():
    rng = np.random.default_rng(0)
    n, m = 4, 6
    alleles = rng.integers(0, 2, (2 * n, m)).astype(np.int8)
    free = alleles[::2] != alleles[1::2]
    free[:, ::2] = False
    strands, hidden = (
        Strands(alleles, free, np.ones(len(alleles), dtype=bool)),
        rng.random((n, m)) < 0.5,
    )
    covered = alleles.copy()
    covered[np.repeat(hidden, 2, axis=0)] = -1
    state = State.start(Strands(covered, free & ~hidden, np.ones(len(covered), dtype=bool)))
    state.P[:] = rng.random(state.P.shape)
    state.reveal(strands, hidden)
    pairs = state.x.reshape(n, 2, m), alleles.reshape(n, 2, m)
    told = hidden & ~free
    for row in (0, 1):
        np.testing.assert_array_equal(pairs[0][:, row][told], pairs[1][:, row][told])
    # Of heterozygotes without phase the likelier one has the allele.
    turned = hidden & free
    P = state.P.reshape(n, 2, m)
    np.testing.assert_array_equal(pairs[0][:, 0][turned], (P[:, 0] >= P[:, 1])[turned])
    np.testing.assert_array_equal(pairs[0].sum(axis=1)[turned], 1)
    assert turned.any()
    assert told.any()
    assert (state.W[np.repeat(hidden, 2, axis=0)] == 1.0).all()
