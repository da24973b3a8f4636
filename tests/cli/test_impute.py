"""`bmcg impute`: what is not a number is named, and nothing is filled without a word."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from bmcg import load_model
from bmcg.estimators import BMCG
from bmcg.imputing.text import TextTable

from .conftest import call, refused

# What is tested is how files are read and written, and what is said; not what is learned.
pytestmark = pytest.mark.usefixtures("short_fits")

# A variational fit, which is quick: what is tested is how files are read and filled.
QUICK = ("--posterior", "variational")


def sensors(m=40, n=5, seed=0):
    rng = np.random.default_rng(seed)
    X = 20 + 5 * rng.standard_normal((m, 1)) @ rng.uniform(1, 2, (1, n))
    X += 0.1 * rng.standard_normal((m, n))
    cells = [[f"{x:.2f}" for x in row] for row in X]
    gone = rng.random((m, n)) < 0.1
    for i, j in np.argwhere(gone):
        cells[i][j] = ""
    return X, cells, gone


def write(path, cells, delimiter=","):
    titles = ["id", *(f"s{j}" for j in range(len(cells[0])))]
    rows = [titles, *([f"r{i}", *row] for i, row in enumerate(cells))]
    path.write_text("\n".join(delimiter.join(row) for row in rows) + "\n")
    return path


def numbers(path, delimiter=","):
    table = TextTable.read(path, delimiter)
    return np.array([[float(x) for x in table.texts(j)] for j in range(1, len(table.names))]).T


def test_a_word_in_a_column_of_numbers_is_named_not_dropped(tmp_path):
    X, cells, gone = sensors()
    cells[7][2] = "err"
    path = write(tmp_path / "in.csv", cells)
    message = refused("impute", path, "--row", "id", "-o", tmp_path / "out.csv")
    for words in ("'s2'", "line 9", "'err'", "--missing", "--skip"):
        assert words in message
    assert not (tmp_path / "out.csv").exists()
    ended = call(
        "impute", *QUICK, path, "--row", "id", "--missing", "ERR", "-o", tmp_path / "out.csv"
    )
    assert ended.code == 0, ended.err
    gone[7, 2] = True
    assert np.abs(numbers(tmp_path / "out.csv") - X)[gone].max() < 1.0
    ended = call("impute", *QUICK, path, "--row", "id", "--skip", "s2", "-o", tmp_path / "two.csv")
    assert ended.code == 0
    assert TextTable.read(tmp_path / "two.csv", ",").texts(3)[7] == "err"


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_mark_is_missing_however_the_number_is_written(tmp_path, kind):
    X, cells, gone = sensors()
    if kind == "csv":
        marked = [
            [x or ("-999.0", "-999", "-9.99e2")[i % 3] for x in c] for i, c in enumerate(cells)
        ]
        path = write(tmp_path / "in.csv", marked)
    else:
        path = tmp_path / "in.parquet"
        columns = {f"s{j}": np.where(gone, -999.0, X)[:, j] for j in range(X.shape[1])}
        parquet.write_table(pa.table(columns), path)
    out = tmp_path / f"out.{kind}"
    ended = call("impute", *QUICK, path, "--missing", "-999", "--missing", "zz", "-o", out)
    assert ended.code == 0, ended.err
    assert "--missing zz: no cell holds it" in ended.err
    assert f"{gone.sum()} of 200 values filled" in ended.out
    now = numbers(out) if kind == "csv" else np.column_stack(list(parquet.read_table(out)))
    assert np.abs(now - X)[gone].max() < 1.0


def test_csv_and_parquet_of_one_table_are_filled_alike(tmp_path):
    X, cells, _ = sensors()
    flags = ["" if i % 7 == 0 else str(bool(x > 20)) for i, x in enumerate(X[:, 0])]
    cells = [[*row, flag] for row, flag in zip(cells, flags, strict=True)]
    path = write(tmp_path / "in.csv", cells)
    columns = {"id": [f"r{i}" for i in range(len(cells))]}
    for j in range(5):
        columns[f"s{j}"] = [None if row[j] == "" else float(row[j]) for row in cells]
    columns["s5"] = [None if flag == "" else flag == "True" for flag in flags]
    parquet.write_table(pa.table(columns), tmp_path / "in.parquet")
    before = path.read_bytes()
    for kind in ("csv", "parquet"):
        args = ("--row", "id", "-o", tmp_path / f"out.{kind}", "--bands", tmp_path / f"{kind}.csv")
        ended = call("impute", *QUICK, tmp_path / f"in.{kind}", *args, "--max-sweeps", "30")
        assert ended.code == 0, ended.err
    assert (tmp_path / "csv.csv").read_text() == (tmp_path / "parquet.csv").read_text()
    written = TextTable.read(tmp_path / "out.csv", ",").texts(6)
    typed = parquet.read_table(tmp_path / "out.parquet").column("s5").to_pylist()
    assert [text == "True" for text in written] == typed
    assert set(written) == {"True", "False"}
    assert path.read_bytes() == before


@pytest.mark.parametrize("value", ["1e9", "-9999", "1e300"])
def test_a_value_far_out_is_named_and_does_not_wreck_the_fit(tmp_path, value):
    X, cells, gone = sensors()
    cells[7][2], gone[7, 2] = value, False
    path = write(tmp_path / "in.csv", cells)
    ended = call("impute", *QUICK, path, "--row", "id", "-o", tmp_path / "out.csv")
    assert ended.code == 0, ended.err
    warning = next(line for line in ended.err.splitlines() if line.startswith("warning: line 9"))
    assert "'s2'" in warning
    assert "--missing" in warning
    assert np.abs(numbers(tmp_path / "out.csv") - X)[gone].max() < 1.0
    assert TextTable.read(tmp_path / "out.csv", ",").raw(7, 3) == value.encode()


def test_heavy_tails_are_not_taken_for_mistakes():
    from bmcg.observations.outliers import far_out

    rng = np.random.default_rng(0)
    values = np.exp(1.5 * rng.standard_normal((300, 50)))
    assert not far_out(values).any()
    rain = np.zeros((300, 1))
    rain[:40, 0] = rng.exponential(5.0, 40)
    assert not far_out(rain).any()
    values[5, 3] = values[9, 3] = 1e9
    np.testing.assert_array_equal(np.argwhere(far_out(values)), [[5, 3], [9, 3]])


def test_values_too_large_to_square_end_no_command_in_a_traceback(tmp_path):
    _, cells, _ = sensors(6, 3)
    cells[2][1], cells[3][1] = "1e300", ""
    path = write(tmp_path / "in.csv", cells)
    message = refused("impute", path, "--row", "id", "--outliers", "fit", "-o", tmp_path / "o.csv")
    assert "1e+300" in message
    model = tmp_path / "model.safetensors"
    assert "1e+300" in refused("fit", path, "--wide", "--row", "id", "-o", model)
    assert not model.exists()


def test_a_table_in_another_dialect_is_read_where_named(tmp_path):
    X, cells, gone = sensors()
    european = [[x.replace(".", ",") for x in row] for row in cells]
    path = write(tmp_path / "in.csv", european, ";")
    out = tmp_path / "out.csv"
    assert "--delimiter ';'" in refused("impute", path, "--row", "id", "-o", out)
    message = refused("impute", path, "--row", "id", "-o", out, "--delimiter", ";", "--skip", "s0")
    assert "no column of numbers" in message or "--decimal" in message
    dialect = ("--delimiter", ";", "--decimal", ",")
    ended = call("impute", *QUICK, path, "--row", "id", *dialect, "-o", out)
    assert ended.code == 0, ended.err
    table = TextTable.read(out, ";")
    assert "." not in table.text.decode()
    now = np.array([[float(x.replace(",", ".")) for x in table.texts(j)] for j in range(1, 6)]).T
    assert np.abs(now - X)[gone].max() < 1.0


def test_rows_and_columns_without_values_are_named(tmp_path):
    _, cells, _ = sensors()
    cells[3] = [""] * 5
    for row in cells:
        row[4] = ""
    path = write(tmp_path / "in.csv", cells)
    ended = call("impute", *QUICK, path, "--row", "id", "-o", tmp_path / "out.csv")
    assert "1 row holds no value (r3)" in ended.err
    assert "columns without any value stay empty: s4" in ended.err
    ended = call("impute", *QUICK, path, "--row", "id", "--col-chain", "-o", tmp_path / "two.csv")
    assert "1 column holds no value (s4) and is filled from their neighbours" in ended.err


def test_columns_that_count_rows_and_ranks_at_their_cap_are_said(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 8))
    cells = [[str(i), *(f"{x:.3f}" for x in row)] for i, row in enumerate(X)]
    cells[4][3] = cells[9][6] = ""
    path = write(tmp_path / "in.csv", cells)
    ended = call("impute", *QUICK, path, "--row", "id", "--rank", "2", "-o", tmp_path / "out.csv")
    assert "column 's0' counts the rows" in ended.err
    assert "rank 2 (the most allowed" in ended.out
    ended = call("impute", *QUICK, path, "--row", "id", "--skip", "s0", "-o", tmp_path / "two.csv")
    assert "counts the rows" not in ended.err
    assert "most allowed" not in ended.out


def test_an_index_that_pandas_kept_names_the_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, _, gone = sensors()
    frame = pandas.DataFrame(np.where(gone, np.nan, X), index=1000 * np.arange(40) + 7)
    frame.columns = [f"s{j}" for j in range(5)]
    frame.to_parquet(tmp_path / "in.parquet")
    ended = call(
        "impute", tmp_path / "in.parquet", "-o", tmp_path / "out.parquet",
        "--bands", tmp_path / "bands.csv",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert f"{gone.sum()} of 200 values filled" in ended.out
    out = pandas.read_parquet(tmp_path / "out.parquet")
    assert list(out.index) == list(frame.index)
    first = (tmp_path / "bands.csv").read_text().splitlines()[1]
    assert first.startswith(f"{1000 * np.argwhere(gone)[0][0] + 7},")


@pytest.mark.parametrize(
    ("name", "option"),
    [
        ("in.csv", ("--zeros-missing",)),
        ("in.csv", ("--denoise",)),
        ("in.csv", ("--layer", "x")),
        ("in.csv", ("--unsupported", "keep")),
        ("in.parquet", ("--delimiter", ";")),
        ("in.h5ad", ("--missing", "-1")),
        ("in.h5ad", ("--floats",)),
        ("in.vcf", ("--skip", "a")),
    ],
)
def test_options_that_say_nothing_about_a_file_are_refused(tmp_path, name, option):
    (tmp_path / name).write_text("a,b\n1,\n")
    message = refused(
        "impute", tmp_path / name, *option, "-o", tmp_path / name.replace("in", "out")
    )
    assert option[0] in message


def test_a_saved_model_predicts_what_was_filled(tmp_path):
    _, cells, gone = sensors()
    path = write(tmp_path / "in.csv", cells)
    model = tmp_path / "model.safetensors"
    command = ("impute", path, "--row", "id", "-o", tmp_path / "out.csv", "--scale", "no")
    ended = call(*command, "--save-model", model, "--bands", tmp_path / "bands.csv")
    assert ended.code == 0, ended.err
    assert "5" in call("info", model).out
    i, j = np.argwhere(gone)[0]
    (tmp_path / "pairs.csv").write_text(f"row,col\nr{i},s{j}\n")
    ended = call("predict", model, tmp_path / "pairs.csv", "-o", tmp_path / "p.csv")
    assert ended.code == 0, ended.err
    asked = float((tmp_path / "p.csv").read_text().splitlines()[1].split(",")[2])
    band = (tmp_path / "bands.csv").read_text().splitlines()[1].split(",")
    assert float(band[2]) == pytest.approx(asked, rel=1e-5)
    assert isinstance(load_model(model), BMCG)


def filled_and_predicted(folder, X, gone):
    """What `impute` fills, and what the model that it saved predicts: mean, std, low and high."""
    folder.mkdir()
    cells = [
        ["" if out else repr(float(x)) for x, out in zip(*line, strict=True)]
        for line in zip(X, gone, strict=True)
    ]
    path, model = write(folder / "in.csv", cells), folder / "model.safetensors"
    command = ("impute", path, "--row", "id", "--scale", "yes", "--save-model", model)
    ended = call(*command, "-o", folder / "out.csv", "--std", folder / "std.csv")
    assert ended.code == 0, ended.err
    at = np.argwhere(gone)
    pairs = "".join(f"r{i},s{j}\n" for i, j in at)
    (folder / "pairs.csv").write_text("row,col\n" + pairs)
    asked = ("predict", model, folder / "pairs.csv", "--std", "--level", "0.9")
    ended = call(*asked, "-o", folder / "p.csv")
    assert ended.code == 0, ended.err
    table = TextTable.read(folder / "p.csv", ",")
    found = {name: np.array(table.texts(2 + k), float) for k, name in enumerate(table.names[2:])}
    table = TextTable.read(folder / "std.csv", ",")
    std = np.array([float(table.texts(1 + j)[i]) for i, j in at])
    return numbers(folder / "out.csv")[gone], std, found


def test_a_saved_model_of_scaled_columns_predicts_in_the_tables_units(tmp_path):
    X, _, gone = sensors()
    shift, units = np.array([1.0, -300.0, 0.0, 2e4, 5.0]), 10.0 ** np.arange(-2, 3)
    _, _, plain = filled_and_predicted(tmp_path / "plain", X, gone)
    filled, std, own = filled_and_predicted(tmp_path / "own", shift + units * X, gone)
    j = np.argwhere(gone)[:, 1]
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(own[name], shift[j] + units[j] * plain[name], rtol=1e-5)
    np.testing.assert_allclose(own["std"], units[j] * plain["std"], rtol=1e-4)
    np.testing.assert_allclose(filled, own["mean"], rtol=1e-4)
    np.testing.assert_allclose(std, own["std"], rtol=1e-2)
    assert "unit of its own" in call("info", tmp_path / "own" / "model.safetensors").out


def test_a_column_in_another_unit_is_filled_in_its_own(tmp_path):
    X, cells, gone = sensors(80)
    units = 10.0 ** np.arange(-2, 3)
    cells = [[x and f"{float(x) * u:.8g}" for x, u in zip(c, units, strict=True)] for c in cells]
    ended = call(
        "impute", write(tmp_path / "in.csv", cells), "--row", "id", "-o", tmp_path / "o.csv"
    )
    assert ended.code == 0, ended.err
    error = numbers(tmp_path / "o.csv") / units - X
    assert np.abs(error[gone]).max() < 1.0


def test_columns_in_one_unit_are_filled_as_without_scaling(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 8)) * np.r_[np.ones(6), 0.05, 0.02]
    X += 0.3 * rng.standard_normal(X.shape)
    cells = [["" if rng.random() < 0.1 else f"{x:.3f}" for x in row] for row in X]
    path = write(tmp_path / "in.csv", cells)
    for name in ("auto", "no"):
        call("impute", *QUICK, path, "--row", "id", "--scale", name, "-o", tmp_path / f"{name}.csv")
    assert (tmp_path / "auto.csv").read_bytes() == (tmp_path / "no.csv").read_bytes()


@pytest.mark.parametrize("form", ["zoned", "dotted"])
def test_times_may_have_zones_and_other_formats(tmp_path, form):
    rng = np.random.default_rng(0)
    wave = np.sin(np.arange(60) / 5)[:, None] + 0.02 * rng.standard_normal((60, 3))
    lines = {"plain": ["t,a,b,c"], "zoned": ["t,a,b,c"], "dotted": ["t,a,b,c"]}
    for i, row in enumerate(wave):
        cells = ",".join(
            "" if (i, j) in ((20, 0), (33, 2)) else f"{x:.4f}" for j, x in enumerate(row)
        )
        day, hour = 1 + i // 24, i % 24
        lines["plain"].append(f"2024-05-{day:02d} {hour:02d}:00,{cells}")
        zone = "+02:00" if i < 30 else "+00:00"
        shifted = i + 2 if i < 30 else i
        zoned = f"2024-05-{1 + shifted // 24:02d}T{shifted % 24:02d}:00{zone}"
        lines["zoned"].append(f"{zoned},{cells}")
        lines["dotted"].append(f"{day:02d}.05.2024 {hour:02d}:00,{cells}")
    for name, text in lines.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(text) + "\n")
    more = ("--time-format", "%d.%m.%Y %H:%M") if form == "dotted" else ()
    args = ("--time", "t", "--scale", "no", "--std")
    call(
        "impute",
        *QUICK,
        tmp_path / "plain.csv",
        *args,
        tmp_path / "s1.csv",
        "-o",
        tmp_path / "o1.csv",
    )
    out = (tmp_path / "s2.csv", "-o", tmp_path / "o2.csv")
    ended = call("impute", *QUICK, tmp_path / f"{form}.csv", *args, *out, *more)
    assert ended.code == 0, ended.err
    tables = [TextTable.read(tmp_path / name, ",") for name in ("o1.csv", "o2.csv")]
    assert [t.texts(j) for t in tables[:1] for j in (1, 2, 3)] == [
        t.texts(j) for t in tables[1:] for j in (1, 2, 3)
    ]


def test_rows_may_share_a_name_but_not_in_a_graph(tmp_path):
    _, cells, _ = sensors()
    path = write(tmp_path / "in.csv", cells)
    path.write_text(path.read_text().replace("r7,", "r8,"))
    model = tmp_path / "m.safetensors"
    command = ("impute", path, "--row", "id", "-o", tmp_path / "out.csv", "--scale", "no")
    ended = call(*command, "--save-model", model)
    assert ended.code == 0, ended.err
    assert "'r8'" in ended.err
    assert load_model(model).row_labels_ is None
    (tmp_path / "edges.csv").write_text("a,b\nr1,r2\n")
    assert "'r8'" in refused(*command, "--force", "--row-graph", tmp_path / "edges.csv")
