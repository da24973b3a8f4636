"""Tables come back as they were, but for the cells that were missing."""

from __future__ import annotations

import csv
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmcg.imputing.matrix import fill
from bmcg.imputing.text import TextTable, number_text

from ..cli.conftest import FILL, call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")


def planted(m=40, n=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, 1)) @ rng.uniform(1, 2, (1, n)) + 0.02 * rng.standard_normal((m, n))
    return X, rng.random((m, n)) < 0.15


def write(path, lines, end="\n"):
    path.write_text(end.join(lines) + end, newline="")
    return path


def csv_lines(X, gone, mark="", quote=False):
    titles = [f"c{j}" for j in range(X.shape[1])]
    lines = ["id,note," + ",".join(titles)]
    for i, row in enumerate(X):
        cells = [mark if gone[i, j] else f"{x:.5f}" for j, x in enumerate(row)]
        note = '"a, ""b"""' if quote else "plain"
        lines.append(",".join([f"r{i}", note, *cells]))
    return lines


def without(table, gone):
    """The bytes of a table but for cells that were missing."""
    pieces, here = [], 0
    for i, j in np.argwhere(gone):
        pieces.append(table.text[here : table.starts[i, 2 + j]])
        here = table.ends[i, 2 + j]
    return b"".join([*pieces, table.text[here:]])


cell = st.text(st.characters(exclude_characters="\n\r", codec="utf-8"), max_size=8)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4).flatmap(
        lambda n: st.lists(st.lists(cell, min_size=n + 1, max_size=n + 1), min_size=2, max_size=5)
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.booleans(),
)
def test_text_passes_through_character_by_character(tmp_path_factory, rows, end, last):
    path = tmp_path_factory.mktemp("text") / "t.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator=end)
        # A line of empty cells alone would be a blank line.
        writer.writerows([["x", *row] for row in rows])
    if not last:
        path.write_bytes(path.read_bytes().removesuffix(end.encode()))
    table = TextTable.read(path, ",")
    for j in range(len(rows[0])):
        assert table.texts(j + 1) == [row[j].strip() for row in rows[1:]]
    table.write(path.with_suffix(".out"), {})
    assert path.with_suffix(".out").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(("mark", "quote", "end"), [("", False, "\n"), ("NA", True, "\r\n")])
def test_only_missing_cells_of_a_csv_file_change(tmp_path, mark, quote, end):
    X, gone = planted()
    path = write(tmp_path / "in.csv", csv_lines(X, gone, mark, quote), end)
    ended = call("impute", path, "-o", tmp_path / "out.csv", "--std", tmp_path / "std.csv", *FILL)
    assert ended.code == 0, ended.err
    was, now, std = (TextTable.read(tmp_path / f"{name}.csv", ",") for name in ("in", "out", "std"))
    for i in range(len(X)):
        assert [was.raw(i, j) for j in (0, 1)] == [now.raw(i, j) for j in (0, 1)]
        for j in range(X.shape[1]):
            if gone[i, j]:
                assert abs(float(now.raw(i, 2 + j)) - X[i, j]) < 0.3
                assert 0.005 < float(std.raw(i, 2 + j)) < 0.3
            else:
                assert was.raw(i, 2 + j) == now.raw(i, 2 + j)
                assert std.raw(i, 2 + j) == b""
    # All that lies between the cells is as it was, the breaks of lines included.
    assert without(was, gone) == without(now, gone)
    assert "note" in ended.err


def test_whole_numbers_stay_whole_unless_asked_otherwise(tmp_path):
    X, gone = planted()
    X = np.round(10 * X)
    lines = ["a,b,c,d,e,f"]
    for i, row in enumerate(X):
        lines.append(",".join("" if gone[i, j] else str(int(x)) for j, x in enumerate(row)))
    path = write(tmp_path / "in.csv", lines)
    call("impute", path, "-o", tmp_path / "whole.csv", *FILL)
    call("impute", path, "-o", tmp_path / "floats.csv", "--floats", *FILL)
    whole = (tmp_path / "whole.csv").read_text()
    assert "." not in whole
    assert "." in (tmp_path / "floats.csv").read_text()


