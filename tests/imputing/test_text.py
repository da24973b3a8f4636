"""Cells are found, read and replaced as people write them."""

from __future__ import annotations

import csv

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmcg.imputing import cells as cells_module
from bmcg.imputing.cells import find_cells
from bmcg.imputing.numerals import Numerals, truth_text
from bmcg.imputing.tables import Layout, TextSource
from bmcg.imputing.text import TextTable

odd = st.text(st.sampled_from('a1," \n\r;.\ufeff\x85'), max_size=6)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(odd, min_size=2, max_size=2), min_size=1, max_size=4))
def test_the_fast_way_finds_the_cells_that_the_slow_way_finds(rows):
    text = "\n".join(",".join('"' + c.replace('"', '""') + '"' for c in row) for row in rows)
    text = text.encode()
    fast = cells_module._outside_quotes(np.frombuffer(text, np.uint8), ord(","))
    slow = cells_module._by_pattern(text, ",")
    assert fast is not None
    np.testing.assert_array_equal(fast[0], slow[0])
    np.testing.assert_array_equal(fast[1], slow[1])


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from('a1," \n\r;'), max_size=30))
def test_cells_and_what_lies_between_them_make_up_the_text(text):
    raw = text.encode()
    starts, ends, counts = find_cells(raw, ",")
    assert counts.sum() == len(starts)
    assert (starts <= ends).all()
    assert (starts[1:] > ends[:-1]).all()
    edges = zip([0, *ends], [*starts, len(raw)], strict=True)
    between = b"".join(raw[end:start] for end, start in edges)
    assert not between.strip(b",\r\n")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_breaks_and_a_byte_order_mark_change_nothing(tmp_path, end, mark):
    path = tmp_path / "in.csv"
    path.write_text(mark + end.join(["a,b", '"1",2', "", "3,"]) + end, newline="", encoding="utf-8")
    table = TextTable.read(path, ",")
    assert table.names == ["a", "b"]
    assert table.texts(0) == ["1", "3"]
    assert table.line(1) == 4
    table.write(tmp_path / "out.csv", {(1, 1): "4"})
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes().replace(b"3,", b"3,4")


number = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**6), 10**6).map(str),
    st.sampled_from([" 1.5 ", '"2"', "+3", "1e5", ".5", "5.", "", "NA", '"nan"', "-999.0", "err"]),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(number, min_size=1, max_size=8))
def test_columns_read_at_once_are_those_read_cell_by_cell(texts):
    fast = Numerals(("-999", "err")).read(pa.array(texts, pa.large_string()))
    contents = [text.strip().strip('"') for text in texts]
    slow = Numerals(("-999", "err")).read_slowly(contents)
    if fast is not None:
        np.testing.assert_array_equal(fast.values, slow.values)
        assert fast.kind == slow.kind
        assert not slow.strays


def test_a_mark_that_is_a_number_is_compared_as_one():
    numerals = Numerals(("-999", "off"))
    column = numerals.read(pa.array(["-999.0", "-999", "1", "Off", "-9.99e2"], pa.large_string()))
    np.testing.assert_array_equal(column.values, [np.nan, np.nan, 1.0, np.nan, np.nan])
    assert column.kind == "whole"
    assert numerals.used == {"-999", "off"}


def test_truths_count_as_one_and_zero_and_keep_their_capitals(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("a,b\nTRUE,1.5\nFALSE,2.5\nTRUE,\n,0.5\n")
    source = TextSource.open(path, ",", Layout())
    np.testing.assert_array_equal(source.values[:, 0], [1, 0, 1, np.nan])
    assert truth_text(0.7, source.read[0].sample) == "TRUE"
    assert truth_text(0.2, "True") == "False"


def test_decimal_commas_are_read_where_asked_for(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("a;b\n1,5;2\n-0,25;NA\n")
    source = TextSource.open(path, ";", Layout(), Numerals(decimal=","))
    np.testing.assert_array_equal(source.values, [[1.5, 2], [-0.25, np.nan]])
    assert Numerals(decimal=",").number("1.234,5") is None


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfea\x00,\x00", "UTF-16"),
        (b"a;b;c\n1;2;3\n", "--delimiter ';'"),
        (b"a\tb\n1\t2\n", "--delimiter tab"),
        (b'a,b\n"x\ny",1\n3\n', "line 4 has 1 cells"),
    ],
)
def test_texts_of_another_kind_are_named(tmp_path, content, words):
    path = tmp_path / "in.csv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=words):
        TextTable.read(path, ",")


def test_bytes_that_are_not_utf_8_pass_through(tmp_path):
    path = tmp_path / "in.csv"
    path.write_bytes(b"name,a\nM\xfcller,1\nMaier,\n")
    table = TextTable.read(path, ",")
    table.write(tmp_path / "out.csv", {(1, 1): "2"})
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()[:-1] + b"2\n"


def test_titles_and_cells_may_hold_delimiters_and_breaks(tmp_path):
    path = tmp_path / "in.csv"
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([["a,1", 'b"2'], ["x\ny", 'z"'], ["", "1"]])
    table = TextTable.read(path, ",")
    assert table.names == ["a,1", 'b"2']
    assert table.texts(1) == ['z"', "1"]
