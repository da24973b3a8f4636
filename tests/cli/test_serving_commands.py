"""A model file at work: strangers, newcomers, more entries, lists, held-out entries."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from bmcg import Observations, load_model
from bmcg.serving.anyone import Anyone

from .conftest import DENSE, FIT, call, lines_of_ratings, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

VALUE = ("--value", "rating")


@pytest.fixture
def table(tmp_path):
    """Write a table of lines."""

    def write(name, *lines):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return tmp_path / name

    return write


def test_strangers_are_refused_left_out_or_predicted(fitted, tmp_path, table):
    pairs = table("p.csv", "user,item,n", "1,i00,a", "77,i00,b", "1,i99,c", "77,i99,d")
    out = tmp_path / "o.csv"
    command = ("predict", fitted, pairs, "--std", "-o", out)
    assert "77" in refused(*command)
    ended = call(*command, "--unknown", "skip")
    assert "3 of 4 entries" in ended.err
    assert pl.read_csv(out)["n"].to_list() == ["a"]
    assert call(*command, "--unknown", "prior", "--force").code == 0
    found = pl.read_csv(out)
    assert found["n"].to_list() == list("abcd")
    model = load_model(fitted)
    known = model.predict([1], ["i00"], return_std=True)
    np.testing.assert_allclose(found.row(0)[3:], np.ravel(known))
    assert (found["std"][1:] > found["std"][0]).all()


def test_what_is_expected_of_any_row_is_a_row_without_entries(fitted):
    model = load_model(fitted)
    items = model.col_labels_.values
    empty = model.fold_in(row_edges=np.zeros((1, model.shape_[0])))
    expected = empty.predict(np.zeros(8, int), items, return_std=True)
    found = Anyone(model).predict(["nobody"] * 8, items, return_std=True)
    np.testing.assert_allclose(found, expected)
    low, high = Anyone(model).predict_interval(["nobody"] * 8, items)
    assert (low < high).all()


def test_newcomers_get_a_model_and_a_table_by_label(fitted, tmp_path, table):
    """Columns are found by label: the newcomers' table has few of them, in no order."""
    new = table("new.csv", "item,user,rating", "i05,eve,1.0", "i01,eve,-0.5", "i05,bob,0.2")
    made = ("-o", tmp_path / "n", "--matrix", tmp_path / "n.csv")
    ended = call("fold-in", fitted, new, *VALUE, *made)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == f"{tmp_path / 'n'}: 2 new rows"
    model = load_model(fitted)
    entries = Observations.from_frame(pl.read_csv(new), "user", "item", "rating")
    expected = model.fold_in(entries)
    found = load_model(tmp_path / "n")
    assert found.row_labels_.values.tolist() == ["bob", "eve"]
    items = model.col_labels_.values
    for who in ("bob", "eve"):
        np.testing.assert_allclose(
            found.predict([who] * 8, items, return_std=True),
            expected.predict([who] * 8, items, return_std=True),
        )
    assert pl.read_csv(tmp_path / "n.csv")["user"].to_list() == ["bob", "eve"]
    assert call("recommend", tmp_path / "n", "--for", "eve", "-n", 3).out.count("eve") == 3


def test_newcomers_may_be_columns_or_have_links_alone(ratings, fitted, tmp_path, table):
    new = table("new.csv", "item,user,rating", "z,3,1.0", "z,1,-0.5")
    ended = call("fold-in", fitted, new, *VALUE, "--side", "cols", "--matrix", "-")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[0] == "user,z"
    (tmp_path / "g.csv").write_text("a,b\n1,2\n2,3\n")
    graph = ("--row-graph", tmp_path / "g.csv")
    assert call("fit", ratings, *FIT, *DENSE, *graph, "-o", tmp_path / "m").code == 0
    edges = table("e.csv", "who,whom", "carol,3", "carol,12")
    ended = call("fold-in", tmp_path / "m", "--row-edges", edges, "-o", tmp_path / "n")
    assert ended.code == 0, ended.err
    assert load_model(tmp_path / "n").row_labels_.values.tolist() == ["carol"]


