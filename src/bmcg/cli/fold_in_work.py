"""Newcomers from a table, placed in a fitted model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..estimators.implicit import is_implicit
from ..observations.labels import Labels
from ..serving import ServingModel
from .exposure import read_exposure
from .features import check_features, feature_file, new_features, require_features
from .graphs import read_links
from .names import like_known
from .outcome import (
    UserError,
    check_inputs,
    check_output,
    done,
    options_named,
    say,
    spoken_warnings,
    wrote,
)
from .predict_work import load, write_whole
from .reading import DataForm, read_observations, typed_like
from .tables import Dialect, check_table_output


@dataclass(frozen=True)
class NewFiles:
    """What is known of newcomers.

    Attributes
    ----------
    side : {"rows", "cols"}
    form : DataForm or None
        Of their entries.
    edges : Path or None
    features : Path or None
        `PATTERN`, or a file.
    exposure : Path or None
    """

    side: str
    form: DataForm | None
    edges: Path | None
    features: Path | None
    exposure: Path | None = None

    @property
    def files(self) -> tuple[Path | None, ...]:
        """The files among them."""
        entries = None if self.form is None else self.form.path
        return entries, self.edges, feature_file(self.features), self.exposure


@dataclass(frozen=True)
class Made:
    """What to write: a model of the newcomers, a table of their entries, or both."""

    model: Path | None
    matrix: Path | None
    memory_limit: float
    force: bool


def fold_in_table(path: Path, new: NewFiles, made: Made, dialect: Dialect) -> None:
    """Place the newcomers of a table and write what was asked for."""
    check_inputs(*new.files)
    if made.model is None and made.matrix is None:
        raise UserError("pass -o FILE for a model of the newcomers, or --matrix FILE for a table")
    if not any(new.files):
        raise UserError("pass a table of the newcomers' entries, of their edges or their features")
    if made.model is not None:
        check_output(made.model, made.force, (path, *new.files))
    if made.matrix is not None:
        check_table_output(made.matrix, made.force, (path, *new.files), dialect)
        if made.model is not None and made.model.resolve() == made.matrix.resolve():
            raise UserError("-o and --matrix are two files: give two names")
    model = load(path)
    if not isinstance(model, ServingModel):
        raise UserError(f"{path} holds a model of {type(model).__name__}, which has no fold-in")
    newcomers = _folded(model, new, dialect)
    n = newcomers.shape_[0 if new.side == "rows" else 1]
    if made.model is not None:
        newcomers.save(made.model)
        wrote(made.model)
        done(made.model, f"{n} new {'rows' if new.side == 'rows' else 'columns'}")
    if made.matrix is not None:
        write_whole(newcomers, made.matrix, made.memory_limit, dialect)


def _folded(model: ServingModel, new: NewFiles, dialect: Dialect) -> ServingModel:
    """The model of the newcomers, from all that is known of them."""
    side, word = new.side, new.side[:3]
    check_features(model, new.features, side)
    require_features(model, new.features, side)
    known = getattr(model, f"{word}_labels_")
    entries, names = None, known
    if new.form is not None:
        form = new.form.counted(is_implicit(model))
        entries = read_observations(form.named_by(model.row_labels_, model.col_labels_))
        entries = typed_like(entries, model.row_labels_, model.col_labels_)
        names = getattr(entries, f"{word}_labels")
    links = None if new.edges is None else read_links(model, new.edges, side, dialect)
    features = new_features(model, new.features, side, names, dialect)
    options: dict[str, Any] = {f"{word}_edges": links, f"{word}_features": features, "side": side}
    options[f"{word}_exposure"] = read_exposure(new.exposure, word, names, dialect)
    with spoken_warnings(), options_named():
        newcomers = model.fold_in(entries, **options)
    _warn_of_known(getattr(newcomers, f"{word}_labels_"), known)
    return newcomers


def _warn_of_known(own: Labels | None, known: Labels | None) -> None:
    """Say how many newcomers are none."""
    if own is None or known is None:
        return
    there = (known.find(like_known(own.values, known)) >= 0).sum()
    if there:
        say(
            f"warning: {there} of {len(own)} labels were part of the fit; here they count as "
            "newcomers with what is given here alone (`bmcg update` adds entries to known ones)"
        )
