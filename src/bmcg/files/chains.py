"""A place in chains as the arrays of a checkpoint, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..backends import host
from ..inference.draws import Draws, stack, unstack
from ..inference.place import ChainPlace, Origin, Record
from ..inference.sampling import Point
from ..inference.side import Strengths

MARK = "chain_numbers"
NUMBERS = ("tau", "squared_error", "density", "spread", "steps", "unsolved")


def chain_arrays(place: ChainPlace) -> dict[str, NDArray[Any]]:
    """Arrays for a checkpoint."""
    burnt = [-1 if record.burnt is None else record.burnt for record in place.records]
    arrays: dict[str, NDArray[Any]] = {
        MARK: np.array([record.number for record in place.records]),
        "chain_burnt": np.array(burnt),
        "chain_settled": np.array([record.settled for record in place.records]),
        "trace": np.asarray(place.trace),
        "steps": np.asarray(place.steps, dtype=np.int64),
    }
    arrays |= _point_arrays(place.point)
    for number, origin in enumerate(place.origins):
        arrays |= {f"origin_{number}_age": np.array([origin.age])}
        arrays |= _point_arrays(origin.point, f"origin_{number}_")
    for number, record in enumerate(place.records):
        arrays |= {f"noise_{number}": np.asarray(record.noise)}
        arrays |= {f"density_{number}": np.asarray(record.density)}
    for when, both in (("now", place.strengths), ("anchor", place.anchors)):
        for side, strengths in zip(("row", "col"), both, strict=True):
            arrays[f"{when}_{side}_graphs"] = strengths.graphs
            arrays[f"{when}_{side}_scalars"] = np.array([strengths.ridge, strengths.beta])
    if place.kept:
        draws = stack(place.kept)
        arrays |= {"kept_rows": draws.rows, "kept_cols": draws.cols, "kept_tau": draws.tau}
        arrays |= {f"kept_own_{name}": part for name, part in draws.own.items()}
    return arrays


def chain_place(arrays: Mapping[str, NDArray[Any]]) -> ChainPlace:
    """The inverse of `chain_arrays`."""
    point, origins = _point(arrays), list[Origin]()
    while (age := f"origin_{len(origins)}_age") in arrays:
        origin = _point(_named(arrays, age.removesuffix("age")))
        origins.append(Origin(origin, int(arrays[age][0])))
    records = tuple(
        Record(
            int(number),
            None if burnt < 0 else int(burnt),
            bool(settled),
            tuple(arrays[f"noise_{at}"].tolist()),
            tuple(arrays[f"density_{at}"].tolist()),
        )
        for at, (number, burnt, settled) in enumerate(
            zip(arrays[MARK], arrays["chain_burnt"], arrays["chain_settled"], strict=True)
        )
    )
    kept = []
    if "kept_tau" in arrays:
        parts = arrays["kept_rows"], arrays["kept_cols"], arrays["kept_tau"]
        kept = unstack(Draws(*parts, _named(arrays, "kept_own_")))
    return ChainPlace(
        point,
        _both(arrays, "now"),
        _both(arrays, "anchor"),
        records,
        tuple(kept),
        tuple(arrays["trace"].tolist()),
        tuple(arrays["steps"].tolist()),
        origins=tuple(origins),
    )


def _point_arrays(point: Point, prefix: str = "") -> dict[str, NDArray[Any]]:
    arrays = {
        "rows": host(point.rows),
        "cols": host(point.cols),
        "lam": point.lam,
        "biases": point.biases,
        # Numbers that no sweep of this likelihood asks for are NaN, which a file may not hold.
        "numbers": np.nan_to_num([float(getattr(point, name)) for name in NUMBERS]),
    }
    arrays |= {f"own_{name}": np.asarray(part) for name, part in point.own.items()}
    return {f"{prefix}{name}": part for name, part in arrays.items()}


def _point(arrays: Mapping[str, NDArray[Any]]) -> Point:
    found = dict(zip(NUMBERS, arrays["numbers"].tolist(), strict=True))
    counts = {name: int(found.pop(name)) for name in ("steps", "unsolved")}
    own = _named(arrays, "own_")
    return Point(
        arrays["rows"], arrays["cols"], arrays["lam"], arrays["biases"], own=own, **found, **counts
    )


def _named(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {name[len(prefix) :]: a for name, a in arrays.items() if name.startswith(prefix)}


def _both(arrays: Mapping[str, NDArray[Any]], when: str) -> tuple[Strengths, Strengths]:
    rows, cols = (
        Strengths(arrays[f"{when}_{side}_graphs"], *arrays[f"{when}_{side}_scalars"].tolist())
        for side in ("row", "col")
    )
    return rows, cols
