"""More entries for a model file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..estimators import BMCG
from ..estimators.implicit import is_implicit
from ..observations import Observations
from .compiling import announced_compilation
from .features import check_features, feature_file, new_features
from .graphs import read_links
from .names import of_one_kind
from .outcome import (
    UserError,
    check_inputs,
    check_output,
    done,
    end_if_interrupted,
    options_named,
    spoken_warnings,
    wrote,
)
from .predict_work import load
from .reading import DataForm, observations_like, read_observations, typed_like
from .tables import Dialect

Pair = tuple[Path | None, Path | None]


@dataclass(frozen=True)
class BesideFiles:
    """What is known of new rows and new columns beside their entries.

    Attributes
    ----------
    edges : (Path or None, Path or None)
        Of rows and of columns.
    features : (Path or None, Path or None)
        Likewise: `PATTERN`, or a file.
    """

    edges: Pair = (None, None)
    features: Pair = (None, None)

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files among them."""
        return *self.edges, *map(feature_file, self.features)


def update_model(
    path: Path,
    data: DataForm,
    more: DataForm,
    beside: BesideFiles,
    output: Path,
    force: bool,
) -> None:
    """Go on from a model with the entries it was fitted on and more of them."""
    inputs = (data.path, more.path, *beside.files)
    check_inputs(*inputs)
    check_output(output, force, (path, *inputs))
    model = load(path)
    if not isinstance(model, BMCG):
        raise UserError(f"{path} holds a model of {type(model).__name__}, which has no update")
    for side, given in zip(("rows", "cols"), beside.features, strict=True):
        check_features(model, given, side)
    labels = model.row_labels_, model.col_labels_
    data, more = (form.counted(is_implicit(model)) for form in (data, more))
    old = observations_like(data, *labels, model.shape_)
    new = typed_like(read_observations(more.named_by(*labels)), *labels, of_one_kind)
    known = _read_beside(model, new, beside, data.dialect)
    with spoken_warnings(), announced_compilation(verbose=False), options_named():
        model.update(new, observations=old, **known)
    model.save(output)
    wrote(output)
    done(
        output,
        f"{len(model.seen_.indices)} entries, {model.shape_[0]} x {model.shape_[1]}, "
        f"rank {model.rank_}, {model.n_sweeps_} sweeps, {model.stop_reason_}",
    )
    end_if_interrupted(model)


def _read_beside(
    model: BMCG, new: Observations, beside: BesideFiles, dialect: Dialect
) -> dict[str, Any]:
    """Links and features of what is new, under the names that `BMCG.update` has for them."""
    found: dict[str, Any] = {}
    for side, edges, features in zip(("rows", "cols"), beside.edges, beside.features, strict=True):
        word = side[:3]
        if edges is not None:
            found[f"{word}_edges"] = read_links(model, edges, side, dialect)
        names = getattr(new, f"{word}_labels")
        found[f"{word}_features"] = new_features(model, features, side, names, dialect)
    return found
