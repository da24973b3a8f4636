"""Packed blocks as Triton kernels: a program a row, its block in registers.

A block of a power of two and one more row has that row beside it, so that 32 components and a bias
do not take a tile of 64. What pads a tile is an identity.
"""

# mypy: disable-error-code="no-untyped-def"
# Triton reads annotations: no postponed ones here, and no types.
import triton
import triton.language as tl


@triton.jit
def block_product(P, X, out, stride, x_stride, out_stride, K, KM: tl.constexpr, B: tl.constexpr):
    """P x for symmetric blocks."""
    i = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, KM)
    M = K - B
    high = tl.maximum(k[:, None], k[None, :])
    low = tl.minimum(k[:, None], k[None, :])
    A = tl.load(P + i * stride + high * (high + 1) // 2 + low, mask=high < M, other=0.0)
    x = tl.load(X + i * x_stride + k, mask=k < M, other=0.0)
    y = tl.sum(A * x[None, :], 1)
    if B:
        edge = P + i * stride + M * (M + 1) // 2
        b = tl.load(edge + k, mask=k < M, other=0.0)
        last = tl.load(X + i * x_stride + M)
        y += b * last
        tl.store(out + i * out_stride + M, tl.sum(b * x, 0) + tl.load(edge + M) * last)
    tl.store(out + i * out_stride + k, y, mask=k < M)


@triton.jit
def lower_product(L, X, out, stride, x_stride, out_stride, K, KM: tl.constexpr, B: tl.constexpr):
    """L x for lower triangles."""
    i = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, KM)
    r = k[:, None]
    c = k[None, :]
    M = K - B
    A = tl.load(L + i * stride + r * (r + 1) // 2 + c, mask=(r >= c) & (r < M), other=0.0)
    x = tl.load(X + i * x_stride + k, mask=k < M, other=0.0)
    tl.store(out + i * out_stride + k, tl.sum(A * x[None, :], 1), mask=k < M)
    if B:
        edge = L + i * stride + M * (M + 1) // 2
        b = tl.load(edge + k, mask=k < M, other=0.0)
        last = tl.load(edge + M) * tl.load(X + i * x_stride + M)
        tl.store(out + i * out_stride + M, tl.sum(b * x, 0) + last)


@triton.jit
def invert(P, out, logs, stride, K, KM: tl.constexpr, B: tl.constexpr):
    """P⁻¹ and log|P| by sweeping every pivot: a_ij −= a_ik a_kj / d, a_ik /= d, a_kk = −1/d.

    All pivots swept, the block is −P⁻¹. Both are NaN where a pivot is not positive.
    """
    i = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, KM)
    r = k[:, None]
    c = k[None, :]
    M = K - B
    high = tl.maximum(r, c)
    low = tl.minimum(r, c)
    A = tl.load(P + i * stride + high * (high + 1) // 2 + low, mask=high < M, other=0.0)
    A += tl.where((r == c) & (r >= M), 1.0, 0.0)
    edge = P + i * stride + M * (M + 1) // 2
    b = tl.zeros((KM,), tl.float32)
    corner = 1.0
    if B:
        b += tl.load(edge + k, mask=k < M, other=0.0)
        corner = tl.load(edge + M)
    log = 0.0
    for j in range(KM):
        down = tl.sum(tl.where(c == j, A, 0.0), 1)
        across = tl.sum(tl.where(r == j, A, 0.0), 0)
        d = tl.sum(tl.where(k == j, down, 0.0), 0)
        d = tl.where(d > 0.0, d, float("nan"))
        log += tl.log(d)
        inverse = 1.0 / d
        if B:
            side = tl.sum(tl.where(k == j, b, 0.0), 0) * inverse
            corner -= side * side * d
            b = tl.where(k == j, side, b - down * side)
        down = down * inverse
        A = tl.where(r == j, (across * inverse)[None, :], A - down[:, None] * across[None, :])
        A = tl.where(c == j, tl.where(r == j, -inverse, down[:, None]), A)
    if B:
        d = tl.where(corner > 0.0, corner, float("nan"))
        log += tl.log(d)
        A -= b[:, None] * (b / d)[None, :]
    # NaN throughout where any pivot was.
    A += 0.0 * log
    width = K * (K + 1) // 2
    tl.store(out + i * width + r * (r + 1) // 2 + c, -A, mask=(r >= c) & (r < M))
    if B:
        goal = out + i * width + M * (M + 1) // 2
        tl.store(goal + k, -b / d, mask=k < M)
        tl.store(goal + M, 1.0 / d)
    tl.store(logs + i, log)


@triton.jit
def cholesky(P, out, stride, K, least, KM: tl.constexpr, B: tl.constexpr):
    """L of positive semidefinite P = L Lᵀ; the column of a pivot that is lost is zero."""
    i = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, KM)
    r = k[:, None]
    c = k[None, :]
    M = K - B
    high = tl.maximum(r, c)
    low = tl.minimum(r, c)
    A = tl.load(P + i * stride + high * (high + 1) // 2 + low, mask=high < M, other=0.0)
    A += tl.where((r == c) & (r >= M), 1.0, 0.0)
    whole = tl.sum(tl.where(r == c, A, 0.0), 1)
    edge = P + i * stride + M * (M + 1) // 2
    b = tl.zeros((KM,), tl.float32)
    if B:
        b += tl.load(edge + k, mask=k < M, other=0.0)
    for j in range(KM):
        down = tl.sum(tl.where(c == j, A, 0.0), 1)
        across = tl.sum(tl.where(r == j, A, 0.0), 0)
        pivot = tl.sum(tl.where(k == j, down, 0.0), 0)
        is_there = pivot > least * tl.sum(tl.where(k == j, whole, 0.0), 0)
        inverse = tl.where(is_there, 1.0 / tl.sqrt(tl.where(is_there, pivot, 1.0)), 0.0)
        down = down * inverse
        across = tl.where(k > j, across * inverse, 0.0)
        below = tl.where(k > j, down, 0.0)
        A = tl.where((c == j) & (r >= j), down[:, None], A - below[:, None] * across[None, :])
        if B:
            side = tl.sum(tl.where(k == j, b, 0.0), 0) * inverse
            b = tl.where(k == j, side, b - below * side)
    width = K * (K + 1) // 2
    tl.store(out + i * width + r * (r + 1) // 2 + c, A, mask=(r >= c) & (r < M))
    if B:
        goal = out + i * width + M * (M + 1) // 2
        corner = tl.load(edge + M)
        pivot = corner - tl.sum(b * b, 0)
        is_there = pivot > least * corner
        tl.store(goal + k, b, mask=k < M)
        tl.store(goal + M, tl.where(is_there, tl.sqrt(tl.where(is_there, pivot, 1.0)), 0.0))


@triton.jit
def draw(
    G,
    H,
    own,
    lam,
    Z,
    out,
    tau,
    g_stride,
    h_stride,
    K,
    KM: tl.constexpr,
    B: tl.constexpr,
):
    """P⁻¹ τh + L⁻ᵀ z with P = τG + own Λ = L Lᵀ, by elimination from all other rows at once.

    When unknown j has its turn its row reads d x_j + Σ_{k>j} a_k x_k = h + √d z_j, of which rows
    below see h alone, as in L y = h, and rows above all of it, as in Lᵀ x = y + z. So nothing is
    left to substitute back, and no factor is kept.
    """
    i = tl.program_id(0).to(tl.int64)
    k = tl.arange(0, KM)
    r = k[:, None]
    c = k[None, :]
    M = K - B
    high = tl.maximum(r, c)
    low = tl.minimum(r, c)
    o = tl.load(own + i)
    A = tau * tl.load(G + i * g_stride + high * (high + 1) // 2 + low, mask=high < M, other=0.0)
    # What pads the block is an identity.
    scale = tl.where(k < M, o * tl.load(lam + k, mask=k < M, other=0.0), 1.0)
    A += tl.where(r == c, scale[:, None], 0.0)
    y = tau * tl.load(H + i * h_stride + k, mask=k < M, other=0.0)
    z = tl.load(Z + i * K + k, mask=k < M, other=0.0)
    pivots = tl.zeros((KM,), tl.float32)
    edge = G + i * g_stride + M * (M + 1) // 2
    b = tl.zeros((KM,), tl.float32)
    corner = 1.0
    last = 0.0
    if B:
        b += tau * tl.load(edge + k, mask=k < M, other=0.0)
        corner = tau * tl.load(edge + M) + o * tl.load(lam + M)
        last = tau * tl.load(H + i * h_stride + M)
    for j in range(KM):
        here = k == j
        down = tl.sum(tl.where(c == j, A, 0.0), 1)
        d = tl.sum(tl.where(here, down, 0.0), 0)
        inverse = 1.0 / d
        share = tl.where(here, 0.0, down * inverse)
        # Below j the block is symmetric: what is left of row j is its column.
        A -= share[:, None] * tl.where(k > j, down, 0.0)[None, :]
        h = tl.sum(tl.where(here, y, 0.0), 0)
        noise = tl.sqrt(d) * tl.sum(tl.where(here, z, 0.0), 0)
        y = tl.where(here, h + noise, y - share * tl.where(k < j, h + noise, h))
        pivots = tl.where(here, d, pivots)
        if B:
            side = tl.sum(tl.where(here, b, 0.0), 0)
            b -= share * side
            corner -= side * side * inverse
            last -= side * h * inverse
    # NaN throughout where any pivot is not positive.
    y += tl.sum(tl.where(pivots > 0.0, 0.0, float("nan")), 0)
    if B:
        y += tl.where(corner > 0.0, 0.0, float("nan"))
        last = (last + tl.sqrt(corner) * tl.load(Z + i * K + M)) / corner
        tl.store(out + i * K + M, last + 0.0 * tl.sum(y, 0))
        y -= b * last
    tl.store(out + i * K + k, y / pivots, mask=k < M)
