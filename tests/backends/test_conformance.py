"""Every back end does what the reference does, operation by operation, and through a whole fit."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import os
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from bmcg import Observations
from bmcg.backends import Backend, NumbaBackend, SparseRows
from bmcg.backends.numba import draws, narrow, plain, tables, threads
from bmcg.backends.numba.fewer import fewer
from bmcg.backends.packed import outer_packed, pack, packed_diagonal, unpack
from bmcg.graphs import chain_graph
from bmcg.graphs.precision import graph_precision, stack_graphs
from bmcg.inference.fit import Settings, SideInput
from bmcg.inference.variational import run

OPERATIONS = sorted(
    name for name, _ in inspect.getmembers(Backend, inspect.isfunction) if name[0] != "_"
)
# What is checked here: every operation of the protocol but these, which have tests of their own.
ELSEWHERE = {"random", "map", "array", "zeros", "keep", "scaled"}
HAS_TORCH = importlib.util.find_spec("torch") is not None
# "cuda" to hold the GPU to the same truth.
DEVICE = os.environ.get("BMCG_TEST_DEVICE", "cpu")
M, N = 37, 23


def torch_backend(**options):
    from bmcg.backends.torch.backend import TorchBackend

    return TorchBackend(DEVICE, **options)


BACKENDS = {
    "one thread": lambda: NumbaBackend(1),
    "three threads": lambda: NumbaBackend(3),
    "torch, double": lambda: torch_backend(single=False),
    "torch, single": lambda: torch_backend(single=True),
    "torch, streamed": lambda: torch_backend(single=False, stream=True),
}


WAYS = ["kernels", "kernels on what is missing", "products", "products in slabs"]
NUMBA = [name for name in BACKENDS if "torch" not in name]
# Ways are those of the Numba back end.
ROUTES = [
    *((name, way) for name in NUMBA for way in WAYS),
    *((name, "kernels") for name in BACKENDS if name not in NUMBA),
]


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Few numbers and full tables take other ways than kernels; each is gone, whatever the size."""
    if request.param == "kernels":
        monkeypatch.setattr("bmcg.backends.numba.backend.fewer", lambda rows, n_other: None)
    if request.param.startswith("kernels"):
        monkeypatch.setattr(plain, "SMALL", -1)
        monkeypatch.setattr(tables, "SMALL", -1)
        monkeypatch.setattr(tables, "SHARE", 2.0)
    else:
        monkeypatch.setattr(draws, "SMALL", -1)
    if request.param == "products in slabs":
        monkeypatch.setattr(tables, "SLAB", 60)
        monkeypatch.setattr(tables, "KEPT", -1)
    return request.param


def rows_on(backend, seed=0, density=0.4, m=M, n=N):
    rng = np.random.default_rng(seed)
    X = sp.csr_array(sp.random_array((m, n), density=density, format="csr", random_state=rng))
    X.data = rng.normal(size=X.nnz)
    return SparseRows(X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data, backend)


