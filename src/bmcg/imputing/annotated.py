"""AnnData: layers with missing values filled, or every value denoised, beside what was there."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from ..base import MEMORY_LIMIT
from ..estimators.scaling import Scale
from ..files.storage import write_atomically
from ..observations.checking import check_places
from .denoising import denoise
from .matrix import Filled, fill
from .wide import write_wide

Array = NDArray[np.float64]
Missing = Literal["nan", "zero"]

# Standard deviations of a sparse layer are sparse where they are fewer than this share.
SPARSE = 0.3
# Characters of what AnnData says of a broken file, which may be pages.
MESSAGE = 300


@dataclass(frozen=True)
class AnnDataSource:
    """An .h5ad file; see `Source`. Rows are observations, columns variables."""

    data: Any
    layer: str | None
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
        try:
            data = anndata.read_h5ad(path)
        # What a broken file raises depends on where it is broken, and on versions.
        except Exception as error:
            said = f"{type(error).__name__}: {error}"[:MESSAGE]
            raise ValueError(
                f"{path} is no complete AnnData file ({said}); write it again with "
                "AnnData.write_h5ad"
            ) from None
        try:
            values = layer_values(data, layer, missing)
            _check_free(data, key)
        except (KeyError, ValueError, MemoryError) as error:
            raise type(error)(f"{path}: {error.args[0]}") from None
        names = [
            np.array(index.astype(str), dtype=object) for index in (data.obs_names, data.var_names)
        ]
        return cls(data, layer, key, values, names[0], names[1])

    def graph(self, axis: str, key: str) -> sp.csr_array:
        """A graph that the file holds, by its key in ``obsp`` or ``varp``."""
        return sp.csr_array(stored_graph(self.data, key, axis))

    def write(self, path: Path, filled: Filled) -> None:
        """Write the file again with two layers more."""
        add_layers(self.data, self.layer, self.key, self.values, filled)
        write_atomically(path, self.data.write_h5ad)

    def write_denoised(self, path: Path, denoised: Array) -> None:
        """Write the file again with one layer more."""
        self.data.layers[self.key] = denoised.astype(_kind(stored(self.data, self.layer)))
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
    scale: Scale = "auto",
    **parameters: Any,
) -> Any:
    """Fill the missing values of an AnnData object into a new layer.

    Parameters
    ----------
    data : AnnData
        Gains ``layers[key_added]``, the filled matrix, and ``layers[key_added + "_std"]``,
        standard deviations that are zero where a value was there. Nothing else changes. Layers
        have the floating type of what was filled, float32 for whole numbers, and are sparse
        where that is and few values were missing.
    layer : str, optional
        The layer to fill; ``data.X`` by default.
    missing : {"nan", "zero"}
        Whether NaN or every zero marks a missing value. An observation or variable without any
        value is filled from its graph and, without one, with what the model expects of any.
    key_added : str
    row_graph, col_graph : str or graph, optional
        A key of ``data.obsp`` (or ``varp``), such as ``"connectivities"``, or any graph that
        `BMCG.fit` takes.
    scale : {"auto", True, False}
        Bring variables to one scale for the fit, as `fill` says.
    **parameters
        Of `BMCG`.

    Returns
    -------
    BMCG or None
        The fitted model; None where nothing was missing.
    """
    values = layer_values(data, layer, missing)
    graphs = _graphs(data, row_graph, col_graph)
    filled, model = fill(values, *graphs, scale=scale, **parameters)
    add_layers(data, layer, key_added, values, filled)
    return model


def denoise_anndata(
    data: Any,
    layer: str | None = None,
    *,
    key_added: str = "bmcg",
    row_graph: Any = None,
    col_graph: Any = None,
    scale: Scale = "auto",
    **parameters: Any,
) -> Any:
    """Write every value of an AnnData object, denoised, into a new layer.

    Parameters
    ----------
    data : AnnData
        Gains ``layers[key_added]``: posterior means; of counts log(1 + x), x being the count of
        an observation of median size. Nothing else changes.
    layer : str, optional
        The layer to denoise; ``data.X`` by default.
    key_added, row_graph, col_graph, scale, **parameters
        As in `impute_anndata`.

    Returns
    -------
    BMCG
        The fitted model.
    """
    values = layer_values(data, layer, "nan")
    graphs = _graphs(data, row_graph, col_graph)
    denoised, model = denoise(values, *graphs, scale=scale, **parameters)
    data.layers[key_added] = denoised.astype(_kind(stored(data, layer)))
    return model


def stored(data: Any, layer: str | None) -> Any:
    """A layer as it is stored."""
    if layer is not None and layer not in data.layers:
        # Of newer versions, X is the layer None.
        known = ", ".join(name for name in data.layers if name is not None) or "none"
        raise KeyError(f"layer={layer!r}: there is no such layer; layers are: {known}")
    found = data.X if layer is None else data.layers[layer]
    if found is None:
        raise ValueError("the AnnData object has no X; name a layer")
    return found


def layer_values(data: Any, layer: str | None, missing: Missing) -> Array:
    """A layer as a dense matrix with NaN where it is missing, shape (n_obs, n_vars)."""
    if missing not in ("nan", "zero"):
        raise ValueError(f'missing={missing!r}: pass "nan" or "zero"')
    found = stored(data, layer)
    need = 8 * int(np.prod(found.shape))
    if need > MEMORY_LIMIT:
        raise MemoryError(
            f"the filled layer of shape {found.shape} needs {need / 2**30:.3g} GiB, over the "
            f"limit of {MEMORY_LIMIT / 2**30:.3g} GiB: select variables first"
        )
    kind = getattr(getattr(found, "dtype", None), "kind", "O")
    if kind not in "fiub" or len(found.shape) != 2:
        raise ValueError(
            f"{'X' if layer is None else f'layer {layer!r}'} is no matrix of real numbers; name "
            "a layer that is"
        )
    if sp.issparse(found):
        check_places(found, "X" if layer is None else f"layer {layer!r}")
    values = np.array(found.toarray() if sp.issparse(found) else found, dtype=np.float64)
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


def add_layers(data: Any, layer: str | None, key: str, values: Array, filled: Filled) -> None:
    """Put the filled matrix and its standard deviations into the layers."""
    found = stored(data, layer)
    kind = _kind(found)
    if sp.issparse(found) and len(filled) <= np.isnan(found.data).sum():
        data.layers[key] = _filled_in_place(found.astype(kind), filled)
    else:
        data.layers[key] = filled.matrix(values, filled.mean).astype(kind)
    places = (filled.rows, filled.cols)
    std = sp.csr_matrix((filled.std.astype(kind), places), shape=filled.shape)
    few = sp.issparse(found) and len(filled) < SPARSE * values.size
    data.layers[f"{key}_std"] = std if few else std.toarray()


def _filled_in_place(matrix: Any, filled: Filled) -> Any:
    """A copy of a compressed matrix in which stored NaN are filled."""
    matrix = matrix.copy()
    missing = np.isnan(matrix.data)
    coo = matrix.tocoo()
    at = coo.row[missing].astype(np.int64) * filled.shape[1] + coo.col[missing]
    # The entries are in row order, so that their places ascend.
    known = filled.rows * filled.shape[1] + filled.cols
    matrix.data[missing] = filled.mean[np.searchsorted(known, at)]
    return matrix


def _graphs(data: Any, row_graph: Any, col_graph: Any) -> list[Any]:
    return [stored_graph(data, row_graph, "obsp"), stored_graph(data, col_graph, "varp")]


def _kind(matrix: Any) -> Any:
    """The floating type that a layer made from a matrix has."""
    return matrix.dtype if matrix.dtype.kind == "f" else np.dtype(np.float32)


def _check_free(data: Any, key: str) -> None:
    for name in (key, f"{key}_std"):
        if name in data.layers:
            raise ValueError(
                f"there is a layer {name!r} already, and it would be replaced: pass --layer-out "
                "with another name"
            )
