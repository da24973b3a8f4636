"""What a fit needs on a device, from its shapes: known before anything is done."""

from __future__ import annotations

from typing import NamedTuple

import torch

from ...memory import GIB, Work
from .entries import SEGMENT, STREAMED

# Bytes of a number, and of an entry: its position and its value, in both orders.
NUMBER = 4
ENTRY = 2 * (4 + NUMBER)
# Of an entry that is asked about by itself: moments, weights and targets, what they are made of in
# double precision, and its place in the other order.
MOMENTS = 96
# What PyTorch and CUDA take for themselves, and pieces that blocks are unpacked in.
FIXED = 2.5 * GIB
# How much of the free memory may be counted on.
SHARE = 0.95


class Need(NamedTuple):
    """Bytes.

    Attributes
    ----------
    entries : float
        Of the observed entries, were they on the device.
    streamed : float
        Of the pieces in which they pass through instead.
    rest : float
        Of factors, blocks and graphs.
    """

    entries: float
    streamed: float
    rest: float


def estimate(work: Work) -> Need:
    """What a fit of some shape needs."""
    k = work.components + 2
    width = k * (k + 1) // 2
    long, nodes = max(work.rows, work.cols), work.rows + work.cols
    slots = min(work.entries // SEGMENT + 1, work.entries) * width * (NUMBER + 8)
    # Sums, those less the bias, precisions of the side at hand; with ties their inverses and
    # factors; a variational state has the blocks of both sides, twice while one is made.
    copies = 3.0 + (3.0 if work.nodes else 0.0)
    held = 0.0 if work.kind == "sampled" else 2.0 * nodes * width
    if work.kind == "column":
        held = 2.0 * nodes * k
    if work.kind in ("row", "joint"):
        copies += 3.0
    blocks = NUMBER * (copies * long * width + held)
    vectors = NUMBER * k * nodes * 10.0 + work.nodes * (16.0 + 2.0 * NUMBER * k)
    pointers = 8.0 * nodes + (work.entries / SEGMENT + nodes) * 28.0
    return Need(
        float(ENTRY) * work.entries,
        min(2.0 * STREAMED, work.entries) * 8.0,
        blocks + slots + vectors + pointers + FIXED + work.moments * float(MOMENTS) * work.entries,
    )


def streams(device: str, work: Work) -> bool:
    """Whether the entries have to stay on the host; an error where even that is not enough."""
    if device == "cpu":
        return False
    free, total = torch.cuda.mem_get_info(device)
    need = estimate(work)
    if need.entries + need.rest <= SHARE * free:
        return False
    if need.streamed + need.rest <= SHARE * free:
        return True
    raise MemoryError(too_large(device, work, need, free, total))


def too_large(device: str, work: Work, need: Need, free: float, total: float) -> str:
    """What does not fit, and what to do about it."""
    out = (
        f"a {work.kind} fit of {work.rows} x {work.cols} with {work.components} components needs "
        f"about {(need.streamed + need.rest) / GIB:.1f} GiB on {device} even with its entries on "
        f"the host; {free / GIB:.1f} of {total / GIB:.1f} GiB are free: lower rank, "
    )
    if work.kind != "sampled":
        out += 'use posterior="sampled", which keeps no blocks, '
    return out + 'spread it over several GPUs with torchrun, or use device="cpu"'