def calls(name, k, density, kind):
    """Arguments of one operation, as a function of the rows on a back end."""
    rng = np.random.default_rng(k)
    F, U = rng.normal(size=(N, k)).astype(kind), rng.normal(size=(M, k)).astype(kind)
    width = k * (k + 1) // 2
    A = rng.normal(size=(M, k, k + 2))
    P, S, G = pack(A @ A.transpose(0, 2, 1)), rng.normal(size=(N, width)), rng.random((M, width))
    weights = rng.gamma(1.0, size=int(np.diff(rows_on(None, density=density).indptr).sum()))
    own, lam, order = rng.random(M), rng.random(k), rng.permutation(len(weights))
    many = rng.normal(size=(M, k, 9)).astype(kind)
    z, L = rng.normal(size=(M, k, 4)), graph_precision(chain_graph(M), 0.1)
    x, r, p, q = (rng.normal(size=(M, k, 3)).astype(kind) for _ in range(4))
    heads, tails = L.heads, L.tails
    found = {
        "row_sums": lambda on: [(on, S.astype(kind)), (on, S, weights)],
        "weighted_sums": lambda on: [(on, F), (on, F, weights)],
        "affine_sums": lambda on: [(on, F, own, U, -0.7)],
        "gram_and_sums": lambda on: [(on, F), (on, F, weights)],
        "biased_sums": lambda on: [(on, F), (on, F, weights)],
        "gram_product": lambda on: [(on, F, U)],
        "entry_products": lambda on: [(on, U, F)],
        "squared_error": lambda on: [(on, U, F), (on, U, F, weights)],
        "residual_sums": lambda on: [(on, U, F)],
        "rank_one_moments": lambda on: [(on, weights.copy(), order, own, F[:, 0].copy())],
        "rank_one_shift": lambda on: [(on, weights.copy(), order, own, F[:, 0].copy())],
        "block_product": lambda on: [(P, U), (P, many), (P, many[:, :, :3].copy())],
        "lower_products": lambda on: [(P, many)],
        "invert_blocks": lambda on: [(P,)],
        "solve_blocks": lambda on: [(P, U)],
        "cholesky_blocks": lambda on: [(P,), (0.0 * P,)],
        "draw_rows": lambda on: [(P, U, U[::-1].copy())],
        "draw_posterior": lambda on: [(P, U, 0.7, own, lam, U[::-1].copy())],
        "draw_untied": lambda on: [
            (on, F, False, 0.7, own + 0.1, lam + 0.1, U),
            (on, F, True, 0.7, own + 0.1, lam + 0.1, U),
            (on, F, True, 0.7, own + 0.1, lam + 0.1, U, weights),
        ],
        "second_moments": lambda on: [(U, G), (U, G, np.float32)],
        "precision_blocks": lambda on: [(0.7, G, own, lam)],
        "expected_trace": lambda on: [(G, U, P)],
        "log_diagonals": lambda on: [(np.exp(G), k)],
        "inner": lambda on: [(x, r, 3), (x, r, 1)],
        "advance": lambda on: [(x.copy(), r.copy(), p, q, np.arange(3.0))],
        "redirect": lambda on: [(x.copy(), r, np.arange(3.0)), (x.copy(), r, np.ones(1), q)],
        "couple": lambda on: [
            (x.copy(), r.reshape(M, -1), p, own, lam),
            (U.copy(), U, U, own, lam),
        ],
        "local_estimate": lambda on: [(L, own[:, None] * lam, lam, z, 0.3 * z)],
        "edge_spread": lambda on: [(heads, tails, z)],
    }
    return found[name]


def outcome(backend, name, arguments):
    """What an operation returns, and the arrays that it may have written to."""
    if backend.name == "torch":
        arguments = [backend.array(x) if _is_float_array(x) else x for x in arguments]
    found = getattr(backend, name)(*arguments)
    if found is not None:
        return found
    first = int(isinstance(arguments[0], SparseRows))
    return tuple(arguments[first:2])


def _is_float_array(x):
    return isinstance(x, np.ndarray) and x.dtype.kind == "f"


@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize(("weighted", "density"), [(False, 0.6), (True, 0.6), (False, 0.85)])
def test_long_rows_are_drawn_as_the_reference_draws_them(biased, weighted, density):
    rng = np.random.default_rng(3)
    m, n, k = 5, 300, 6
    V, z, own, lam = rng.normal(size=(n, k)), rng.normal(size=(m, k)), rng.random(m), rng.random(k)
    found = []
    for backend in (NumbaBackend(1), Backend()):
        on = rows_on(backend, m=m, n=n, density=density)
        assert (fewer(on, n) is not None) == (density > 0.8)
        weights = np.random.default_rng(4).gamma(1.0, size=len(on.values)) if weighted else None
        found.append(backend.draw_untied(on, V, biased, 0.7, own, lam, z, weights))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("biased", [False, True])
