"""AnnData: a layer with its missing values filled, beside everything that was there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..base import MEMORY_LIMIT
from ..files.storage import write_atomically
from .matrix import Filled, fill
from .wide import write_wide

Array = NDArray[np.float64]
Missing = Literal["nan", "zero"]


@dataclass(frozen=True)
class AnnDataSource:
    """An .h5ad file; see `Source`. Rows are observations, columns variables."""

    data: Any
    key: str
    values: Array
    row_names: NDArray[Any] | None
    col_names: NDArray[Any] | None
    notes: list[str] = field(default_factory=list)
    row_groups: NDArray[Any] | None = None
    standardize: bool | None = None

    @classmethod
    def open(cls, path: Path, layer: str | None, missing: Missing, key: str) -> AnnDataSource:
        """Read a file."""
        try:
            import anndata
        except ImportError:
            raise ImportError(f"{path} needs anndata: pip install 'bmcg[anndata]'") from None
        data = anndata.read_h5ad(path)
        values = layer_values(data, layer, missing)
        names = [
            np.array(index.astype(str), dtype=object) for index in (data.obs_names, data.var_names)
        ]
        return cls(data, key, values, names[0], names[1])

    def write(self, path: Path, filled: Filled) -> None:
        """Write the file again with two layers more."""
        add_layers(self.data, self.key, self.values, filled)
        write_atomically(path, self.data.write_h5ad)

    def write_std(self, path: Path, filled: Filled) -> None:
        """Write a table of observations and variables."""
        write_wide(path, filled, self.row_names, self.col_names)


def impute_anndata(
    data: Any,
    layer: str | None = None,
    *,
    missing: Missing = "nan",
    key_added: str = "bmcg",
    row_graph: Any = None,
    col_graph: Any = None,
    standardize: bool | None = None,
    **parameters: Any,
) -> Any:
    """Fill the missing values of an AnnData object into a new layer.

    Parameters
    ----------
    data : AnnData
        Gains ``layers[key_added]``, the filled matrix, and ``layers[key_added + "_std"]``,
        standard deviations that are zero where a value was there. Nothing else changes.
    layer : str, optional
        The layer to fill; ``data.X`` by default.
    missing : {"nan", "zero"}
        Whether NaN or every zero marks a missing value.
    key_added : str
    row_graph, col_graph : str or graph, optional
        A key of ``data.obsp`` (or ``varp``), such as ``"connectivities"``, or any graph that
        `BMCG.fit` takes.
    standardize : bool, optional
        Bring variables to one scale for the fit, as `fill` says.
    **parameters
        Of `BMCG`.

    Returns
    -------
    BMCG or None
        The fitted model; None where nothing was missing.
    """
    values = layer_values(data, layer, missing)
    graphs = [
        stored_graph(data, graph, axis)
        for graph, axis in ((row_graph, "obsp"), (col_graph, "varp"))
    ]
    filled, model = fill(values, *graphs, standardize=standardize, **parameters)
    add_layers(data, key_added, values, filled)
    return model


def layer_values(data: Any, layer: str | None, missing: Missing) -> Array:
    """A layer as a dense matrix with NaN where it is missing, shape (n_obs, n_vars)."""
    if missing not in ("nan", "zero"):
        raise ValueError(f'missing={missing!r}: pass "nan" or "zero"')
    if layer is not None and layer not in data.layers:
        known = ", ".join(data.layers) or "none"
        raise KeyError(f"layer={layer!r}: there is no such layer; layers are: {known}")
    stored = data.X if layer is None else data.layers[layer]
    if stored is None:
        raise ValueError("the AnnData object has no X; name a layer")
    need = 8 * int(np.prod(stored.shape))
    if need > MEMORY_LIMIT:
        raise MemoryError(
            f"the filled layer of shape {stored.shape} needs {need / 2**30:.3g} GiB, over the "
            f"limit of {MEMORY_LIMIT / 2**30:.3g} GiB: select variables first"
        )
    values = np.array(stored.toarray() if sp.issparse(stored) else stored, dtype=np.float64)
    if missing == "zero":
        values[values == 0] = np.nan
    return values


def stored_graph(data: Any, graph: Any, axis: str) -> Any:
    """A graph by its key in ``obsp`` or ``varp``; anything else is returned as it is."""
    if not isinstance(graph, str):
        return graph
    pairs = getattr(data, axis)
    if graph not in pairs:
        known = ", ".join(pairs) or "none"
        raise KeyError(f"{graph!r} is not in {axis}; its keys are: {known}")
    return sp.csr_array(pairs[graph])


def add_layers(data: Any, key: str, values: Array, filled: Filled) -> None:
    """Put the filled matrix and its standard deviations into the layers."""
    data.layers[key] = filled.matrix(values, filled.mean)
    data.layers[f"{key}_std"] = filled.matrix(np.zeros(values.shape), filled.std)
