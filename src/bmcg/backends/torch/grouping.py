"""The counting sort of `observations` on a device, for data that is on its way there anyway."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from .array import to_device, to_host


class DeviceGrouping:
    """`observations.grouping.group`, by a stable sort on a device.

    Parameters
    ----------
    device : str
    """

    def __init__(self, device: str) -> None:
        self.device = torch.device(device)

    def __call__(self, major: Any, minor: Any, values: Any, n: int) -> Any:
        """Triples grouped by `major`, in their order within a group; None where it is too much."""
        try:
            groups = to_device(major, self.device)
            counts = torch.bincount(groups, minlength=n)
            order = torch.sort(groups, stable=True).indices
            del groups
            indptr = np.zeros(n + 1, dtype=np.int64)
            np.cumsum(to_host(counts), out=indptr[1:])
            members = to_host(to_device(minor, self.device)[order])
            return indptr, members, to_host(to_device(values, self.device)[order])
        except torch.cuda.OutOfMemoryError:
            return None