def test_rows_with_few_entries_are_drawn_among_those_that_lack_few(biased):
    rng = np.random.default_rng(8)
    m, n, k = 6, 300, 6
    V, z, own, lam = rng.normal(size=(n, k)), rng.normal(size=(m, k)), rng.random(m), rng.random(k)
    seen = rng.random((m, n)) < np.array([0.95, 0.1, 0.9, 1.0, 0.0, 0.97])[:, None]
    indptr = np.append(0, np.cumsum(seen.sum(axis=1))).astype(np.int64)
    indices, x = np.nonzero(seen)[1].astype(np.int32), rng.normal(size=int(seen.sum()))
    found = []
    for backend in (NumbaBackend(1), Backend()):
        on = SparseRows(indptr, indices, x, backend)
        less = fewer(on, n)
        assert less is not None
        assert less.missing.tolist() == [True, False, True, True, False, True]
        found.append(backend.draw_untied(on, V, biased, 0.7, own, lam, z, None))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_of_narrow_tables_are_drawn_side_by_side(weighted, monkeypatch):
    """More than one group of them, with a row that is empty and entries that stand twice."""
    monkeypatch.setattr(draws, "SMALL", -1)
    monkeypatch.setattr(narrow, "LANES", 16)
    rng = np.random.default_rng(6)
    m, n, k = 50, 9, 5
    i, j = rng.integers(1, m, size=300), rng.integers(n, size=300)
    order = np.argsort(i, kind="stable")
    indptr = np.searchsorted(i[order], np.arange(m + 1)).astype(np.int64)
    V, z, own, lam = rng.normal(size=(n, k)), rng.normal(size=(m, k)), rng.random(m), rng.random(k)
    x, weights = rng.normal(size=300), rng.gamma(1.0, size=300) if weighted else None
    found = []
    for backend in (NumbaBackend(1), Backend()):
        on = SparseRows(indptr, j[order].astype(np.int32), x, backend)
        assert narrow.is_narrow(on, V)
        for values in (x, x[::-1].copy()):
            # Other values may share what is remembered of the cells.
            again = replace(on, values=values)
            found.append(backend.draw_untied(again, V, True, 0.7, own + 0.1, lam, z, weights))
    for ours, theirs in zip(found[:2], found[2:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("small", [draws.SMALL, -1])
def test_a_row_whose_block_is_not_positive_is_nan(small, monkeypatch):
    monkeypatch.setattr(draws, "SMALL", small)
    on = rows_on(NumbaBackend(1), m=4, n=30, density=0.5)
    own = np.array([1.0, -50.0, 1.0, np.nan])
    F, z = np.random.default_rng(0).normal(size=(30, 2)), np.zeros((4, 2))
    found = on.backend.draw_untied(on, F, False, 1.0, own, np.ones(2), z)
    assert np.isnan(found).all(axis=1).tolist() == [False, True, False, True]


def test_no_operation_is_left_to_the_reference():
    own = {name for name in OPERATIONS if getattr(NumbaBackend, name) is getattr(Backend, name)}
    # Where arrays are kept, and streams of random numbers, are those of NumPy; what is put together
    # of other operations is done by those.
    together = {"biased_sums", "draw_posterior"}
    assert own <= {"random", "array", "zeros", "keep", "scaled"} | together


def checked(name):
    kinds = [np.float64]
    if name in {"weighted_sums", "affine_sums", "block_product", "inner", "advance", "redirect"}:
        kinds.append(np.float32)
    return [(name, kind) for kind in kinds]


@pytest.mark.parametrize(("backend", "way"), ROUTES, indirect=["way"])
@pytest.mark.parametrize(
    ("name", "kind"), [c for name in OPERATIONS if name not in ELSEWHERE for c in checked(name)]
)
def test_the_operation_is_that_of_the_reference(name, kind, backend, way, monkeypatch):
    monkeypatch.setattr(threads, "EVEN_WORK", 200)  # several chunks of so few numbers
    monkeypatch.setattr(threads.chunk_bounds, "__defaults__", (500,))
    if "torch" in backend and not HAS_TORCH:
        pytest.skip("needs PyTorch: pip install 'bmcg[gpu]'")
    single = backend == "torch, single"
    tol = 1e-9 if kind is np.float64 and not single else 1e-3 if single else 2e-4
    for k, density in itertools.product((1, 2, 5, 13), (0.02, 0.5, 1.0)):
        fast, plain = BACKENDS[backend](), Backend()
        made = calls(name, k, density, kind)
        ours = made(rows_on(fast, density=density))
        theirs = made(rows_on(plain, density=density))
        for mine, other in zip(ours, theirs, strict=True):
            got, want = outcome(fast, name, mine), outcome(plain, name, other)
            both = zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]
            for a, b in both:
                size = max(1.0, np.abs(b).max(initial=0.0)) if single else 1.0
                np.testing.assert_allclose(a, b, rtol=tol, atol=tol * size, equal_nan=True)
                assert single or np.asarray(a).dtype == np.asarray(b).dtype
        fast.close()


@pytest.mark.parametrize("make", [Backend, lambda: NumbaBackend(1)])
def test_rows_of_any_length_are_summed_with_their_weights(make, way):
    """Short and long rows take different ways; a weight of two is the entry twice."""
    backend, rng = make(), np.random.default_rng(0)
    for n in (5, 60, 300):
        rows = rows_on(backend, n=n, density=0.8)
        F, w = rng.normal(size=(n, 4)), rng.integers(0, 3, len(rows.values)).astype(float)
        at = np.repeat(np.arange(M), rows.counts)
        G, h = backend.gram_and_sums(rows, F, w)
        moments = outer_packed(F)[rows.indices]
        want = np.stack([(w[at == i, None] * moments[at == i]).sum(axis=0) for i in range(M)])
        np.testing.assert_allclose(G, want, atol=1e-9)
        x = (w * rows.values)[:, None] * F[rows.indices]
        np.testing.assert_allclose(
            h, np.stack([x[at == i].sum(axis=0) for i in range(M)]), atol=1e-9
        )


def test_results_do_not_depend_on_the_number_of_threads():
    F = np.random.default_rng(0).normal(size=(400, 9))
    found = []
    for n_jobs in (1, 2, 3, 7):
        backend = NumbaBackend(n_jobs)
        rows = rows_on(backend, m=3000, n=400, density=0.2)
        found.append((*backend.gram_and_sums(rows, F), backend.weighted_sums(rows, F)))
        assert all(len(bounds) > 3 for bounds in rows.memo.values())
        backend.close()
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("n", [100, 700])
def test_full_and_half_full_tables_do_not_depend_on_the_number_of_threads(n):
    rng = np.random.default_rng(0)
    F, U = rng.normal(size=(n, 9)), rng.normal(size=(1500, 9))
    found = []
    for n_jobs in (1, 3):
        backend = NumbaBackend(n_jobs)
        rows = rows_on(backend, m=1500, n=n, density=0.5)
        assert tables.is_table(rows, F)
        with threadpool_limits(1):
            found.append((*backend.gram_and_sums(rows, F), backend.squared_error(rows, U, F)))
        backend.close()
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("seed", range(4))
def test_each_row_goes_over_its_entries_or_over_what_it_lacks_whichever_is_less(seed):
    rng, backend = np.random.default_rng(seed), Backend()
    shares = rng.choice([0.0, 0.1, 0.8, 1.0], size=(40, 1), p=[0.1, 0.1, 0.6, 0.2])
    seen = rng.random((40, 17)) < shares
    indices = np.nonzero(seen)[1].astype(np.int32)
    indptr = np.append(0, np.cumsum(seen.sum(axis=1)))
    rows = SparseRows(indptr, indices, np.ones(len(indices)), backend)
    found = fewer(rows, 17)
    assert found is not None
    assert (found.rows.counts == np.minimum(seen.sum(axis=1), (~seen).sum(axis=1))).all()
    S = rng.normal(size=(17, 3))
    np.testing.assert_allclose(
        found.fill(backend.row_sums(found.rows, S), S.sum(axis=0)), backend.row_sums(rows, S)
    )


def test_what_is_missing_is_not_asked_where_entries_stand_twice_or_few_do():
    indptr, backend = np.array([0, 3, 6]), Backend()
    twice = SparseRows(indptr, np.array([0, 1, 1, 0, 1, 2], np.int32), np.ones(6), backend)
    assert fewer(twice, 3) is None
    few = SparseRows(indptr, np.array([0, 1, 2, 0, 1, 2], np.int32), np.ones(6), backend)
    assert fewer(few, 8) is None


def test_what_is_kept_of_a_table_is_of_its_own_values():
    """Other targets of the same entries share the memo."""
    backend, rng = NumbaBackend(1), np.random.default_rng(0)
    rows, F = rows_on(backend, density=0.6), rng.normal(size=(N, 3))
    before = backend.weighted_sums(rows, F)
    other = replace(rows, values=2.0 * rows.values)
    np.testing.assert_allclose(backend.weighted_sums(other, F), 2.0 * before, atol=1e-12)
    np.testing.assert_allclose(backend.weighted_sums(rows, F), before, atol=1e-12)


def test_entries_that_stand_twice_are_added_up(way):
    indptr, indices = np.array([0, 3, 4]), np.array([1, 1, 0, 2], np.int32)
    F = np.arange(6.0).reshape(3, 2)
    found = []
    for backend in (Backend(), NumbaBackend(1)):
        rows = SparseRows(indptr, indices, np.array([1.0, 2.0, 3.0, 4.0]), backend)
        found.append((*backend.gram_and_sums(rows, F), backend.entry_products(rows, F[:2], F)))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b)


