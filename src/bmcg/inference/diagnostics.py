"""How far a chain can be believed: effective sample sizes, split-R̂, and when it has settled."""

from __future__ import annotations

from math import isnan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# split-R̂ of noise and density below which chains are taken to agree.
R_HAT = 1.1
# Two parts of a stretch agree when their means differ by less than this many standard errors.
AGREE = 2.0
# Sweeps whose thirds can be compared.
LEAST = 12


class Diagnostics(NamedTuple):
    """What the chains say of themselves.

    Attributes
    ----------
    burn_in : tuple of int
        Sweeps left out of each chain.
    settled : bool
        Whether every burn-in ended because the chain had settled.
    noise_size, density_size : float
        Effective sample sizes of the noise and of the log density.
    noise_r_hat, density_r_hat : float
    strengths_drawn : bool
        Whether strengths were drawn with the rest; else they stayed where the burn-in left them.
    drift : float
        The larger split-R̂ of each chain by itself, noise and density, less what a few draws
        differ by that are correlated: whether it still travels.
    """

    burn_in: tuple[int, ...]
    settled: bool
    noise_size: float
    density_size: float
    noise_r_hat: float
    density_r_hat: float
    strengths_drawn: bool
    drift: float = float("nan")

    @classmethod
    def from_plain(cls, parts: Any) -> Diagnostics:
        """From lists, as a model file has them."""
        return cls(tuple(parts[0]), *parts[1:])

    @property
    def sentence(self) -> str:
        """How far the chains can be believed, in words."""
        start = "the chains settled" if self.settled else "the chains had not settled"
        words = (
            f"{start} after {max(self.burn_in)} sweeps; of the noise they hold "
            f"{self.noise_size:.0f} independent draws (split-R̂ {self.noise_r_hat:.3f}), of the "
            f"density {self.density_size:.0f} ({self.density_r_hat:.3f})"
        )
        if not self.agree:
            return f"{words}: usable, but more sweeps would make it surer"
        if max(self.noise_r_hat, self.density_r_hat) < R_HAT:
            return words
        return f"{words}: each found an explanation of its own, and predictions are their average"

    @property
    def agree(self) -> bool:
        """Whether the chains had settled and each tells the same from its first half to its last.

        Chains that tell different things from each other are no reason for more sweeps: what they
        differ by is part of the deviations.
        """
        travelled = max(self.noise_r_hat, self.density_r_hat) if isnan(self.drift) else self.drift
        return self.settled and travelled < R_HAT


def effective_size(chains: Array) -> float:
    """Independent draws that are worth as much as all of these, chains (c, n).

    Geyer's initial monotone sequence on the autocorrelations of all chains together.
    """
    chains = np.atleast_2d(np.asarray(chains, dtype=np.float64))
    c, n = chains.shape
    if n < 4:
        return float(c * n)
    centred = chains - chains.mean(axis=1, keepdims=True)
    padded = np.fft.rfft(centred, 2 * n, axis=1)
    covariance = np.fft.irfft(padded * padded.conj(), axis=1)[:, :n].mean(axis=0) / n
    within = covariance[0] * n / (n - 1)
    total = within * (n - 1) / n + (chains.mean(axis=1).var(ddof=1) if c > 1 else 0.0)
    if total <= 0:
        return float(c * n)
    rho = 1.0 - (within - covariance * n / (n - 1)) / total
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    pairs = pairs[: int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)]
    time = -1.0 + 2.0 * float(np.minimum.accumulate(pairs).sum())
    return float(c * n / max(time, 1.0 / np.log10(max(c * n, 10))))


def split_r_hat(chains: Array) -> float:
    """Spread between halves of chains over that within them; near one where they agree."""
    chains = np.atleast_2d(np.asarray(chains, dtype=np.float64))
    half = chains.shape[1] // 2
    if half < 2:
        return float("nan")
    parts = np.concatenate((chains[:, :half], chains[:, -half:]))
    within = float(parts.var(axis=1, ddof=1).mean())
    between = float(parts.mean(axis=1).var(ddof=1))
    return float(np.sqrt((half - 1) / half + between / within)) if within > 0 else 1.0


def own_r_hat(chains: Array) -> float:
    """Split-R̂ of chains that may have levels of their own: whether their halves agree.

    Means of halves that are worth few independent draws differ by chance; that is taken off.
    """
    chains = np.atleast_2d(np.asarray(chains, dtype=np.float64))
    half = chains.shape[1] // 2
    found = split_r_hat(chains - chains.mean(axis=1, keepdims=True))
    if half < 2:
        return found
    halves = np.concatenate((chains[:, :half], chains[:, -half:]))
    chance = np.mean([1.0 / effective_size(part) for part in halves])
    level = (half - 1) / half
    return float(np.sqrt(level + max(0.0, found**2 - level - chance)))


def has_settled(trace: Array) -> bool:
    """Whether the second half of a trace has one level: its first third against its last.

    Of a short trace it is all of the last sweeps that can be told by. Standard errors count what is
    correlated once.
    """
    late = np.asarray(trace, dtype=np.float64)
    late = late[min(len(late) // 2, max(len(late) - LEAST, 0)) :]
    third = len(late) // 3
    if third < 4:
        return False
    parts = late[:third], late[-third:]
    errors = [part.var(ddof=1) / effective_size(part) for part in parts]
    return abs(parts[0].mean() - parts[1].mean()) <= AGREE * float(np.sqrt(sum(errors)))
