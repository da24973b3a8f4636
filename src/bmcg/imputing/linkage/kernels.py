"""The copying model of one window, compiled: phase of heterozygotes, and alleles by copying.

A haplotype is a mosaic of K others (Li and Stephens, 2003). At site s it copies state k; on the
way to the next site it goes on with probability 1 − r_s, or starts anew with any of the K. With
L_sk the probability that state k carries the allele, the call x is emitted with probability

    e_s(k) = ε + (1 − 2ε) L_sk   if x = 1,   1 − that   if x = 0,   1   if x is not known.

Loops over states have unsigned indices, and none reads and writes rows of one array: so they
become vector instructions, four times as fast.
"""

from __future__ import annotations

import numpy as np

from ...kernels import fast, inlined


@inlined
def emission(x, error):  # type: ignore[no-untyped-def]
    """The numbers of e = c0 + c1 L for a call x, in single precision."""
    if x < 0:
        return np.float32(1.0), np.float32(0.0)
    c1 = np.float32(1.0 - 2.0 * error)
    if x == 1:
        return np.float32(error), c1
    return np.float32(1.0 - error), -c1


@fast
def backward(x, L, switch, error, B):  # type: ignore[no-untyped-def]
    """B_s(k) ∝ P(x after s | state k at s), (w, K), of mean one."""
    w, K = L.shape
    states = np.uint64(K)
    row = np.empty(K, np.float32)
    for k in range(states):
        B[w - 1, k] = 1.0
    for s in range(w - 1, 0, -1):
        here, before = np.uint64(s), np.uint64(s - 1)
        c0, c1 = emission(x[s], error)
        total = np.float32(0.0)
        for k in range(states):
            value = B[here, k] * (c0 + c1 * L[here, k])
            row[k] = value
            total += value
        go = np.float32(1.0 - switch[s]) * np.float32(K) / total
        start = np.float32(switch[s])
        for k in range(states):
            B[before, k] = go * row[k] + start


@fast
def forward(x, L, switch, error, s, a):  # type: ignore[no-untyped-def]
    """Take a, P(state at s | x before s), one site on in place."""
    K = L.shape[1]
    states, here = np.uint64(K), np.uint64(s)
    c0, c1 = emission(x, error)
    total = np.float32(0.0)
    for k in range(states):
        value = a[k] * (c0 + c1 * L[here, k])
        a[k] = value
        total += value
    r = np.float32(switch[s + 1])
    go, start = (np.float32(1.0) - r) / total, r / np.float32(K)
    for k in range(states):
        a[k] = go * a[k] + start


@fast
def meet(a, L, B, s):  # type: ignore[no-untyped-def]
    """Σ_k a(k) B_s(k) and Σ_k a(k) B_s(k) L_sk: of these, Σ_k a(k) e_s(k) B_s(k) for any call."""
    without, with_, here = np.float32(0.0), np.float32(0.0), np.uint64(s)
    for k in range(np.uint64(len(a))):
        g = a[k] * B[here, k]
        without += g
        with_ += g * L[here, k]
    return without, with_


@inlined
def choice(weights, bar):  # type: ignore[no-untyped-def]
    """Which of some weights: the largest where `bar` is negative, else the one drawn by it."""
    if bar < 0.0:
        return np.argmax(weights)
    left = bar * weights.sum()
    for option in range(len(weights) - 1):
        left -= weights[option]
        if left < 0.0:
            return option
    return len(weights) - 1


@fast
def options(u, v, a, L, B, one, error, s, weights):  # type: ignore[no-untyped-def]
    """Weights of a heterozygote's two turns with each order of what follows it, (4,).

    Alleles (u, v) or (v, u) on the haplotypes with messages a, (2, K), followed by rows
    (one, 1 − one) of B: as it is, alleles exchanged, what follows exchanged, both.
    """
    for crossed in range(2):
        first, second = one ^ crossed, 1 - (one ^ crossed)
        p0, p1 = meet(a[0], L, B[first], s)
        q0, q1 = meet(a[1], L, B[second], s)
        for turned in range(2):
            c0, c1 = emission(v if turned else u, error)
            d0, d1 = emission(u if turned else v, error)
            weights[2 * crossed + turned] = (c0 * p0 + c1 * p1) * (d0 * q0 + d1 * q1)


