"""Work that does not fit is refused before it is begun, with its need and the way out."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from bmcg import BMCG, memory
from bmcg.inference import variational
from bmcg.memory import Left, Work, needs
from bmcg.memory.needs import SMALL

from ..cli.conftest import COLUMNS, FIT, call
from ..imputing.cohorts import calls_of, haplotypes, hidden, write_vcf

WORK = Work(100_000, 5_000, 300_000, 10, "row")


@pytest.fixture
def little(monkeypatch):
    """A machine with a mebibyte, where all work is worth a look."""
    monkeypatch.setattr(needs, "left", lambda: Left(2.0**20, "a small machine"))
    monkeypatch.setattr(needs, "SMALL", 0.0)


def big(m=3000, n=2000):
    return sp.random_array((m, n), density=0.002, random_state=np.random.default_rng(0))


@pytest.mark.parametrize("kind", ["column", "row", "joint", "sampled"])
def test_more_of_anything_needs_more(kind):
    work = WORK._replace(kind=kind, draws=10 * (kind == "sampled"))
    for name in ("rows", "cols", "entries", "components", "draws", "nodes", "moments"):
        more = work._replace(**{name: 2 * getattr(work, name) + 1})
        assert memory.fit(more) > memory.fit(work), name


def test_what_is_kept_of_a_covariance_is_what_a_posterior_costs():
    column, row, joint = (memory.fit(WORK._replace(kind=k)) for k in ("column", "row", "joint"))
    assert column < row < joint
    # Two blocks of every row at the least: those of the model, and those of the next sweep.
    assert row > 2 * 8 * 105_000 * 55


def test_little_work_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(needs, "left", lambda: Left(0.0, "nothing"))
    memory.require(SMALL - 1, "it", "none")
    with pytest.raises(MemoryError, match=r"it needs about 64 MiB .* left of nothing: go"):
        memory.require(SMALL, "it", "go")


@pytest.mark.parametrize("posterior", ["column", "row", "joint", "sampled"])
@pytest.mark.usefixtures("little")
def test_a_fit_is_refused_before_its_first_sweep(posterior):
    heard = []
    model = BMCG(posterior=posterior, rank=4, selection=False, n_jobs=1, value_range=None)
    model.callbacks = [heard.append]
    words = rf"a {posterior} fit of 3000 x 2000 with 5 components needs about .* lower rank"
    with pytest.raises(MemoryError, match=words):
        model.fit(big())
    assert not heard
    assert not hasattr(model, "fitted_")


def test_a_fit_that_grows_is_told_before_it_does(monkeypatch):
    monkeypatch.setattr(needs, "SMALL", 0.0)
    told = []

    def once(need, what, advice):
        told.append(what)
        if len(told) > 1:
            raise MemoryError(what)

    monkeypatch.setattr(memory, "require", once)
    monkeypatch.setattr(variational, "PLATEAU", np.inf)
    monkeypatch.setattr(variational, "surplus", lambda state, *rest: np.zeros(state.rank, bool))
    X = np.random.default_rng(0).standard_normal((60, 50))
    with pytest.raises(MemoryError, match="with 33 components"):
        BMCG(posterior="row", selection=False, bias=True, n_jobs=1).fit(X @ X.T @ X)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_update_is_refused_and_the_model_stays(monkeypatch):
    X = big(300, 200)
    model = BMCG(posterior="row", rank=2, selection=False, n_jobs=1, max_sweeps=3).fit(X)
    before = model.complete()
    monkeypatch.setattr(needs, "SMALL", 0.0)
    monkeypatch.setattr(needs, "left", lambda: Left(1e3, "nearly nothing"))
    more = sp.csr_array((np.ones(3), ([0, 1, 304], [0, 1, 2])), shape=(305, 200))
    with pytest.raises(MemoryError, match="a row fit of 305 x 200"):
        model.update(more)
    monkeypatch.setattr(needs, "SMALL", SMALL)
    np.testing.assert_array_equal(model.complete(), before)


@pytest.mark.usefixtures("little")
def test_the_command_ends_with_one_line_and_leaves_nothing(tmp_path, fitted_file):
    data, model, wide = fitted_file
    H = haplotypes(m=150, n=60)
    calls = write_vcf(tmp_path / "in.vcf", calls_of(H, hidden((150, 60))))
    made = tmp_path / "made"
    made.mkdir()
    for command, words in (
        (("fit", data, *FIT, "-o", made / "m"), "reading"),
        (("predict", model, data, "-o", made / "p.csv"), "reading"),
        (("complete", model, "-o", made / "c.csv"), "reading"),
        (("recommend", model, "--all", "-o", made / "r.csv"), "reading"),
        (("report", model, "-o", made / "r.html"), "reading"),
        (("update", model, data, "--data", data, "--value", "rating", "-o", made / "u"), "reading"),
        (("impute", wide, "-o", made / "w.csv"), "filling"),
        (("similar", model, "-o", made / "s.csv"), "reading"),
        (("fold-in", model, data, *COLUMNS, "--matrix", made / "f.csv"), "reading"),
        (("evaluate", data, *COLUMNS, "-o", made / "e.csv"), "reading"),
        (("impute", calls, "-o", made / "g.vcf", "--linkage", "yes"), "copying"),
    ):
        ended = call(*command)
        assert ended.code == 1, ended.out
        (line,) = ended.err.strip().splitlines()
        assert line.startswith(f"error: {words} ")
        assert "needs about" in line
        assert "a small machine" in line
        assert not list(made.iterdir())


@pytest.fixture
def fitted_file(tmp_path, monkeypatch):
    """A table, a model of it, and a wide table; each needs more than a mebibyte."""
    monkeypatch.setattr(needs, "SMALL", SMALL)
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, 900, 20_000), rng.integers(0, 90, 20_000)
    lines = sorted({f"{a},c{b},{(a * b) % 7}" for a, b in zip(i, j, strict=True)})
    seen = {}
    for line in lines:
        seen.setdefault(line.rpartition(",")[0], line)
    data = tmp_path / "long.csv"
    data.write_text("\n".join(["user,item,rating", *seen.values()]) + "\n")
    model = tmp_path / "model.safetensors"
    given = ("--posterior", "row", "--rank", 16, "--no-selection", "--max-sweeps", 2)
    columns = ("--row", "user", "--col", "item", "--value", "rating")
    assert call("fit", data, *columns, *given, "-o", model).code == 0
    wide = tmp_path / "wide.csv"
    cells = rng.standard_normal((900, 30)).round(3).astype(str)
    cells[::7, ::5] = ""
    titles = ",".join(f"c{k}" for k in range(30))
    wide.write_text("\n".join([titles, *map(",".join, cells)]) + "\n")
    monkeypatch.setattr(needs, "SMALL", 0.0)
    return data, model, wide
