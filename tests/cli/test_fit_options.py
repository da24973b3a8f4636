"""What `bmcg fit` takes reaches the model, and means what it means elsewhere."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple, get_args

import numpy as np
import pytest
from typer.models import OptionInfo

from bmcg import BMCG, load_model
from bmcg.cli import graphs, reading
from bmcg.cli.app import app
from bmcg.graphs import chain_graph, time_graph

from .conftest import DENSE, FIT, call, lines_of_ratings, refused

SPELLED = {"random_state": "seed", "n_jobs": "jobs", "missing": "implicit"}


class Option(NamedTuple):
    names: tuple[str, ...]
    kind: Any
    default: Any


def commands():
    """Options of every command by the names of its arguments, from its signature."""
    found = {}
    for command in app.registered_commands:
        options = {}
        for name, given in inspect.signature(command.callback, eval_str=True).parameters.items():
            kind, info = get_args(given.annotation)
            if isinstance(info, OptionInfo):
                names = [decl.split("/")[0] for decl in info.param_decls or ()]
                options[name] = Option(
                    tuple(names) or (f"--{name.replace('_', '-')}",), kind, given.default
                )
        found[command.name or command.callback.__name__] = options
    return found


def test_every_parameter_of_the_estimator_is_an_option_with_its_default():
    found = commands()["fit"]
    for name, default in BMCG().get_params().items():
        option = found[SPELLED.get(name, name)]
        if name == "random_state":
            assert option.default == 0  # a command gives the same model twice
        elif name == "missing":
            assert (found["implicit"].default, default) == (False, "unknown")
        elif name == "value_range":
            assert (option.default, default) == (None, "auto")  # an option has no words for it
        else:
            assert option.default == default, name


@pytest.mark.parametrize("name", ["posterior", "engine", "storage"])
def test_choices_are_those_of_the_estimator(name):
    allowed = inspect.signature(BMCG, eval_str=True).parameters[name].annotation
    flat = {
        choice
        for part in get_args(allowed)
        for choice in (get_args(part) or (part,))
        if isinstance(choice, str)
    }
    assert {choice.value for choice in commands()["fit"][name].kind} == flat


def test_one_name_has_one_meaning_in_all_commands():
    """Options that two commands share take the same kind of value, except where it is said."""
    apart = {
        ("recommend", "--row"),  # the old name of --for
        ("impute", "--std"),  # a file, from before predict had a flag
        ("bench", "--jobs"),  # cells at a time
    }
    kinds: dict[str, dict[str, set[str]]] = {}
    for command, options in commands().items():
        for option in options.values():
            for name in option.names:
                if name.startswith("--") and (command, name) not in apart:
                    parts = get_args(option.kind) or (option.kind,)
                    kind = {part.__name__ for part in parts if part is not type(None)}
                    kinds.setdefault(name, {})[command] = kind
    unlike = {
        name: found
        for name, found in kinds.items()
        if any(kind != next(iter(found.values())) for kind in found.values())
    }
    assert not unlike


def test_bias_and_learning_can_be_switched(ratings, tmp_path):
    (tmp_path / "g.csv").write_text("a,b\n1,2\n2,3\n")
    command = ("fit", ratings, *FIT, *DENSE, "--row-graph", tmp_path / "g.csv")
    assert call(*command, "--bias", "yes", "--learn-graphs", "no", "-o", tmp_path / "a").code == 0
    assert call(*command, "--bias", "no", "--learn-graphs", "yes", "-o", tmp_path / "b").code == 0
    a, b = load_model(tmp_path / "a"), load_model(tmp_path / "b")
    assert (a.biased_, b.biased_) == (True, False)
    assert a.graph_weights_["rows"]["graph"].strength == 1.0
    assert b.graph_weights_["rows"]["graph"].strength != 1.0


def test_a_range_is_given_or_observed(ratings, tmp_path):
    command = ("fit", ratings, *FIT, "-o", tmp_path / "m")
    assert "give one of them" in refused(*command, "--value-range", -9, 9, "--keep-range")
    assert call(*command, "--value-range", -9, 9).code == 0
    assert list(load_model(tmp_path / "m").value_range) == [-9, 9]


def test_features_are_joined_by_label_whatever_their_order(ratings, tmp_path):
    """Items of the table in falling order, with one that nobody rated among them."""
    items = [f"i{j:02d}" for j in range(8)]
    kind = {item: j % 2 for j, item in enumerate(items)}
    first = ["item,kind", *(f"{item},{'ab'[kind[item]]}" for item in items)]
    last = [first[0], "i99,a", *first[:0:-1]]
    for name, lines in (("first", first), ("last", last)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n")
        features = ("--col-features", tmp_path / f"{name}.csv")
        ended = call("fit", ratings, *FIT, *features, "-o", tmp_path / name)
        assert ended.code == 0, ended.err
        assert "col features: 8 lines joined by column 'item'" in ended.err
    np.testing.assert_array_equal(
        load_model(tmp_path / "first").col_factors_, load_model(tmp_path / "last").col_factors_
    )


def test_features_that_miss_a_label_are_refused_by_name(ratings, tmp_path):
    (tmp_path / "f.csv").write_text("item,year\ni00,1990\n")
    message = refused(
        "fit", ratings, *FIT, "--col-features", tmp_path / "f.csv", "-o", tmp_path / "m"
    )
    assert "i01" in message


def test_pattern_is_a_value_of_either_side(ratings, tmp_path):
    assert call("fit", ratings, *FIT, "--row-features", "pattern", "-o", tmp_path / "m").code == 0
    model = load_model(tmp_path / "m")
    assert "features" in model.graph_weights_["rows"]
    assert "features" not in model.graph_weights_["cols"]


HOURS = ("2024-03-31T00:30+01:00", "2024-03-31T03:30+02:00", "2024-03-31T04:30+02:00")


def timed(path, hours, names=("hour", "sensor", "x")):
    rng = np.random.default_rng(0)
    lines = [
        f"{hour},{sensor},{h + s + 0.1 * rng.standard_normal():.3f}"
        for h, hour in enumerate(hours)
        for s, sensor in enumerate("cab")
    ]
    path.write_text("\n".join([",".join(names), *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("hours", "form"),
    [
        (HOURS, None),
        (("31.03.2024 00:30", "31.03.2024 02:30", "31.03.2024 03:30"), "%d.%m.%Y %H:%M"),
        (("0.5", "2.5", "3.5"), None),
    ],
    ids=["zones", "format", "numbers"],
)
def test_labels_that_are_times_make_a_time_graph(tmp_path, hours, form):
    """One and the same three moments, an hour and two apart, however they are written."""
    data = timed(tmp_path / "d.csv", hours)
    command = ("fit", data, "--row", "hour", "--col", "sensor", "--value", "x", "--time", "hour")
    more = () if form is None else ("--time-format", form)
    ended = call(*command, *more, *DENSE, "--learn-graphs", "no", "-o", tmp_path / "m")
    assert ended.code == 0, ended.err
    L = load_model(tmp_path / "m").fitted_.rows.precision
    expected = time_graph(np.array([0.0, 2.0, 3.0]))
    found = {(min(a, b), max(a, b)): w for a, b, w in zip(L.heads, L.tails, L.weights, strict=True)}
    for (a, b), weight in found.items():
        assert weight == pytest.approx(expected[a, b])
    assert len(found) == 3


def test_times_that_cannot_be_compared_are_refused(tmp_path):
    data = timed(tmp_path / "d.csv", ("2024-03-31T00:30Z", "2024-03-31T01:30", "later"))
    command = (
        "fit",
        data,
        "--row",
        "hour",
        "--col",
        "sensor",
        "--value",
        "x",
        "-o",
        tmp_path / "m",
    )
    assert "'later'" in refused(*command, "--time", "hour")
    data = timed(data, ("2024-03-31T00:30Z", "2024-03-31T01:30"))
    assert "has a zone" in refused(*command, "--time", "hour")
    assert "--row or --col" in refused(*command, "--time", "x")
    assert "needs --time" in refused(*command, "--time-format", "%H")


def test_a_wide_table_takes_its_times_from_one_column(tmp_path):
    (tmp_path / "d.csv").write_text("hour,a,b\n2024-01-01 03:00,1,2\n2024-01-01 01:00,2,\n")
    command = ("fit", tmp_path / "d.csv", "--wide", "--time", "hour", "--learn-graphs", "no")
    assert call(*command, "-o", tmp_path / "m").code == 0
    assert load_model(tmp_path / "m").fitted_.rows.precision.has_edges


def test_a_chain_needs_an_order(ratings, tmp_path):
    command = ("fit", ratings, *FIT, *DENSE, "-o", tmp_path / "m")
    assert "alphabet" in refused(*command, "--col-chain")
    assert call(*command, "--row-chain", "--learn-graphs", "no").code == 0
    L = load_model(tmp_path / "m").fitted_.rows.precision
    np.testing.assert_allclose(L.weights.sum(), chain_graph(12).sum() / 2)


def test_several_graphs_of_a_side_get_weights_of_their_own(ratings, tmp_path):
    (tmp_path / "g.csv").write_text("a,b\n1,12\n2,3\n")
    graphs_given = ("--row-graph", tmp_path / "g.csv", "--row-chain")
    assert call("fit", ratings, *FIT, *DENSE, *graphs_given, "-o", tmp_path / "m").code == 0
    assert {"graph", "chain"} <= set(load_model(tmp_path / "m").graph_weights_["rows"])
    command = ("fit", ratings, *FIT, "-o", tmp_path / "m", "--force")
    assert call(*command, "--col-graph", "auto").code == 0
    assert "pattern" in load_model(tmp_path / "m").graph_weights_["cols"]


def test_adding_nodes_reads_every_file_once(ratings, tmp_path, monkeypatch):
    (tmp_path / "g.csv").write_text("a,b\n1,2\n12,99\n")
    read = []

    def counted(whole):
        def read_table(path, *more, **options):
            read.append(path)
            return whole(path, *more, **options)

        return read_table

    for module in (reading, graphs):
        monkeypatch.setattr(module, "read_table", counted(module.read_table))
    graph = ("--row-graph", tmp_path / "g.csv", "--unknown-nodes", "add")
    assert call("fit", ratings, *FIT, *DENSE, *graph, "-o", tmp_path / "m").code == 0
    assert sorted(read) == sorted([ratings, tmp_path / "g.csv"])
    assert load_model(tmp_path / "m").row_labels_.values.tolist() == [*range(1, 13), 99]


def test_items_that_only_features_know_are_added(tmp_path):
    data = tmp_path / "d.csv"
    data.write_text("\n".join(["user,item,rating", *lines_of_ratings()]) + "\n")
    known = [f"i{j:02d},{j % 2}" for j in range(8)]
    (tmp_path / "f.csv").write_text("\n".join(["item,kind", "new,1", *known]) + "\n")
    features = ("--col-features", tmp_path / "f.csv", "--unknown-nodes", "add")
    assert call("fit", data, *FIT, *features, "-o", tmp_path / "m").code == 0
    assert load_model(tmp_path / "m").col_labels_.values[-1] == "new"