def test_fold_in_says_what_is_missing_and_what_was_fitted(fitted, tmp_path, table):
    new = table("new.csv", "user,item,rating", "1,i00,0.5")
    assert "pass -o" in refused("fold-in", fitted, new, *VALUE)
    assert "their edges" in refused("fold-in", fitted, "-o", tmp_path / "n")
    assert "bmcg update" in call("fold-in", fitted, new, *VALUE, "-o", tmp_path / "n").err


@pytest.mark.filterwarnings("ignore:stopped at max_sweeps")
def test_update_equals_that_of_the_library_in_any_order(fitted, tmp_path, table):
    """The old table is turned upside down: entries are found by their labels."""
    head, *lines = ["user,item,rating", *lines_of_ratings()]
    old = table("old.csv", head, *reversed(lines))
    more = table("more.csv", "item,user,rating", "i07,12,0.25", "i00,1,0.75")
    command = ("update", fitted, more, "--data", old, *VALUE, "-o", tmp_path / "m")
    ended = call(*command)
    assert ended.code == 0, ended.err
    model = load_model(fitted)
    entries = [
        Observations.from_frame(pl.read_csv(path), "user", "item", "rating") for path in (old, more)
    ]
    model.update(entries[1], observations=entries[0])
    found = load_model(tmp_path / "m")
    np.testing.assert_allclose(found.row_factors_, model.row_factors_, rtol=1e-9)


def test_update_takes_new_rows_with_their_links_and_refuses_another_table(ratings, tmp_path, table):
    (tmp_path / "g.csv").write_text("a,b\n1,2\n2,3\n")
    graph = ("--row-graph", tmp_path / "g.csv", "--learn-graphs", "no")
    assert call("fit", ratings, *FIT, *DENSE, *graph, "-o", tmp_path / "m").code == 0
    more = table("more.csv", "user,item,rating", "99,i01,0.5", "99,i02,0.25")
    edges = ("--row-edges", table("e.csv", "who,whom", "99,3"))
    command = ("update", tmp_path / "m", more, *VALUE, *edges, "-o", tmp_path / "n")
    ended = call(*command, "--data", ratings)
    assert ended.code == 0, ended.err
    assert f"{len(lines_of_ratings()) + 2} entries, 13 x 8" in ended.out
    part = table("part.csv", *ratings.read_text().splitlines()[:-3])
    assert "entries" in refused(*command, "--data", part, "--force")


NEW = ("u7", "u13", "u4")


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    """Ratings and features of users whose labels are in no order, and a model without NEW."""
    folder, rng = tmp_path_factory.mktemp("described"), np.random.default_rng(0)
    kinds, ages = rng.integers(0, 3, 30), rng.integers(20, 60, 30)
    factors = rng.standard_normal((3, 2))[kinds] + np.outer((ages - 40) / 15, [0.7, -0.4])
    X = factors @ rng.standard_normal((2, 10)) + 0.05 * rng.standard_normal((30, 10))
    cells = [(u, i) for u, i in rng.permutation(np.argwhere(rng.random(X.shape) < 0.6))]
    ratings = {(f"u{u}", f"i{i}"): f"u{u},i{i},{X[u, i]:.6f}" for u, i in cells}
    # A kind of newcomers may be written like a number: the fit's were names.
    facts = {f"u{u}": f"{ages[u]},u{u},{'12x'[kinds[u]]}" for u in rng.permutation(30)}
    parts = {
        "old.csv": ["user,item,rating", *(t for k, t in ratings.items() if k[0] not in NEW)],
        "new.csv": ["user,item,rating", *(t for k, t in ratings.items() if k[0] in NEW)],
        "old-facts.csv": ["age,user,kind", *(t for u, t in facts.items() if u not in NEW)],
        "new-facts.csv": ["age,user,kind", *(facts[u] for u in NEW)],
        "facts.csv": ["age,user,kind", *reversed(facts.values())],
    }
    for name, lines in parts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    fit = ("fit", folder / "old.csv", *FIT, *DENSE, "--no-selection")
    for name, features in (("table", folder / "old-facts.csv"), ("pattern", "pattern")):
        ended = call(*fit, "--row-features", features, "-o", folder / name)
        assert ended.code == 0, ended.err
    return folder