def test_nothing_larger_than_a_slab_is_made_of_a_table(monkeypatch):
    monkeypatch.setattr(tables, "SLAB", 1000)
    monkeypatch.setattr(tables, "KEPT", 0)
    monkeypatch.setattr(tables, "SMALL", 0)
    sizes, backend = [], NumbaBackend(1)
    made = sp.csr_array.toarray
    monkeypatch.setattr(
        sp.csr_array, "toarray", lambda self: sizes.append(np.prod(self.shape)) or made(self)
    )
    rows = rows_on(backend, m=200, n=30, density=0.7)
    backend.gram_and_sums(rows, np.ones((30, 4)))
    assert sizes
    assert max(sizes) <= 1000


@pytest.mark.parametrize("make", [Backend, lambda: NumbaBackend(1)])
def test_a_block_that_is_not_positive_definite_is_reported(make, way):
    P = pack(np.array([[[1.0, 2.0], [2.0, 1.0]], [[2.0, 0.0], [0.0, 3.0]]]))
    _, logdet = make().invert_blocks(P)
    assert np.isnan(logdet[0])
    assert logdet[1] == pytest.approx(np.log(6.0))


def test_packing_and_unpacking_are_inverse():
    A = np.random.default_rng(0).normal(size=(4, 6, 6))
    A = A + A.transpose(0, 2, 1)
    np.testing.assert_array_equal(unpack(pack(A)), A)
    np.testing.assert_array_equal(pack(A)[:, packed_diagonal(6)], np.diagonal(A, axis1=1, axis2=2))