def test_parquet_keeps_types_order_and_metadata(tmp_path):
    X, gone = planted(60, 5)
    kinds = [pa.float32(), pa.float64(), pa.int16(), pa.bool_(), pa.decimal128(8, 3)]
    columns = []
    for j, kind in enumerate(kinds):
        x = [None if gone[i, j] else float(v) for i, v in enumerate(X[:, j])]
        if pa.types.is_integer(kind):
            x = [None if v is None else round(10 * v) for v in x]
        if pa.types.is_boolean(kind):
            x = [None if v is None else v > 0 for v in x]
        if pa.types.is_decimal(kind):
            x = [None if v is None else decimal.Decimal(f"{v:.3f}") for v in x]
        columns.append(pa.array(x, type=kind))
    fields = [pa.field(f"c{j}", kind, metadata={"unit": "m"}) for j, kind in enumerate(kinds)]
    schema = pa.schema([pa.field("name", pa.string()), *fields], metadata={"made": "here"})
    table = pa.table([pa.array([f"r{i}" for i in range(60)]), *columns], schema=schema)
    parquet.write_table(table, tmp_path / "in.parquet")
    ended = call("impute", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet", *FILL)
    assert ended.code == 0, ended.err
    out = parquet.read_table(tmp_path / "out.parquet")
    assert out.schema.equals(table.schema, check_metadata=True)
    for j in range(6):
        was, now = table.column(j).to_pylist(), out.column(j).to_pylist()
        assert None not in now
        assert [n for w, n in zip(was, now, strict=True) if w is not None] == [
            w for w in was if w is not None
        ]


def test_a_sensor_graph_and_time_fill_an_outage_with_bands(tmp_path):
    rng = np.random.default_rng(0)
    hours = np.arange(200)
    wave = np.sin(hours / 10)
    X = np.column_stack([wave + 0.1 * k + 0.02 * rng.standard_normal(200) for k in range(4)])
    gone = rng.random(X.shape) < 0.05
    gone[80:120, 1] = True
    lines = ["hour,s0,s1,s2,s3"]
    for i in hours:
        cells = ["" if gone[i, j] else f"{X[i, j]:.4f}" for j in range(4)]
        lines.append(",".join([f"2024-05-{1 + i // 24:02d} {i % 24:02d}:00", *cells]))
    path = write(tmp_path / "in.csv", lines)
    edges = write(tmp_path / "edges.csv", ["a,b", "s0,s1", "s1,s2", "s2,s3"])
    ended = call(
        "impute", path, "--time", "hour", "--col-graph", edges,
        "-o", tmp_path / "out.csv", "--bands", tmp_path / "bands.csv",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    with open(tmp_path / "bands.csv") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == gone.sum()
    where = {f"2024-05-{1 + i // 24:02d} {i % 24:02d}:00": i for i in hours}
    inside = [
        float(line["low"]) <= X[where[line["row"]], int(line["column"][1])] <= float(line["high"])
        for line in lines
    ]
    assert np.mean(inside) > 0.75
    outage = [abs(float(x["mean"]) - X[where[x["row"]], 1]) for x in lines if x["column"] == "s1"]
    assert np.mean(outage) < 0.15


def test_standardizing_serves_columns_in_different_units():
    X, gone = planted(80, 6)
    units = 10.0 ** np.arange(-3, 3)
    values = np.where(gone, np.nan, 5 + X) * units
    filled, _ = fill(values, random_state=0, n_jobs=1, posterior="column")
    error = (filled.mean - ((5 + X) * units)[gone]) / units[filled.cols]
    assert np.sqrt(np.mean(error**2)) < 0.1
    assert np.mean(np.abs(error) < 3 * filled.std / units[filled.cols]) > 0.95


def test_nothing_missing_is_a_copy(tmp_path):
    path = write(tmp_path / "in.csv", ["a,b", "1.50,2", "3,4"])
    assert call("impute", path, "-o", tmp_path / "out.csv").code == 0
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    ("lines", "more", "words"),
    [
        ([], (), "is empty"),
        (["a,b"], (), "no line of values"),
        (["a,b", "1"], (), "line 2 has 1 cells"),
        (["a,b", "x,y"], (), "no column of numbers"),
        (["a,a", "1,2"], (), "more than one column 'a'"),
        (["a,b", "1,"], ("--row", "zz"), "no column 'zz'"),
        (["a,b", ",", ","], ("--col-chain",), "every value is missing"),
        (["t,a,b", "soon,1,", "late,,2"], ("--time", "t"), "numbers or dates"),
        (["t,a,b", "1,1,", ",,2"], ("--time", "t"), "time of row 2 is empty"),
        (["a,b", "1,"], ("--level", "1"), "probability"),
        (["a,b", "1,"], ("--row-chain", "--row-graph", "IN"), "give one"),
    ],
)
def test_bad_tables_are_refused_with_a_way_out(tmp_path, lines, more, words):
    path = tmp_path / "in.csv"
    path.write_text("\n".join(lines))
    more = [path if word == "IN" else word for word in more]
    assert words in refused("impute", path, "-o", tmp_path / "out.csv", *more)
    assert not (tmp_path / "out.csv").exists()


def test_unknown_nodes_are_named_and_may_be_ignored(tmp_path):
    X, gone = planted()
    path = write(tmp_path / "in.csv", csv_lines(X, gone))
    edges = write(tmp_path / "edges.csv", ["a,b", "c0,c1", "c1,nowhere"])
    command = ("impute", path, "-o", tmp_path / "out.csv", "--col-graph", edges)
    message = refused(*command)
    assert "'nowhere'" in message
    assert "--unknown-nodes ignore" in message
    assert call(*command, "--ignore-unknown", *FILL).code == 0


def test_inputs_and_earlier_outputs_are_not_replaced(tmp_path):
    X, gone = planted()
    path = write(tmp_path / "in.csv", csv_lines(X, gone))
    out = write(tmp_path / "out.csv", ["precious"])
    assert "one of the inputs" in refused("impute", path, "-o", path, "--force")
    assert "--force" in refused("impute", path, "-o", out)
    assert "same kind" in refused("impute", path, "-o", tmp_path / "out.parquet")
    assert out.read_text() == "precious\n"


@pytest.mark.parametrize(
    ("value", "std", "whole", "text"),
    [(1.23456, 0.5, False, "1.235"), (1234.5678, 30.0, False, "1234.6"), (2.6, 1.0, True, "3")],
)
def test_digits_follow_the_standard_deviation(value, std, whole, text):
    assert number_text(value, std, whole) == text
