"""Random numbers of a device: the same for the same seed, on the same device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .array import DeviceArray


class DeviceRandom:
    """A stream of its own, counter-based on a GPU.

    Shapes with axes are filled on the device; a plain count, or no axis, is for the host.

    Parameters
    ----------
    seed : sequence of int
    device : torch.device
    kind : torch.dtype
    """

    def __init__(self, seed: Sequence[int], device: torch.device, kind: torch.dtype) -> None:
        parts = np.random.SeedSequence([int(part) for part in seed]).spawn(2)
        state = int(parts[0].generate_state(1, np.uint64)[0]) >> 1
        self.device, self.kind = device, kind
        self.stream = torch.Generator(device).manual_seed(state)
        self.host = np.random.default_rng(parts[1])

    def standard_normal(self, shape: Any) -> Any:
        """Standard normal numbers."""
        if not isinstance(shape, tuple) or not shape:
            return self.host.standard_normal(shape)
        return DeviceArray(self._made(torch.randn, shape))

    def random(self, shape: Any) -> Any:
        """Uniform numbers in [0, 1)."""
        if not isinstance(shape, tuple) or not shape:
            return self.host.random(shape)
        return DeviceArray(self._made(torch.rand, shape))

    def standard_gamma(self, shape: Any) -> Any:
        """Gamma numbers of rate one, one for each shape: where the shapes are."""
        if not isinstance(shape, DeviceArray):
            return self.host.standard_gamma(shape)
        return DeviceArray(torch._standard_gamma(shape.tensor, generator=self.stream))

    def _made(self, make: Any, shape: tuple[int, ...]) -> torch.Tensor:
        return make(shape, generator=self.stream, device=self.device, dtype=self.kind)