def entries(path):
    return Observations.from_frame(pl.read_csv(path), "user", "item", "rating")


def rows_of(model, names=NEW):
    items = model.col_labels_.values
    return np.array([model.predict([who] * len(items), items) for who in names])


@pytest.mark.parametrize("facts", ["new-facts.csv", "facts.csv"])
def test_features_of_newcomers_are_joined_by_label(described, tmp_path, facts):
    """Their table is in no order, and may speak of everyone."""
    command = ("fold-in", described / "table", described / "new.csv", *VALUE)
    ended = call(*command, "--row-features", described / facts, "-o", tmp_path / "n")
    assert ended.code == 0, ended.err
    table = pl.read_csv(described / "facts.csv", schema_overrides={"kind": pl.String})
    model = load_model(described / "table")
    expected = model.fold_in(entries(described / "new.csv"), row_features=(table, "user"))
    np.testing.assert_allclose(rows_of(load_model(tmp_path / "n")), rows_of(expected))


def test_features_alone_say_who_is_new(described, tmp_path, table):
    """Kinds that are all written like numbers are kinds; an age that is not known is missing."""
    facts = table("f.csv", "kind,age,user", "2,,zoe", "1,,ann")
    command = ("fold-in", described / "table", "--row-features", facts, "-o", tmp_path / "n")
    ended = call(*command)
    assert ended.code == 0, ended.err
    found = load_model(tmp_path / "n")
    lines = pl.DataFrame({"user": ["ann", "zoe"], "kind": ["1", "2"], "age": [np.nan, np.nan]})
    expected = load_model(described / "table").fold_in(row_features=(lines, "user"))
    who = ["ann", "zoe"]
    np.testing.assert_allclose(rows_of(found, who), rows_of(expected, who))
    assert not np.allclose(*rows_of(found, who))
    known = ("--row-features", described / "new-facts.csv", "--force")
    assert "part of the fit" not in call(*command, *known).err
    everyone = ("--row-features", described / "facts.csv", "--force")
    assert "27 of 30 labels were part of the fit" in call(*command, *everyone).err


@pytest.mark.filterwarnings("ignore:stopped at max_sweeps")
@pytest.mark.parametrize("kind", ["table", "pattern"])
def test_a_model_with_features_is_updated_like_that_of_the_library(described, tmp_path, kind):
    given = () if kind == "pattern" else ("--row-features", described / "facts.csv")
    command = ("update", described / kind, described / "new.csv", "--data", described / "old.csv")
    ended = call(*command, *VALUE, *given, "-o", tmp_path / "m")
    assert ended.code == 0, ended.err
    facts = pl.read_csv(described / "facts.csv", schema_overrides={"kind": pl.String})
    extra = {} if kind == "pattern" else {"row_features": (facts, "user")}
    model = load_model(described / kind)
    model.update(
        entries(described / "new.csv"), observations=entries(described / "old.csv"), **extra
    )
    found = load_model(tmp_path / "m")
    np.testing.assert_allclose(rows_of(found), rows_of(model), rtol=1e-6)


