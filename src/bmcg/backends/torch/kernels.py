"""The hot sums as Triton kernels: a program a segment, single precision by IEEE's rules.

A segment of a row that has no other writes the row's sums; the segments of a long row write
places of their own behind the rows, which are then added up in order and in float64.
"""

# Triton reads annotations: no postponed ones here, and no types.
import torch
import triton
import triton.language as tl

# Entries of one step of a program.
STEP = 64
# Components beyond a power of two that are summed one by one; more are padded to the next.
EXTRAS = 4
# Widest tile of a Gram matrix.
TILE = 64


@triton.jit
def _gram(
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
                corner += tl.where(
                    (q[:, None] == c) & (q[None, :] == d), tl.sum(f * o, 0), 0.0
                )
    width = K * (K + 1) // 2
    r = k[:, None]
    keep = (r >= k[None, :]) & (r < K)
    tl.store(G + at * width + r * (r + 1) // 2 + k[None, :], g, mask=keep)
    tl.store(H + at * K + k, h, mask=k < K)
    if E > 0:
        e = KM + q[:, None]
        tl.store(G + at * width + e * (e + 1) // 2 + k[None, :], border, mask=e < K + 0 * k[None, :])
        inner = (q[:, None] >= q[None, :]) & (e < K)
        tl.store(G + at * width + e * (e + 1) // 2 + KM + q[None, :], corner, mask=inner)
        tl.store(H + at * K + KM + q, more, mask=KM + q < K)


@triton.jit
def _gram_tile(
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
def _sums(
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
        total += v
    tl.store(out + at * width + col, tl.sum(total, 0), mask=col < width)


@triton.jit
def _products(
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
    KP: tl.constexpr,
    B: tl.constexpr,
    WEIGHTED: tl.constexpr,
    SQUARED: tl.constexpr,
):
    """u·v at the entries, or the segment's sum of w (x − u·v)²."""
    s = tl.program_id(0)
    low = tl.load(seg_low + s)
    high = tl.load(seg_high + s)
    row = tl.load(seg_row + s).to(tl.int64)
    k = tl.arange(0, KP)
    p = tl.arange(0, B)
    u = tl.load(U + row * u_stride + k, mask=k < K, other=0.0)
    total = tl.zeros((B,), tl.float32)
    for b in range(low, high, B):
        ok = b + p < high
        j = tl.load(indices + b + p, mask=ok, other=0).to(tl.int64)
        keep = ok[:, None] & (k < K)[None, :]
        v = tl.load(V + j[:, None] * v_stride + k[None, :], mask=keep, other=0.0)
        y = tl.sum(v * u[None, :], 1)
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
def _block_product(P, X, out, x_stride, out_stride, K, KP: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    r = tl.arange(0, KP)[:, None]
    c = tl.arange(0, KP)[None, :]
    high = tl.maximum(r, c)
    low = tl.minimum(r, c)
    width = K * (K + 1) // 2
    B = tl.load(P + i * width + high * (high + 1) // 2 + low, mask=high < K, other=0.0)
    k = tl.arange(0, KP)
    x = tl.load(X + i * x_stride + k, mask=k < K, other=0.0)
    y = tl.sum(B * x[None, :], 1)
    tl.store(out + i * out_stride + k, y, mask=k < K)


def main_width(k):
    """Components of a tile and how many are summed beside it: (power of two, extras)."""
    below = 16
    while below * 2 <= min(k, TILE):
        below *= 2
    if k <= below:
        return below, 0
    if k - below <= EXTRAS:
        return below, k - below
    return (below * 2, 0) if below * 2 <= TILE and k <= below * 2 else (0, 0)


def _next_power(k, least=1):
    out = least
    while out < k:
        out *= 2
    return out


def padded(F, width):
    """Rows of `width` numbers at least, a multiple of eight, so that loads are aligned."""
    width = (width + 7) // 8 * 8
    if F.shape[1] == width and F.is_contiguous():
        return F
    out = F.new_zeros((len(F), width))
    out[:, : F.shape[1]] = F
    return out


def _at(seg):
    return seg.row, seg.low, seg.high, seg.slot


def _with_slots(seg, out):
    """Room for the rows and, behind them, for the segments of long ones."""
    return out.new_empty((len(out) + seg.n_slots, *out.shape[1:]))


def _gathered(seg, room, out):
    """The rows' sums out of `room`, those of long rows added up."""
    n = len(out)
    out.copy_(room[:n])
    if seg.n_slots:
        parts = room[n:].double()
        sums = torch.segment_reduce(parts, "sum", lengths=seg.parts, axis=0, unsafe=True, initial=0)
        out[seg.long] = sums.to(out.dtype)


def gram_and_sums(piece, F, values, weights, G, h):
    """As in `sums`, in single precision."""
    seg, k = piece.segments, F.shape[1]
    main, extras = main_width(k)
    grams, total = _with_slots(seg, G), _with_slots(seg, h)
    weighted = weights is not None
    w = weights if weighted else values
    if main:
        f = padded(F, main + extras)
        _gram[(len(seg.row),)](
            *_at(seg), piece.indices, values, w, f, f.shape[1], grams, total, len(G), k,
            KM=main, E=extras, EP=_next_power(max(extras, 1)), B=STEP, WEIGHTED=weighted,
            num_warps=4,
        )  # fmt: skip
    else:
        tiles = -(-k // TILE)
        f, pairs = padded(F, tiles * TILE), tiles * (tiles + 1) // 2
        _gram_tile[(len(seg.row) * pairs,)](
            *_at(seg), piece.indices, values, w, f, f.shape[1], grams, total, len(G), k, pairs,
            T=TILE, B=STEP, WEIGHTED=weighted, num_warps=4,
        )  # fmt: skip
    _gathered(seg, grams, G)
    _gathered(seg, total, h)


def row_sums(piece, S, weights, out):
    """As in `sums`, in single precision."""
    seg, width = piece.segments, S.shape[1]
    block = min(128, _next_power(width, 16))
    blocks = -(-width // block)
    S = S if S.stride(1) == 1 else S.contiguous()
    room = _with_slots(seg, out)
    _sums[(len(seg.row) * blocks,)](
        *_at(seg), piece.indices, piece.values if weights is None else weights, S, S.stride(0),
        room, len(out), width, blocks, WB=block, B=2048 // block, WEIGHTED=weights is not None,
        num_warps=4,
    )  # fmt: skip
    _gathered(seg, room, out)


def entry_products(piece, U, V, out):
    """As in `sums`, in single precision."""
    _on_entries(piece, U, V, piece.values, None, out, squared=False)


def squared_error(piece, U, V, values, weights):
    """As in `sums`: a segment in single precision, all of them in double."""
    out = torch.empty(len(piece.segments.row), dtype=torch.float32, device=U.device)
    _on_entries(piece, U, V, values, weights, out, squared=True)
    return out.sum(dtype=torch.float64)


def _on_entries(piece, U, V, values, weights, out, squared):
    seg, k = piece.segments, U.shape[1]
    U, V = padded(U, k), padded(V, k)
    width = _next_power(k, 16)
    weighted = weights is not None
    _products[(len(seg.row),)](
        *_at(seg)[:3], piece.indices, values, weights if weighted else values, U, V, U.stride(0),
        V.stride(0), out, k, KP=width, B=max(16, 4096 // width), WEIGHTED=weighted,
        SQUARED=squared, num_warps=4,
    )  # fmt: skip


def block_product(P, X, out):
    """B_i x_i into out for X (n, k)."""
    k = X.shape[1]
    _block_product[(len(X),)](
        P, X, out, X.stride(0), out.stride(0), k, KP=_next_power(k, 16), num_warps=2
    )