@fast
def phase(x, free, L, switch, error, last, bar, B, a):  # type: ignore[no-untyped-def]
    """Turn free heterozygotes, and exchange what follows them, as is probable; in place.

    Parameters
    ----------
    x : ndarray of int8, shape (2, w)
        Alleles of the two haplotypes, -1 where not known.
    free : ndarray of bool, shape (w,)
        Heterozygotes without phase.
    L : ndarray of float32, shape (w, K)
    last : int
        Whether the haplotypes are exchanged from this site on is returned.
    bar : ndarray of float32, shape (w,)
        Even draws, or negative for what is most probable.
    B : ndarray of float32, shape (2, w, K)
    a : ndarray of float32, shape (2, K)

    Returns
    -------
    bool
    """
    w, K = L.shape
    for h in range(2):
        backward(x[h], L, switch, error, B[h])
        for k in range(K):
            a[h, k] = 1.0 / K
    one = 0
    at_last = False
    weights = np.empty(4)
    for s in range(w):
        u, v = x[one, s], x[1 - one, s]
        if free[s]:
            options(u, v, a, L, B, one, error, s, weights)
            found = choice(weights, bar[s])
            if found % 2 == 1:
                u, v = v, u
            if found >= 2:
                one = 1 - one
        x[0, s], x[1, s] = u, v
        if s < w - 1:
            forward(u, L, switch, error, s, a[0])
            forward(v, L, switch, error, s, a[1])
        if s < last:
            at_last = one == 1
    return at_last


@fast
def copied(x, L, V, share, switch, error, B, a, out):  # type: ignore[no-untyped-def]
    """Probability of the allele at every site, its own call left out, (w,).

    A state counts by its weight V, (w, K): one where its allele is known. For a call that is
    known those count alone, so that nothing made of that call comes back to it. `share` is of
    the allele among all, (w,), for sites that no state knows of.
    """
    w, K = L.shape
    states = np.uint64(K)
    backward(x, L, switch, error, B)
    for k in range(states):
        a[k] = 1.0 / K
    for s in range(w):
        here = np.uint64(s)
        num, den, all_ = np.float32(0.0), np.float32(0.0), np.float32(0.0)
        if x[s] < 0:
            for k in range(states):
                g = a[k] * B[here, k]
                all_ += g
                den += g * V[here, k]
                num += g * V[here, k] * L[here, k]
        else:
            for k in range(states):
                g = a[k] * B[here, k]
                all_ += g
                known = np.float32(V[here, k] >= np.float32(1.0))
                den += g * known
                num += g * known * L[here, k]
        little = np.float32(1e-3) * all_
        out[s] = (num + little * share[s]) / (den + little)
        if s < w - 1:
            forward(x[s], L, switch, error, s, a)


@fast
def fill_people(x, free, real, R, W, near, share, switch, error, last, bars, out):  # type: ignore[no-untyped-def]
    """Phase and copy the haplotypes of some people in one window.

    Parameters
    ----------
    x : ndarray of int8, shape (2n, w)
        Two rows a person; phased in place.
    free : ndarray of bool, shape (n, w)
    real : ndarray of bool, shape (2n,)
        Rows that there are; the others get the shares.
    R, W : ndarray of float32, shape (H, w)
        Alleles of all haplotypes, expected where not known, and what they count.
    near : ndarray of int64, shape (n, K)
        States of each person, rows of R.
    share, switch : ndarray of shape (w,)
    error : float
    last : int
        Where the part of the window ends that is wanted.
    bars : ndarray of float32, shape (n, w)
        As in `phase`.
    out : ndarray of float32, shape (2n, w)

    Returns
    -------
    ndarray of bool, shape (n,)
        Whose haplotypes are exchanged from `last` on.
    """
    n, K = near.shape
    w = x.shape[1]
    L, V = np.empty((w, K), np.float32), np.empty((w, K), np.float32)
    B, a = np.empty((2, w, K), np.float32), np.empty((2, K), np.float32)
    turned = np.zeros(n, np.bool_)
    for i in range(n):
        for k in range(K):
            row = near[i, k]
            for s in range(w):
                L[s, k] = R[row, s]
                V[s, k] = W[row, s]
        if free[i].any():
            turned[i] = phase(x[2 * i : 2 * i + 2], free[i], L, switch, error, last, bars[i], B, a)
        for h in range(2):
            if real[2 * i + h]:
                copied(x[2 * i + h], L, V, share, switch, error, B[h], a[h], out[2 * i + h])
            else:
                out[2 * i + h] = share
    return turned


@fast
def first_phase(x, free, C):  # type: ignore[no-untyped-def]
    """Heterozygotes turned as the correlations with those before them say; in place.

    Parameters
    ----------
    x : ndarray of int8, shape (2n, m)
    free : ndarray of bool, shape (n, m)
    C : ndarray of float32, shape (d, m)
        Correlation of site s with site s − 1 − d.
    """
    n, m = free.shape
    for i in range(n):
        for s in range(m):
            if not free[i, s]:
                continue
            score = np.float32(0.0)
            for d in range(min(len(C), s)):
                before = s - 1 - d
                if free[i, before]:
                    side = np.float32(x[2 * i, before]) - np.float32(x[2 * i + 1, before])
                    score += C[d, s] * side
            x[2 * i, s] = 1 if score >= 0 else 0
            x[2 * i + 1, s] = 1 - x[2 * i, s]