def test_features_that_newcomers_lack_or_cannot_use_are_refused(fitted, described, tmp_path, table):
    new, out = described / "new.csv", ("-o", tmp_path / "n")
    facts = described / "facts.csv"
    update = ("--data", described / "old.csv", *VALUE, *out)
    for command in (("fold-in", *VALUE, *out), ("update", *update)):
        name, options = command[0], command[1:]
        missing = refused(name, described / "table", new, *options)
        assert "--row-features" in missing
        assert "uses features of its rows" in missing

        def message(model, *given, name=name, options=options):
            return refused(name, model, new, *options, *given)

        assert "fitted without features of its rows" in message(fitted, "--row-features", facts)
        assert "pattern" in message(described / "pattern", "--row-features", facts)
        assert "were a table" in message(described / "table", "--row-features", "pattern")
        lacking = table("f.csv", "user,kind,age", "u4,x,30", "u13,1,20")
        lost = message(described / "table", "--row-features", lacking)
        assert lost.startswith("error: --row-features, column 'user': 1 of 3 row labels missing")
        assert "'u7'" in lost
        ageless = table("f.csv", "user,kind", "u4,x", "u13,1", "u7,1")
        assert "no column 'age'" in message(described / "table", "--row-features", ageless)
    assert "--side rows takes" in refused(
        "fold-in", described / "table", new, *VALUE, *out, "--col-features", facts
    )
    call("fold-in", described / "table", new, *VALUE, *out, "--row-features", facts)
    again = ("fold-in", tmp_path / "n", new, *VALUE, "-o", tmp_path / "o", "--row-features", facts)
    assert "no longer holds the features" in refused(*again)


def test_lists_follow_rows_candidates_and_exclusions(fitted, tmp_path, table):
    out = tmp_path / "o.csv"
    rows = table("rows.csv", "name,user", "x,11", "y,3")
    chosen = table("stock.csv", "item", "i07", "i02", "i05")
    pairs = table("had.csv", "item,user", "i05,3", "i99,3")
    command = ("recommend", fitted, "--rows", rows, "-n", 8, "--include-observed", "-o", out)
    assert call(*command, "--candidates", chosen, "--exclude", pairs).code == 0
    found = pl.read_csv(out)
    assert found["user"].unique(maintain_order=True).to_list() == [11, 3]
    assert set(found.filter(pl.col("user") == 11)["item"]) == {"i02", "i05", "i07"}
    assert set(found.filter(pl.col("user") == 3)["item"]) == {"i02", "i07"}
    model = load_model(fitted)
    best = model.predict(found["user"].to_list(), found["item"].to_list())
    np.testing.assert_allclose(found["mean"].to_numpy(), best)
    alone = table("gone.csv", "item", "i02")
    assert call(*command, "--candidates", chosen, "--exclude", alone, "--force").code == 0
    assert set(pl.read_csv(out)["item"]) == {"i05", "i07"}


def test_strangers_in_lists_are_refused_or_left_out(fitted, tmp_path, table):
    rows = table("rows.csv", "user", "11", "77")
    command = ("recommend", fitted, "--rows", rows, "-o", tmp_path / "o.csv")
    assert "77" in refused(*command)
    assert "1 of 2 labels" in call(*command, "--unknown", "skip").err
    assert "one of --for" in refused("recommend", fitted)


@pytest.fixture
def plotting():
    pytest.importorskip("matplotlib")


@pytest.mark.usefixtures("plotting")
def test_entries_that_were_fitted_are_not_held_out(fitted, tmp_path, table):
    lines = lines_of_ratings()
    train = table("train.csv", "user,item,rating", *lines)
    out = tmp_path / "r.html"
    command = ("report", fitted, *VALUE, "-o", out)
    assert "held out" in refused(*command, "--test", train)
    seen = {tuple(line.split(",")[:2]) for line in lines}
    rest = [
        f"{u},i{i:02d},0.5"
        for u in range(1, 13)
        for i in range(8)
        if (str(u), f"i{i:02d}") not in seen
    ]
    mixed = table("mixed.csv", "user,item,rating", *lines[:5], *rest)
    ended = call(*command, "--test", mixed)
    assert ended.code == 0, ended.err
    assert f"5 of the {5 + len(rest)} test entries are part of" in ended.err
    first = lines[0].split(",")
    assert f"({first[0]}, {first[1]})" in out.read_text()
    both = [table("rest.csv", "user,item,rating", *rest), mixed]
    cards = []
    for test in both:
        call(*command, "--test", test, "--force")
        cards.append(out.read_text().split("held-out error", 1)[1][:60])
    assert cards[0] == cards[1]


