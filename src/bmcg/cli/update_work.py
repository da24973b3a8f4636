"""More entries for a model file."""

from __future__ import annotations

from pathlib import Path

from ..estimators import BMCG
from .compiling import announced_compilation
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


def update_model(path: Path, data: DataForm, more: DataForm, output: Path, force: bool) -> None:
    """Go on from a model with the entries it was fitted on and more of them."""
    check_inputs(data.path, more.path)
    check_output(output, force, (path, data.path, more.path))
    model = load(path)
    if not isinstance(model, BMCG):
        raise UserError(f"{path} holds a model of {type(model).__name__}, which has no update")
    labels = model.row_labels_, model.col_labels_
    old = observations_like(data, *labels, model.shape_)
    new = typed_like(read_observations(more.named_by(*labels)), *labels)
    with spoken_warnings(), announced_compilation(verbose=False):
        model.update(new, observations=old)
    model.save(output)
    wrote(output)
    done(
        output,
        f"{len(new)} entries more, {model.shape_[0]} x {model.shape_[1]}, rank {model.rank_}, "
        f"{model.n_sweeps_} sweeps, {model.stop_reason_}",
    )
    end_if_interrupted(model)
