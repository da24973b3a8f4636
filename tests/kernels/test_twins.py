"""Every fast kernel does what its plain NumPy twin does."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg.kernels import cpu, reference, threads, vectors
from bmcg.kernels.grams import gram_and_sums
from bmcg.kernels.moments import (
    expected_trace,
    log_diagonals,
    precision_blocks,
    second_moments,
)
from bmcg.kernels.passes import (
    Side,
    affine_sums,
    block_product,
    block_products,
    cholesky_blocks,
    gram_blocks,
    gram_product,
    invert_blocks,
    lower_products,
    row_sums,
    squared_error,
    weighted_sums,
)
from bmcg.kernels.residuals import residual_sums, residuals
from bmcg.kernels.threads import Workers, chunk_bounds, count_jobs, workers


def make_sides(seed, m=37, n=23, density=0.4):
    rng = np.random.default_rng(seed)
    X = sp.random_array((m, n), density=density, format="csr", rng=rng)
    X = sp.csr_array(X)
    X.data = rng.normal(size=X.nnz)
    arrays = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    pool = Workers(1)
    return Side(*arrays, pool, cpu), Side(*arrays, pool, reference), rng


@pytest.mark.parametrize("k", [1, 2, 5, 13])
@pytest.mark.parametrize("density", [0.02, 0.5, 1.0])
def test_passes_over_observations_match_their_twins(k, density):
    fast, plain, rng = make_sides(k, density=density)
    F, X = rng.normal(size=(23, k)), rng.normal(size=(37, k))
    S = rng.normal(size=(23, k * (k + 1) // 2))
    cases = [
        (row_sums, (S,)),
        (gram_blocks, (F,)),
        (weighted_sums, (F,)),
        (gram_product, (F, X)),
        (squared_error, (X, F)),
    ]
    for run, arguments in cases:
        np.testing.assert_allclose(
            run(fast, *arguments), run(plain, *arguments), rtol=1e-12, atol=1e-12
        )


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 5, 13])
def test_affine_sums_match_their_twin_in_the_vectors_precision(k, kind):
    fast, plain, rng = make_sides(k)
    F, X, own = rng.normal(size=(23, k)), rng.normal(size=(37, k)), rng.normal(size=37)
    got = affine_sums(fast, F.astype(kind), own, X.astype(kind), -0.7)
    assert got.dtype == kind
    tol = 1e-12 if kind is np.float64 else 2e-5
    np.testing.assert_allclose(got, affine_sums(plain, F, own, X, -0.7), rtol=tol, atol=tol)
    single = weighted_sums(fast, F.astype(kind))
    assert single.dtype == kind
    np.testing.assert_allclose(single, weighted_sums(plain, F), rtol=tol, atol=tol)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize(("shape", "systems"), [((90,), 1), ((90, 4), 1), ((90, 4), 4),
                                                ((90, 5, 3), 3), ((0, 4), 2)])  # fmt: skip
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_passes_over_vectors_are_their_formulas(kind, shape, systems, n_jobs, monkeypatch):
    monkeypatch.setattr(threads, "EVEN_WORK", 200)  # several chunks of so few numbers
    rng = np.random.default_rng(0)
    x, r, p, q = (rng.normal(size=shape).astype(kind) for _ in range(4))
    alpha, tol = rng.normal(size=systems), 1e-12 if kind is np.float64 else 1e-5
    as_systems = [v.astype(float).reshape(-1, systems) for v in (x, r, p, q)]
    X, R, P, Q = as_systems
    with workers(n_jobs) as pool:
        dots = vectors.inner(pool, x, r, systems)
        vectors.advance(pool, x, r, p, q, alpha)
        vectors.redirect(pool, p, q, alpha)
        both = p.copy()
        vectors.redirect(pool, both, q, alpha, p)
    assert dots.dtype == np.float64
    np.testing.assert_allclose(dots, (X * R).sum(axis=0), rtol=tol, atol=10 * tol)
    np.testing.assert_allclose(x.reshape(X.shape), X + alpha * P, rtol=tol, atol=tol)
    np.testing.assert_allclose(r.reshape(X.shape), R - alpha * Q, rtol=tol, atol=tol)
    np.testing.assert_allclose(p.reshape(X.shape), Q + alpha * P, rtol=tol, atol=tol)
    turned = p.astype(float).reshape(X.shape)
    np.testing.assert_allclose(
        both.reshape(X.shape), Q + turned + alpha * turned, rtol=tol, atol=4 * tol
    )


@pytest.mark.parametrize("shape", [(30, 4), (30, 4, 3)])
def test_coupling_is_its_formula(shape):
    rng = np.random.default_rng(0)
    out, Y, X = (rng.normal(size=shape) for _ in range(3))
    own, lam = rng.normal(size=30), rng.random(4)
    across = (slice(None), *[None] * (len(shape) - 1))
    scale = lam if len(shape) == 2 else lam[:, None]
    want = out + scale * (Y - own[across] * X)
    vectors.couple(Workers(1), out, Y, X, own, lam)
    np.testing.assert_allclose(out, want, rtol=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 11])
@pytest.mark.parametrize("n", [5, 60, 300])
def test_gram_blocks_with_sums_match_the_twins_of_both(k, n):
    fast, plain, rng = make_sides(k, n=n, density=0.8)
    F = rng.normal(size=(n, k))
    blocks, sums = gram_and_sums(fast, F)
    np.testing.assert_allclose(blocks, gram_blocks(plain, F), rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(sums, weighted_sums(plain, F), rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize("density", [0.02, 0.5, 1.0])
def test_residuals_and_their_sums_are_those_of_the_dense_matrix(k, density):
    side, _, rng = make_sides(k, density=density)
    U, V = rng.normal(size=(37, k)), rng.normal(size=(23, k))
    rows = np.repeat(np.arange(37), side.counts)
    E = np.zeros((37, 23))
    E[rows, side.indices] = side.values - (U @ V.T)[rows, side.indices]
    np.testing.assert_allclose(residuals(side, U, V), E[rows, side.indices], atol=1e-12)
    sums, squared = residual_sums(side, U, V)
    np.testing.assert_allclose(sums, E @ V, atol=1e-11)
    assert squared == pytest.approx(np.sum(E**2), rel=1e-12)


@pytest.mark.parametrize("k", [1, 2, 7, 20])
def test_block_kernels_match_their_twins(k):
    rng = np.random.default_rng(k)
    A = rng.normal(size=(19, k, k + 2))
    P = reference.pack(A @ A.transpose(0, 2, 1))
    X = rng.normal(size=(19, k))
    pool = Workers(1)
    np.testing.assert_allclose(
        block_product(pool, P, X), block_product(pool, P, X, reference), rtol=1e-12, atol=1e-12
    )
    for width, kind, tol in ((6, float, 1e-12), (9, float, 1e-12), (9, np.float32, 1e-4)):
        many = rng.normal(size=(19, k, width)).astype(kind)
        np.testing.assert_allclose(
            block_products(pool, P, many),
            block_products(pool, P, many.astype(float), reference),
            rtol=tol,
            atol=10 * tol,
        )
    for got, want in zip(invert_blocks(pool, P), invert_blocks(pool, P, reference), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-8)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_cholesky_kernels_match_their_twins(k):
    rng = np.random.default_rng(k)
    A = rng.normal(size=(19, k, k + 2))
    A[4] = 0
    P, X, pool = reference.pack(A @ A.transpose(0, 2, 1)), rng.normal(size=(19, k, 5)), Workers(1)
    L = cholesky_blocks(pool, P)
    np.testing.assert_allclose(L, cholesky_blocks(pool, P, reference), rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(
        lower_products(pool, L, X), lower_products(pool, L, X, reference), rtol=1e-12, atol=1e-12
    )


def test_a_block_that_is_not_positive_definite_is_reported():
    P = reference.pack(np.array([[[1.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]]]))
    _, logdet = invert_blocks(Workers(1), P)
    assert np.isnan(logdet[0])
    assert logdet[1] == pytest.approx(np.log(6.0))


def test_packing_and_unpacking_are_inverse():
    A = np.random.default_rng(0).normal(size=(4, 6, 6))
    A = A + A.transpose(0, 2, 1)
    np.testing.assert_array_equal(reference.unpack(reference.pack(A)), A)
    diagonal = reference.pack(A)[:, reference.packed_diagonal(6)]
    np.testing.assert_array_equal(diagonal, np.diagonal(A, axis1=1, axis2=2))


def test_single_precision_storage_is_summed_in_double():
    fast, plain, rng = make_sides(3, density=1.0)
    S = rng.normal(size=(23, 10)).astype(np.float32)
    got = row_sums(fast, S)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, row_sums(plain, S.astype(np.float64)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n_jobs", [2, 3, 7])
def test_results_do_not_depend_on_the_number_of_threads(n_jobs):
    rng = np.random.default_rng(0)
    m, n, k = 3000, 400, 9
    X = sp.csr_array(sp.random_array((m, n), density=0.2, format="csr", rng=rng))
    arrays = (X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data)
    F = rng.normal(size=(n, k))
    one, many = Side(*arrays, Workers(1)), Side(*arrays, Workers(n_jobs))
    assert len(many.bounds(k)) > 3
    np.testing.assert_array_equal(gram_blocks(one, F), gram_blocks(many, F))
    np.testing.assert_array_equal(weighted_sums(one, F), weighted_sums(many, F))
    many.pool.close()


def test_chunks_cover_all_rows_once_and_share_the_work():
    rng = np.random.default_rng(0)
    work = rng.zipf(1.5, size=5000).clip(max=10**6)
    bounds = chunk_bounds(work, size=20000)
    assert bounds[0] == 0
    assert bounds[-1] == 5000
    assert (np.diff(bounds) > 0).all()
    sums = np.add.reduceat(work, bounds[:-1])
    largest = np.maximum.reduceat(work, bounds[:-1])
    assert (sums - largest <= 20000).all()


@pytest.mark.parametrize("bad", [0, 1.5, "two"])
def test_a_senseless_number_of_threads_is_refused(bad):
    with pytest.raises(ValueError, match="n_jobs"):
        count_jobs(bad)


@pytest.mark.parametrize("k", [1, 2, 5, 8])
@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_passes_over_blocks_are_their_formulas(k, n, n_jobs, monkeypatch):
    monkeypatch.setattr(threads, "EVEN_WORK", 100)
    rng = np.random.default_rng(k)
    F, lam, own = rng.normal(size=(n, k)), rng.random(k), rng.random(n)
    C, G = rng.normal(size=(2, n, k * (k + 1) // 2))
    r, s = np.tril_indices(k)
    moments = F[:, r] * F[:, s] + C
    with workers(n_jobs) as pool:
        found = second_moments(pool, F, C)
        single = second_moments(pool, F, C, np.float32)
        trace = expected_trace(pool, G, F, C)
        blocks = precision_blocks(pool, 0.7, G, own, lam)
        logs = log_diagonals(pool, np.exp(G), k)
    np.testing.assert_allclose(found, moments, rtol=1e-13, atol=1e-13)
    assert single.dtype == np.float32
    np.testing.assert_array_equal(single, found.astype(np.float32))
    whole = np.einsum("irs,irs->", reference.unpack(G), reference.unpack(moments))
    np.testing.assert_allclose(trace, whole, rtol=1e-11, atol=1e-11)
    dense = 0.7 * reference.unpack(G) + own[:, None, None] * np.diag(lam)
    np.testing.assert_allclose(reference.unpack(blocks), dense, rtol=1e-13, atol=1e-13)
    diagonal = reference.packed_diagonal(k)
    np.testing.assert_allclose(logs, G[:, diagonal].sum(axis=0), rtol=1e-12, atol=1e-12)


def test_a_failure_in_a_thread_reaches_the_caller_after_all_have_stopped():
    running = []

    def work(i):
        running.append(i)
        if i == 3:
            raise ArithmeticError("three")
        return i

    with workers(3) as pool:
        assert pool.map(lambda i: i * i, range(50)) == [i * i for i in range(50)]
        with pytest.raises(ArithmeticError, match="three"):
            pool.map(work, range(50))
        count = len(running)
        assert pool.map(lambda i: i, range(4)) == [0, 1, 2, 3]
        assert len(running) == count
