"""More entries for a model file."""

from __future__ import annotations

from pathlib import Path

from ..estimators import BMCG
from .compiling import announced_compilation
from .graphs import read_links
from .outcome import (
    UserError,
    check_inputs,
    check_output,
    done,
    end_if_interrupted,
    spoken_warnings,
    wrote,
)
from .predict_work import load
from .reading import DataForm, observations_like, read_observations, typed_like


def update_model(
    path: Path,
    data: DataForm,
    more: DataForm,
    edges: tuple[Path | None, Path | None],
    output: Path,
    force: bool,
) -> None:
    """Go on from a model with the entries it was fitted on and more of them."""
    inputs = (data.path, more.path, *edges)
    check_inputs(*inputs)
    check_output(output, force, (path, *inputs))
    model = load(path)
    if not isinstance(model, BMCG):
        raise UserError(f"{path} holds a model of {type(model).__name__}, which has no update")
    labels = model.row_labels_, model.col_labels_
    old = observations_like(data, *labels, model.shape_)
    new = typed_like(read_observations(more.named_by(*labels)), *labels)
    links = [
        None if file is None else read_links(model, file, side, data.dialect)
        for side, file in zip(("rows", "cols"), edges, strict=True)
    ]
    with spoken_warnings(), announced_compilation(verbose=False):
        model.update(new, observations=old, row_edges=links[0], col_edges=links[1])
    model.save(output)
    wrote(output)
    done(
        output,
        f"{len(model.seen_.indices)} entries, {model.shape_[0]} x {model.shape_[1]}, "
        f"rank {model.rank_}, {model.n_sweeps_} sweeps, {model.stop_reason_}",
    )
    end_if_interrupted(model)
