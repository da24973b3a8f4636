"""A place in a fit as the arrays of a checkpoint, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import host
from ..inference.acceleration import Momentum
from ..inference.families import Family, posterior_of
from ..inference.side import Strengths
from ..inference.snapshot import Snapshot
from ..inference.state import Factors, Gamma, State


def to_arrays(snapshot: Snapshot) -> dict[str, NDArray[Any]]:
    """Arrays for a checkpoint."""
    state = snapshot.state
    arrays: dict[str, NDArray[Any]] = {
        "trace": np.asarray(snapshot.trace),
        "ranks": np.asarray(snapshot.ranks, dtype=np.int64),
        "may_grow": np.array([snapshot.may_grow]),
        "squared_error": np.array([state.squared_error]),
        "momentum_steps": np.array([snapshot.momentum.steps], dtype=np.int64),
    }
    for name, last in (("rows", snapshot.momentum.rows), ("cols", snapshot.momentum.cols)):
        if last is not None:
            arrays[f"momentum_{name}"] = host(last)
    gammas = {"lam": state.lam, "tau": state.tau}
    if state.row_bias is not None and state.col_bias is not None:
        gammas |= {"row_bias": state.row_bias, "col_bias": state.col_bias}
    for name, gamma in gammas.items():
        arrays[name] = np.stack((gamma.shape, gamma.rate))
    arrays |= {f"own_{name}": part for name, part in state.own.items()}
    if state.at_entries is not None:
        arrays |= {"entry_mean": state.at_entries[0], "entry_variance": state.at_entries[1]}
    for name, factors, strengths in (
        ("row", state.rows, snapshot.rows),
        ("col", state.cols, snapshot.cols),
    ):
        arrays |= {
            f"{name}_mean": host(factors.mean),
            f"{name}_cov": host(factors.cov),
            f"{name}_log_det": np.array([factors.log_det]),
            f"{name}_energy": factors.energy,
            f"{name}_graphs": strengths.graphs,
            f"{name}_scalars": np.array([strengths.ridge, strengths.beta]),
        }
        if factors.draws is not None:
            arrays[f"{name}_draws"] = np.asarray(factors.draws)
    return arrays


def from_arrays(arrays: Mapping[str, NDArray[Any]], family: Family) -> Snapshot:
    """The inverse of `to_arrays`, for a fit of that family."""
    gammas = {
        name: Gamma(*(np.asarray(part) for part in arrays[name]))
        for name in ("lam", "tau", "row_bias", "col_bias")
        if name in arrays
    }
    state = State(
        rows=_factors(arrays, "row", family),
        cols=_factors(arrays, "col", family),
        squared_error=float(arrays["squared_error"][0]),
        own={name[4:]: part for name, part in arrays.items() if name.startswith("own_")},
        at_entries=(arrays["entry_mean"], arrays["entry_variance"])
        if "entry_mean" in arrays
        else None,
        local=None,
        **gammas,
    )
    return Snapshot(
        state,
        _strengths(arrays, "row"),
        _strengths(arrays, "col"),
        tuple(arrays["trace"].tolist()),
        tuple(arrays["ranks"].tolist()),
        bool(arrays["may_grow"][0]),
        Momentum(
            int(arrays["momentum_steps"][0]),
            arrays.get("momentum_rows"),
            arrays.get("momentum_cols"),
        ),
    )


def _factors(arrays: Mapping[str, NDArray[Any]], name: str, family: Family) -> Factors:
    return Factors(
        arrays[f"{name}_mean"],
        posterior_of(family).kind(arrays[f"{name}_cov"]),
        float(arrays[f"{name}_log_det"][0]),
        arrays[f"{name}_energy"],
        arrays.get(f"{name}_draws"),
    )


def _strengths(arrays: Mapping[str, NDArray[Any]], name: str) -> Strengths:
    ridge, beta = arrays[f"{name}_scalars"].tolist()
    return Strengths(arrays[f"{name}_graphs"], ridge, beta)