@pytest.mark.usefixtures("plotting")
def test_a_report_reads_wide_tables_and_strangers(fitted, tmp_path, table):
    seen = {tuple(line.split(",")[:2]) for line in lines_of_ratings()}
    free = next(f"i{i:02d}" for i in range(8) if ("1", f"i{i:02d}") not in seen)
    wide = table("w.csv", f"user,new,{free}", "1,0.5,0.25", "77,,0.5")
    command = ("report", fitted, "--test", wide, "--wide", "-o", tmp_path / "r.html")
    assert "77" in refused(*command)
    assert "2 of 3 entries" in call(*command, "--unknown", "skip").err
    assert call(*command, "--unknown", "prior", "--force").code == 0
    assert "over 3 entries" in (tmp_path / "r.html").read_text()


@pytest.mark.usefixtures("plotting")
def test_a_model_with_added_nodes_is_reported_with_its_own_table(ratings, tmp_path, table):
    graph = table("g.csv", "a,b", "1,2", "12,99")
    fit = ("fit", ratings, *FIT, *DENSE, "--row-graph", graph, "--unknown-nodes", "add")
    assert call(*fit, "-o", tmp_path / "m").code == 0
    command = ("report", tmp_path / "m", *VALUE, "-o", tmp_path / "r.html")
    ended = call(*command, "--data", ratings)
    assert ended.code == 0, ended.err
    assert "Fitted without the graphs" in (tmp_path / "r.html").read_text()
    part = table("part.csv", *ratings.read_text().splitlines()[:-3])
    message = refused(*command, "--data", part, "--force")
    assert "pass the same table" in message


def test_a_name_among_numbers_is_refused_not_taken_for_a_stranger(tmp_path):
    lines = ["user,item,rating", *(f"{u},{i},{(u * i) % 5}" for u in range(1, 9) for i in range(6))]
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    (tmp_path / "pairs.csv").write_text("user,item\n1,2\nbob,2\n")
    (tmp_path / "more.csv").write_text("user,item,rating\n1,2,4\nbob,2,3\n")
    model = str(tmp_path / "model.safetensors")
    names = ["--row", "user", "--col", "item", "--value", "rating"]
    assert call("fit", tmp_path / "ratings.csv", *names, "-o", model, *DENSE).code == 0
    pairs, more, data = (tmp_path / name for name in ("pairs.csv", "more.csv", "ratings.csv"))
    for words in (
        ("predict", model, pairs, "--unknown", "prior", "-o", tmp_path / "p.csv"),
        ("update", model, more, "--data", data, *VALUE, "-o", tmp_path / "newer.safetensors"),
    ):
        assert "'bob'" in refused(*words)


def test_similar_columns_are_listed_and_written(fitted, tmp_path):
    listed = call("similar", fitted, "--for", "i03", "-n", 2)
    assert listed.code == 0, listed.err
    assert [line.split()[0] for line in listed.out.splitlines()[1:]] == ["i03", "i03"]
    ended = call("similar", fitted, "-n", 3, "-o", tmp_path / "alike.csv")
    assert ended.code == 0, ended.err
    lines = (tmp_path / "alike.csv").read_text().splitlines()
    assert lines[0].replace('"', "") == "item,similar,rank,similarity"
    assert len(lines) == 1 + 3 * 8
    assert "pass --for LABEL" in refused("similar", fitted)


def test_lists_can_be_varied_and_moved_by_popularity(fitted):
    for options in (("--diversity", 0.5), ("--popularity", -1.0)):
        ended = call("recommend", fitted, "--for", 3, "-n", 2, *options)
        assert ended.code == 0, ended.err