class Counting:
    """A toy back end: the reference, with every call counted."""

    def __init__(self):
        self.plain, self.counts, self.name = Backend(), {}, "counting"

    def __getattr__(self, name):
        operation = getattr(self.plain, name)

        def counted(*arguments, **options):
            self.counts[name] = self.counts.get(name, 0) + 1
            return operation(*arguments, **options)

        return counted


def small_fit(backend, family, engine="auto", features=None):
    rng = np.random.default_rng(0)
    X = np.cumsum(rng.normal(size=(24, 2)), axis=0) @ rng.normal(size=(2, 15))
    X[rng.random(X.shape) < 0.4] = np.nan
    rows = SideInput(stack_graphs([chain_graph(24)], 24, ["chain"]), 0.1, features)
    cols = SideInput(stack_graphs([], 15), 1.0)
    # The reference takes its time over draws.
    sweeps = 2 if engine == "monte_carlo" else 6
    settings = Settings(
        family=family, engine=engine, rank=4, max_sweeps=sweeps, learn=True, bias=True
    )
    return run(Observations.from_any(X), rows, cols, settings, backend=backend)


@pytest.mark.parametrize(
    ("family", "engine"),
    [("row", "auto"), ("column", "dense"), ("column", "monte_carlo"), ("joint", "monte_carlo")],
)
def test_a_toy_back_end_runs_a_whole_fit(family, engine, way):
    toy = Counting()
    found = small_fit(toy, family, engine)
    want = small_fit(NumbaBackend(1), family, engine)
    np.testing.assert_allclose(found.trace, want.trace, rtol=1e-7)
    assert sum(toy.counts.values()) > 100
    assert {"precision_blocks", "invert_blocks", "weighted_sums"} <= set(toy.counts)


def test_a_toy_back_end_runs_a_fit_with_features(way):
    F = sp.csr_array(np.random.default_rng(1).normal(size=(24, 3)))
    toy = Counting()
    traces = [small_fit(on, "joint", "auto", F).trace for on in (toy, NumbaBackend(1))]
    # Draws in single precision, solved to two digits.
    np.testing.assert_allclose(*traces, rtol=1e-3)
    assert toy.counts["affine_sums"] > 10


def test_only_back_ends_know_of_numba_and_threads():
    """The sparse factors on the host aside: `inference`, `linalg` and the rest are told nothing."""
    import re
    from pathlib import Path

    import bmcg

    for room in ("inference", "linalg", "likelihoods", "baselines", "posterior"):
        for path in (Path(bmcg.__file__).parent / room).rglob("*.py"):
            if "sparse" not in path.parts:
                text = path.read_text()
                assert not re.search(r"numba|concurrent|ThreadPool|chunk_bounds", text), path
