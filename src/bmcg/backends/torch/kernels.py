"""The hot sums as Triton kernels: a program a segment, single precision by IEEE's rules.

A segment of a row that has no other writes the row's sums; the segments of a long row write
places of their own behind the rows, which are then added up in order and in float64.
"""

# mypy: disable-error-code="no-untyped-def"
# Triton reads annotations: no postponed ones here, and no types.
import triton
import triton.language as tl


@triton.jit
def gram(
    seg_row,
    seg_low,
    seg_high,
    seg_slot,
    indices,
    values,
    weights,
    F,
    stride,
    G,
    H,
    n,
    K,
    KM: tl.constexpr,
    E: tl.constexpr,
    EP: tl.constexpr,
    B: tl.constexpr,
    WEIGHTED: tl.constexpr,
):
    s = tl.program_id(0)
    low = tl.load(seg_low + s)
    high = tl.load(seg_high + s)
    slot = tl.load(seg_slot + s).to(tl.int64)
    row = tl.load(seg_row + s).to(tl.int64)
    at = tl.where(slot < 0, row, n + slot)
    k = tl.arange(0, KM)
    p = tl.arange(0, B)
    q = tl.arange(0, EP)
    g = tl.zeros((KM, KM), tl.float32)
    h = tl.zeros((KM,), tl.float32)
    border = tl.zeros((EP, KM), tl.float32)
    corner = tl.zeros((EP, EP), tl.float32)
    more = tl.zeros((EP,), tl.float32)
    for b in range(low, high, B):
        ok = b + p < high
        j = tl.load(indices + b + p, mask=ok, other=0).to(tl.int64)
        x = tl.load(values + b + p, mask=ok, other=0.0)
        v = tl.load(F + j[:, None] * stride + k[None, :], mask=ok[:, None], other=0.0)
        u = v
        if WEIGHTED:
            w = tl.load(weights + b + p, mask=ok, other=0.0)
            u = v * w[:, None]
            x = x * w
        g += tl.dot(tl.trans(u), v, input_precision="ieee")
        h += tl.sum(v * x[:, None], 0)
        for c in tl.static_range(E):
            f = tl.load(F + j * stride + KM + c, mask=ok, other=0.0)
            line = tl.sum(u * f[:, None], 0)
            border += tl.where(q[:, None] == c, line[None, :], 0.0)
            more += tl.where(q == c, tl.sum(f * x, 0), 0.0)
            for d in tl.static_range(c + 1):
                o = tl.load(F + j * stride + KM + d, mask=ok, other=0.0)
                if WEIGHTED:
                    o = o * w
                corner += tl.where((q[:, None] == c) & (q[None, :] == d), tl.sum(f * o, 0), 0.0)
    width = K * (K + 1) // 2
    r = k[:, None]
    keep = (r >= k[None, :]) & (r < K)
    tl.store(G + at * width + r * (r + 1) // 2 + k[None, :], g, mask=keep)
    tl.store(H + at * K + k, h, mask=k < K)
    if E > 0:
        e = KM + q[:, None]
        tl.store(
            G + at * width + e * (e + 1) // 2 + k[None, :], border, mask=e < K + 0 * k[None, :]
        )
        inner = (q[:, None] >= q[None, :]) & (e < K)
        tl.store(G + at * width + e * (e + 1) // 2 + KM + q[None, :], corner, mask=inner)
        tl.store(H + at * K + KM + q, more, mask=KM + q < K)


@triton.jit
def gram_tile(
    seg_row,
    seg_low,
    seg_high,
    seg_slot,
    indices,
    values,
    weights,
    F,
    stride,
    G,
    H,
    n,
    K,
    pairs,
    T: tl.constexpr,
    B: tl.constexpr,
    WEIGHTED: tl.constexpr,
):
    """One tile (a, b), b ≤ a, of the Gram matrix of a segment; a tile on the diagonal sums too."""
    pid = tl.program_id(0)
    s = pid // pairs
    t = pid % pairs
    a = ((tl.sqrt(8.0 * t.to(tl.float32) + 1.0) - 1.0) / 2.0 + 1e-4).to(tl.int32)
    c = t - a * (a + 1) // 2
    low = tl.load(seg_low + s)
    high = tl.load(seg_high + s)
    slot = tl.load(seg_slot + s).to(tl.int64)
    row = tl.load(seg_row + s).to(tl.int64)
    at = tl.where(slot < 0, row, n + slot)
    k = tl.arange(0, T)
    p = tl.arange(0, B)
    g = tl.zeros((T, T), tl.float32)
    h = tl.zeros((T,), tl.float32)
    for b in range(low, high, B):
        ok = b + p < high
        j = tl.load(indices + b + p, mask=ok, other=0).to(tl.int64)
        x = tl.load(values + b + p, mask=ok, other=0.0)
        u = tl.load(F + j[:, None] * stride + (a * T + k)[None, :], mask=ok[:, None], other=0.0)
        v = tl.load(F + j[:, None] * stride + (c * T + k)[None, :], mask=ok[:, None], other=0.0)
        if WEIGHTED:
            w = tl.load(weights + b + p, mask=ok, other=0.0)
            u = u * w[:, None]
        g += tl.dot(tl.trans(u), v, input_precision="ieee")
        h += tl.sum(u * x[:, None], 0)
    width = K * (K + 1) // 2
    r = a * T + k[:, None]
    z = c * T + k[None, :]
    tl.store(G + at * width + r * (r + 1) // 2 + z, g, mask=(r >= z) & (r < K))
    tl.store(H + at * K + a * T + k, h, mask=(a * T + k < K) & (a + 0 * k == c))


@triton.jit
def sums(
    seg_row,
    seg_low,
    seg_high,
    seg_slot,
    indices,
    weights,
    S,
    stride,
    out,
    n,
    width,
    blocks,
    WB: tl.constexpr,
    B: tl.constexpr,
    WEIGHTED: tl.constexpr,
):
    pid = tl.program_id(0)
    s = pid // blocks
    col = (pid % blocks) * WB + tl.arange(0, WB)
    low = tl.load(seg_low + s)
    high = tl.load(seg_high + s)
    slot = tl.load(seg_slot + s).to(tl.int64)
    row = tl.load(seg_row + s).to(tl.int64)
    at = tl.where(slot < 0, row, n + slot)
    p = tl.arange(0, B)
    total = tl.zeros((B, WB), tl.float32)
    for b in range(low, high, B):
        ok = b + p < high
        j = tl.load(indices + b + p, mask=ok, other=0).to(tl.int64)
        keep = ok[:, None] & (col < width)[None, :]
        v = tl.load(S + j[:, None] * stride + col[None, :], mask=keep, other=0.0)
        if WEIGHTED:
            w = tl.load(weights + b + p, mask=ok, other=0.0)
            v = v * w[:, None]
        # Values and weights may be in double precision.
        total += v.to(tl.float32)
    tl.store(out + at * width + col, tl.sum(total, 0), mask=col < width)


@triton.jit
def products(
    seg_row,
    seg_low,
    seg_high,
    indices,
    values,
    weights,
    U,
    V,
    u_stride,
    v_stride,
    out,
    K,
    KM: tl.constexpr,
    E: tl.constexpr,
    B: tl.constexpr,
    WEIGHTED: tl.constexpr,
    SQUARED: tl.constexpr,
):
    """u·v at the entries, or the segment's sum of w (x − u·v)²."""
    s = tl.program_id(0)
    low = tl.load(seg_low + s)
    high = tl.load(seg_high + s)
    row = tl.load(seg_row + s).to(tl.int64)
    k = tl.arange(0, KM)
    p = tl.arange(0, B)
    u = tl.load(U + row * u_stride + k, mask=k < K, other=0.0)
    total = tl.zeros((B,), tl.float32)
    for b in range(low, high, B):
        ok = b + p < high
        j = tl.load(indices + b + p, mask=ok, other=0).to(tl.int64)
        keep = ok[:, None] & (k < K)[None, :]
        v = tl.load(V + j[:, None] * v_stride + k[None, :], mask=keep, other=0.0)
        y = tl.sum(v * u[None, :], 1)
        for c in tl.static_range(E):
            f = tl.load(V + j * v_stride + KM + c, mask=ok, other=0.0)
            y += f * tl.load(U + row * u_stride + KM + c)
        if SQUARED:
            x = tl.load(values + b + p, mask=ok, other=0.0)
            e = (x - y) * (x - y)
            if WEIGHTED:
                e = e * tl.load(weights + b + p, mask=ok, other=0.0)
            total += tl.where(ok, e, 0.0)
        else:
            tl.store(out + b + p, y, mask=ok)
    if SQUARED:
        tl.store(out + s, tl.sum(total, 0))


@triton.jit
def biased_gram(
    seg_row,
    seg_low,
    seg_high,
    seg_slot,
    indices,
    values,
    weights,
    V,
    bias,
    stride,
    G,
    H,
    n,
    K,
    KM: tl.constexpr,
    B: tl.constexpr,
    WEIGHTED: tl.constexpr,
):
    """Σ f fᵀ and Σ (x − c) f of f = (v, 1) for rows v of V, padded with zeros, and biases c."""
    s = tl.program_id(0)
    low = tl.load(seg_low + s)
    high = tl.load(seg_high + s)
    slot = tl.load(seg_slot + s).to(tl.int64)
    row = tl.load(seg_row + s).to(tl.int64)
    at = tl.where(slot < 0, row, n + slot)
    k = tl.arange(0, KM)
    p = tl.arange(0, B)
    g = tl.zeros((KM, KM), tl.float32)
    # Reduced once, after the last step.
    first = tl.zeros((B, KM), tl.float32)
    target = tl.zeros((B, KM), tl.float32)
    left = tl.zeros((B,), tl.float32)
    count = tl.zeros((B,), tl.float32)
    for b in range(low, high, B):
        ok = b + p < high
        j = tl.load(indices + b + p, mask=ok, other=0).to(tl.int64)
        x = tl.load(values + b + p, mask=ok, other=0.0)
        x -= tl.load(bias + j, mask=ok, other=0.0)
        v = tl.load(V + j[:, None] * stride + k[None, :], mask=ok[:, None], other=0.0)
        u = v
        if WEIGHTED:
            w = tl.load(weights + b + p, mask=ok, other=0.0)
            u = v * w[:, None]
            x = x * w
            count += w
        else:
            count += tl.where(ok, 1.0, 0.0)
        g += tl.dot(tl.trans(u), v, input_precision="ieee")
        first += u
        target += v * x[:, None]
        left += x
    width = (K + 1) * (K + 2) // 2
    last = K * (K + 1) // 2
    r = k[:, None]
    keep = (r >= k[None, :]) & (r < K)
    tl.store(G + at * width + r * (r + 1) // 2 + k[None, :], g, mask=keep)
    tl.store(G + at * width + last + k, tl.sum(first, 0), mask=k < K)
    tl.store(G + at * width + last + K, tl.sum(count, 0))
    tl.store(H + at * (K + 1) + k, tl.sum(target, 0), mask=k < K)
    tl.store(H + at * (K + 1) + K, tl.sum(left, 0))


@triton.jit
def folded(long, first, parts, room, n, width, W: tl.constexpr):
    """Rows of several segments: their sums added up in order, in double precision."""
    i = tl.program_id(0)
    col = tl.program_id(1) * W + tl.arange(0, W)
    row = tl.load(long + i)
    start = tl.load(first + i) + n
    total = tl.zeros((W,), tl.float64)
    for s in range(tl.load(parts + i)):
        total += tl.load(room + (start + s) * width + col, mask=col < width, other=0.0).to(
            tl.float64
        )
    tl.store(room + row * width + col, total.to(tl.float32), mask=col < width)
