"""The Triton kernels do what plain PyTorch does: on a GPU, or else interpreted on the CPU."""

from __future__ import annotations

import os

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'bmcg[gpu]'")
DEVICE = os.environ.get("BMCG_TEST_DEVICE", "cpu")
triton = pytest.importorskip("triton", reason="needs Triton, which comes with PyTorch on Linux")
if DEVICE == "cpu" and (
    tuple(map(int, triton.__version__.split(".")[:2])) < (3, 7)
    and tuple(map(int, np.__version__.split(".")[:2])) >= (2, 4)
):
    pytest.skip(
        f"the interpreter of Triton {triton.__version__} fails with NumPy {np.__version__}: "
        "Triton 3.7, or NumPy before 2.4",
        allow_module_level=True,
    )

from bmcg.backends import SparseRows  # noqa: E402
from bmcg.backends.torch import block_launches, blocks, entries, launches, sums  # noqa: E402
from bmcg.backends.torch.backend import TorchBackend  # noqa: E402


@pytest.fixture
def piece(monkeypatch):
    """Rows of none, few and many entries; a long row is several segments."""
    monkeypatch.setattr(entries, "SEGMENT", 40)
    rng = np.random.default_rng(0)
    counts = np.array([0, 3, 130, 1, 40, 41, 0, 97, 5])
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    n = int(indptr[-1])
    backend = TorchBackend(DEVICE, single=True, kernels=False)
    indices = rng.integers(0, 60, n).astype(np.int32)
    rows = SparseRows(indptr, indices, rng.normal(size=n), backend)
    return next(backend._pieces(rows))


def on(x):
    return torch.as_tensor(np.asarray(x, np.float32), device=DEVICE)


def assert_close(a, b):
    np.testing.assert_allclose(
        a.cpu(), b.cpu(), rtol=2e-5, atol=2e-5 * max(1.0, float(b.abs().max()))
    )


@pytest.mark.parametrize("k", [1, 18, 25, 34, 100, 130])
@pytest.mark.parametrize("weighted", [False, True])
def test_grams_and_sums_of_uneven_rows(piece, k, weighted):
    rng = np.random.default_rng(k)
    F = on(rng.normal(size=(60, k)))
    weights = on(rng.gamma(1.0, size=piece.size)) if weighted else None
    found = []
    for room in (launches, sums):
        found.append(room.gram_and_sums(piece, F, piece.values, weights))
    for a, b in zip(*found, strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("width", [1, 33, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_wide_and_narrow_rows(piece, width, weighted):
    S = on(np.random.default_rng(0).normal(size=(60, width)))
    weights = piece.values if weighted else None
    assert_close(*(room.row_sums(piece, S, weights) for room in (launches, sums)))


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_sums_take_weights_of_either_precision(piece, kind):
    S, weights = on(np.random.default_rng(0).normal(size=(60, 5))), piece.values.to(kind)
    assert_close(*(room.row_sums(piece, S, weights) for room in (launches, sums)))


@pytest.mark.parametrize("k", [1, 8, 16, 20, 33, 64])
@pytest.mark.parametrize("weighted", [False, True])
def test_grams_and_sums_beside_a_bias(piece, k, weighted):
    rng = np.random.default_rng(k)
    V = on(rng.normal(size=(60, k + 1)))
    weights = on(rng.gamma(1.0, size=piece.size)) if weighted else None
    found = [room.biased_sums(piece, V, piece.values, weights) for room in (launches, sums)]
    for a, b in zip(*found, strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("k", [1, 2, 8, 16, 17, 20, 32, 33, 34, 64, 65])
def test_draws_of_blocks_in_registers(k):
    """Blocks that fill a tile, pad it, or have a last row beside it."""
    assert block_launches.fits(k)
    rng = np.random.default_rng(k)
    A = rng.normal(size=(9, k, k + 3))
    G = blocks.pack(torch.as_tensor(A @ A.transpose(0, 2, 1)))
    h, z = (torch.as_tensor(rng.normal(size=(9, k))) for _ in range(2))
    own, lam = torch.as_tensor(1.0 + rng.random(9)), torch.as_tensor(1.0 + rng.random(k))
    P = 0.7 * G
    P[:, blocks.diagonal(k, P.device)] += own[:, None] * lam
    # The sums may be part of wider rows.
    wide = torch.cat((on(G), on(np.ones((9, 5)))), 1)[:, : G.shape[1]]
    out = torch.full_like(on(h), float("nan"))
    block_launches.draw(wide, on(h), 0.7, on(own), on(lam), on(z), out)
    assert_close(out, on(blocks.draw(P, 0.7 * h, z)))


@pytest.mark.parametrize("k", [1, 16, 34])
def test_products_and_errors_at_the_entries(piece, k):
    rng = np.random.default_rng(k)
    U, V, weights = (on(rng.normal(size=s)) for s in ((piece.n, k), (60, k), piece.size))
    found = [on(np.full(piece.size, np.nan)) for _ in range(2)]
    for room, out in zip((launches, sums), found, strict=True):
        room.entry_products(piece, U, V, out)
    assert_close(*found)
    for w in (None, weights):
        assert_close(
            *(room.squared_error(piece, U, V, piece.values, w) for room in (launches, sums))
        )


SIZES = [1, 2, 16, 17, 20, 32, 33, 64, 65]


@pytest.mark.parametrize("k", SIZES)
def test_products_of_packed_blocks(k):
    rng = np.random.default_rng(k)
    P, X = on(rng.normal(size=(4, k * (k + 1) // 2))), on(rng.normal(size=(4, k)))
    found = [torch.full_like(X, float("nan")) for _ in range(2)]
    block_launches.block_product(P, X, found[0])
    blocks.block_product(P, X, found[1])
    assert_close(*found)
    assert_close(*(room.lower_product(P, X) for room in (block_launches, blocks)))


def positive(k, n=5):
    """Positive definite blocks, as part of wider rows."""
    A = np.random.default_rng(k).normal(size=(n, k, k + 3))
    P = blocks.pack(on(A @ A.transpose(0, 2, 1) + np.eye(k)))
    return torch.cat((P, on(np.ones((n, 5)))), 1)[:, : P.shape[1]]


@pytest.mark.parametrize("k", SIZES)
def test_inverses_and_factors_of_blocks_in_registers(k):
    P = positive(k)
    found, want = block_launches.invert(P), blocks.invert(P.contiguous().double())
    for a, b in zip(found, want, strict=True):
        assert_close(a, b)
    assert found[1].dtype == torch.float64
    assert_close(block_launches.cholesky(P), blocks.cholesky(P.contiguous().double()))


@pytest.mark.parametrize("k", [3, 17])
def test_blocks_without_an_inverse_are_not_a_number_and_those_without_rank_have_a_root(k):
    P = positive(k).contiguous()
    P[2] = 0.0
    v = on(np.arange(1.0, k + 1))
    P[3] = blocks.pack((v[:, None] * v)[None])[0]
    P[4, blocks.diagonal(k, P.device)[-1]] -= 1e4
    inverse, logs = block_launches.invert(P[[0, 2, 4]])
    assert torch.isfinite(inverse[0]).all()
    assert torch.isnan(inverse[1:]).all()
    assert logs.isnan().tolist() == [False, True, True]
    root = torch.tril(blocks.unpack(block_launches.cholesky(P[:4])))
    assert_close(root @ root.mT, blocks.unpack(P[:4]))
