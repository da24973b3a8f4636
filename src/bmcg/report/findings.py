"""What a report says of a model, found out before any of it is laid out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..estimators import BMCG
from ..estimators.equal import ADVICE as EQUAL
from ..graphs.precision import Precision
from ..likelihoods.predictive import Predictive
from ..metrics import coverage, mae, rmse
from .held_out import Entries, held_out

LEVEL = 0.9
# Intervals that hold this much less, or more, than they promise are worth a warning.
SLACK = 0.05
# Entries from which the typical uncertainty is taken.
SAMPLE = 5_000
# A graph that determines less of the prior than this is not used.
UNUSED = 0.01


class Number(NamedTuple):
    """A number a person asks for, with what it means."""

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class Findings:
    """All that a report says in words and numbers.

    Attributes
    ----------
    numbers : tuple of Number
        The most wanted first.
    warnings : tuple of str
    graphs : tuple of str
        What the graphs contributed, a sentence each.
    facts : tuple of (str, str)
        Data and settings.
    test : Entries or None
        The held-out entries that numbers and warnings speak of.
    """

    numbers: tuple[Number, ...]
    warnings: tuple[str, ...]
    graphs: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    test: Entries | None = None


def find(model: BMCG, test: Entries | None = None, without: BMCG | None = None) -> Findings:
    """What there is to say of a model.

    Parameters
    ----------
    model : BMCG
    test : Entries, optional
        Held-out entries: how well and how sure the model is, measured. Those that it was fitted
        on are left out, and named.
    without : BMCG, optional
        The same data fitted without graphs.
    """
    fitted: tuple[str, ...] = ()
    if test is not None:
        test, fitted = held_out(model, test)
    numbers = _scores(model, test) if test is not None else (_explained(model),)
    numbers = (*numbers, _uncertainty(model), _rank(model), _noise(model), _ended(model))
    warned = (
        *((f"All values are equal: {EQUAL}.",) if model.fitted_.ignorance else ()),
        *fitted,
        *_several_units(model),
        *_unfinished(model),
        *_capped(model),
        *_cold(model, 0),
        *_cold(model, 1),
        *_unused(model),
        *(_outside(model, test) if test is not None else ()),
        *(_miscalibrated(model, test) if test is not None else ()),
        *(_needless(model, test, without) if test is not None and without is not None else ()),
    )
    said = (*_graph_sentences(model), *_comparison(model, test, without))
    return Findings(numbers, warned, said, _facts(model, test), test)


def _scores(model: BMCG, test: Entries) -> tuple[Number, ...]:
    predictive = model.predictive(test.rows, test.cols)
    mean, (low, high) = predictive.mean, predictive.interval(LEVEL)
    spread = float(np.std(test.values))
    score = predictive.log_density(test.values)
    worth = f"of the held-out entries; log score {score.mean():+.3f} nats an entry"
    if isinstance(predictive, Predictive):
        # To beat: the same centres with the best deviation for all, found on these entries.
        one = replace(predictive, spread=np.full(len(mean), rmse(test.values, predictive.centre)))
        gain = float((score - one.log_density(test.values)).mean())
        better = "better" if gain > 0 else "no better"
        worth = (
            f"of the held-out entries; own standard deviations are {better} than one for all "
            f"({gain:+.3f} nats an entry)"
        )
    return (
        Number(
            "held-out error",
            f"{rmse(test.values, mean):.4g}",
            f"root mean square over {len(test.values):,} entries; mean absolute "
            f"{mae(test.values, mean):.4g}; {spread:.4g} if their mean were predicted",
        ),
        Number(
            f"{100 * LEVEL:.0f} % intervals hold",
            f"{100 * coverage(test.values, low, high):.1f} %",
            worth,
        ),
    )


def _explained(model: BMCG) -> Number:
    equal = bool(model.fitted_.ignorance)
    if np.isnan(model.noise_std_):
        score = "held-out entries would tell how well it predicts (--test)"
        return Number("bound", f"{model.elbo_trace_[-1]:.5g}", f"nats; {score}")
    share = 0.0 if equal else 1.0 - (model.noise_std_ / model.fitted_.scale) ** 2
    return Number(
        "explained",
        f"{100 * share:.1f} %",
        "of the mean square of the observed entries; held-out entries would tell how well it "
        "predicts (--test)",
    )


def _uncertainty(model: BMCG) -> Number:
    m, n = model.shape_
    rng = np.random.default_rng(0)
    i, j = rng.integers(m, size=SAMPLE), rng.integers(n, size=SAMPLE)
    own = np.sqrt(model.fitted_.variance(i, j, False))
    new = np.sqrt(model.fitted_.variance(i, j, True))
    units = model.fitted_.units
    if units is not None:
        own, new = own / units.scale[j], new / units.scale[j]
    return Number(
        "typical uncertainty",
        f"± {np.median(new):.3g}",
        f"standard deviation of a new observation; of the entry itself {np.median(own):.3g} "
        f"(nine in ten below {np.percentile(own, 90):.3g})",
    )


def _rank(model: BMCG) -> Number:
    dropped = int(model.rank_trace_.max()) - model.rank_
    biases = ", beside offsets of rows and columns" if model.biased_ else ""
    return Number(
        "rank", str(model.rank_), f"components found, {dropped} tried and dropped{biases}"
    )


def _noise(model: BMCG) -> Number:
    if np.isnan(model.noise_std_):
        fitted = model.fitted_
        return Number("values", model.likelihood_, fitted.likelihood.words(fitted.noise, 1.0))
    return Number(
        "noise", f"{model.noise_std_:.4g}", "standard deviation that no prediction can undercut"
    )


def _several_units(model: BMCG) -> tuple[str, ...]:
    if model.fitted_.units is None:
        return ()
    return (
        "Columns have units of their own: noise and typical uncertainty are those of the scaled "
        "columns, and errors over all entries are ruled by the columns of large numbers.",
    )


def _ended(model: BMCG) -> Number:
    word = {"max_sweeps": "not converged"}.get(model.stop_reason_, model.stop_reason_)
    return Number("fit", word, f"after {model.n_sweeps_} sweeps, bound {model.elbo_trace_[-1]:.6g}")


def _unfinished(model: BMCG) -> tuple[str, ...]:
    if model.converged_:
        return ()
    how = {"interrupted": "was interrupted", "stopped": "was stopped by a callback"}.get(
        model.stop_reason_, "stopped at its most sweeps"
    )
    return (
        f"The fit {how} before the bound settled: predictions are usable, a longer fit may "
        "improve them and narrow the intervals.",
    )


def _capped(model: BMCG) -> tuple[str, ...]:
    if model.rank_ < min(model.rank, *model.shape_) or model.rank_ == min(model.shape_):
        return ()
    return (f"All {model.rank_} components that were allowed are in use: raise rank.",)


def _cold(model: BMCG, axis: int) -> tuple[str, ...]:
    """Rows, or columns, without any observation; those without edges too are the worst."""
    m, n = model.shape_
    seen = model.seen_
    counts = np.diff(seen.indptr) if axis == 0 else np.bincount(seen.indices, minlength=n)
    cold = counts == 0
    if not cold.any():
        return ()
    word = ("rows", "columns")[axis]
    L: Precision = (model.fitted_.rows, model.fitted_.cols)[axis].precision
    linked = np.zeros((m, n)[axis], dtype=bool)
    linked[L.heads] = linked[L.tails] = True
    alone = int((cold & ~linked).sum())
    rest = (
        f" {alone} of them have no edge either: they get what the model expects of any."
        if alone
        else " The graph alone speaks for them."
    )
    return (f"{int(cold.sum())} of {(m, n)[axis]} {word} have no observation.{rest}",)


def _unused(model: BMCG) -> tuple[str, ...]:
    return tuple(
        f"The {'row' if side == 'rows' else 'column'} graph {name!r} is as good as not used: less "
        f"than {100 * UNUSED:g} % of the prior comes from it."
        for side, weights in model.graph_weights_.items()
        for name, weight in weights.items()
        if name not in ("ridge", "features") and weight.share < UNUSED
    )


def _outside(model: BMCG, test: Entries) -> tuple[str, ...]:
    found = model.predictive(test.rows, test.cols)
    if not isinstance(found, Predictive):
        return ()
    low, high = found.limits
    beyond = int(((test.values < low) | (test.values > high)).sum())
    if beyond == 0:
        return ()
    one = model.fitted_.units is None
    ends = f", {low:g} to {high:g}," if one else " of their columns"
    return (
        f"{beyond} held-out entries lie outside the range of values{ends} that the model was "
        "given: no prediction reaches them.",
    )


def _miscalibrated(model: BMCG, test: Entries) -> tuple[str, ...]:
    low, high = model.predict_interval(test.rows, test.cols, LEVEL)
    reached = coverage(test.values, low, high)
    if abs(reached - LEVEL) <= SLACK:
        return ()
    word = "narrow" if reached < LEVEL else "wide"
    return (
        f"Intervals are too {word}: those of {100 * LEVEL:.0f} % hold {100 * reached:.1f} % of "
        "the held-out entries.",
    )


def _needless(model: BMCG, test: Entries, without: BMCG) -> tuple[str, ...]:
    """Held-out errors judge; the bound also charges for the level that a ridge leaves free."""
    squares = [
        (np.asarray(test.values) - fitted.predict(test.rows, test.cols)) ** 2
        for fitted in (model, without)
    ]
    worse = squares[0] - squares[1]
    # Chance makes one of the two a little better: only what stands out of it counts.
    chance = 2.0 * float(worse.std()) / np.sqrt(len(worse))
    if worse.mean() <= chance:
        return ()
    return (
        f"The graphs do not help on the held-out entries: the error is {_error(model, test):.4g} "
        f"with them and {_error(without, test):.4g} without, more than chance explains.",
    )


def _graph_sentences(model: BMCG) -> tuple[str, ...]:
    out = []
    for side, word in (("rows", "Rows"), ("cols", "Columns")):
        weights = model.graph_weights_[side]
        named = [w.sentence for name, w in weights.items() if name != "ridge"]
        L = (model.fitted_.rows if side == "rows" else model.fitted_.cols).precision
        if not named:
            out.append(f"{word}: no graph.")
            continue
        size = f"{len(L.heads):,} edges, {2 * len(L.heads) / L.n:.3g} neighbours a node"
        out.append(f"{word}: {size}; {'; '.join(named)}.")
    return tuple(out)


def _comparison(model: BMCG, test: Entries | None, without: BMCG | None) -> tuple[str, ...]:
    if without is None:
        return ()
    gain = model.elbo_trace_[-1] - without.elbo_trace_[-1]
    said = [
        f"Fitted without the graphs, the evidence bound is {abs(gain):,.0f} nats "
        f"{'lower' if gain > 0 else 'higher'}, the rank is {without.rank_} and the noise "
        f"{without.noise_std_:.4g}."
    ]
    if test is None:
        said.append("Held-out entries (--test) would tell which of the two predicts better.")
    else:
        said.append(
            f"The held-out error is {_error(model, test):.4g} with the graphs and "
            f"{_error(without, test):.4g} without."
        )
    return tuple(said)


def _error(model: BMCG, test: Entries) -> float:
    return rmse(test.values, model.predict(test.rows, test.cols))


def _facts(model: BMCG, test: Entries | None) -> tuple[tuple[str, str], ...]:
    from .. import __version__

    m, n = model.shape_
    observed = int(model.seen_.indptr[-1])
    facts = [
        (
            "matrix",
            f"{m:,} × {n:,}, {observed:,} entries observed ({100 * observed / m / n:.3g} %)",
        ),
        ("held out", "none given" if test is None else f"{len(test.values):,} entries"),
        ("posterior", model.posterior_),
        ("variances by", f"{model.engines_[0]} (rows), {model.engines_[1]} (columns)"),
        ("the model holds", model.selection_.holds),
        *(("asked", verdict.sentence) for verdict in model.selection_.verdicts),
        *(() if model.diagnostics_ is None else (("chains", model.diagnostics_.sentence),)),
    ]
    settings = ", ".join(
        f"{name}={value!r}"
        for name, value in model.get_params().items()
        if name not in ("checkpoint", "resume")
    )
    return (*facts, ("settings", f"BMCG({settings})"), ("version", f"bmcg {__version__}"))
