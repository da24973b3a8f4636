"""Several processes fit what one does: on the CPU, through gloo, started by hand."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from bmcg import Observations, load_model

from . import distributed_worker as worker

pytest.importorskip("torch", reason="several processes need PyTorch: the extra bmcg[gpu]")

from bmcg.backends.distributed.backend import balanced

HERE = Path(__file__).parent


def start(command, size, folder):
    """Processes that know of each other."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    common = os.environ | {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(size),
        "OMP_NUM_THREADS": "1",
    }
    return [
        subprocess.Popen(
            [sys.executable, *command],
            env=common | {"RANK": str(rank), "LOCAL_RANK": str(rank)},
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]


@pytest.fixture(scope="module", params=[2])
def seen(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    running = start([str(HERE / "distributed_worker.py")], request.param, folder)
    ended = [process.communicate(timeout=600) for process in running]
    assert [process.returncode for process in running] == [0] * request.param, ended
    return [json.loads(out.splitlines()[-1]) for out, _ in ended]


@pytest.fixture(scope="module")
def alone():
    i, j, x = worker.triples()
    return Observations.from_triples(i, j, x, shape=(worker.M, worker.N))


@pytest.mark.parametrize("name", worker.FITS)
def test_the_bound_after_each_sweep_is_that_of_one_process(seen, alone, name):
    model = worker.fit(alone, name)
    for told in seen:
        np.testing.assert_allclose(told["traces"][name], model.elbo_trace_, rtol=1e-6)
        np.testing.assert_allclose(
            told["predicted"][name], model.predict([0, 5], [1, 2]), rtol=1e-4
        )


def test_all_processes_end_with_the_same_numbers(seen):
    assert seen[0]["traces"] == seen[1]["traces"]
    assert seen[0]["predicted"] == seen[1]["predicted"]


def test_memory_of_the_entries_is_shared_out(seen, alone):
    whole = sum(view.indices.nbytes + view.values.nbytes for view in (alone.by_row, alone.by_col))
    assert sum(told["bytes"] for told in seen) == whole
    for told in seen:
        assert told["bytes"] < 1.2 * whole / len(seen)


def test_observations_say_of_themselves_what_they_say_in_one_process(seen, alone):
    x = alone.values
    for told in seen:
        assert told["entries"] == len(alone)
        assert told["fingerprint"] == alone.fingerprint()
        np.testing.assert_allclose(told["values"], [x.min(), x.max(), x.mean()])
        for got, want in zip(told["some"], alone.of_rows(np.array([3, 50])), strict=True):
            np.testing.assert_array_equal(got, want)


def test_bytes_sent_are_those_of_the_factors_in_single_precision(seen, alone):
    """Of a sampled fit: (U, b) once and V as it meets entries once a sweep, and the draws kept."""
    k = worker.RANK
    rows = [np.diff(balanced(view.indptr, len(seen))) for view in (alone.by_row, alone.by_col)]
    for rank, told in enumerate(seen):
        m, n = rows[0][rank], rows[1][rank]
        sweeps = len(told["traces"]["sampled"])
        # The columns' first update meets (u, b); the error meets (v, 1, c); from the second sweep
        # on the rows' update meets (v, c).
        factors = sweeps * (m * (k + 1) + n * (k + 2)) + (sweeps - 1) * n * (k + 1)
        kept = 3 * (m + n) * (k + 2)
        # The last point, as it is, ends the fit.
        last = 2 * (m + n) * (k + 1)
        # Places and values of its own rows, once: a model knows what was seen.
        ends = alone.by_row.indptr[list(balanced(alone.by_row.indptr, len(seen)))]
        entries = 16 * int(np.diff(ends)[rank])
        assert told["sent"]["sampled"] == 4 * (factors + kept + last) + entries


def test_what_needs_all_entries_is_refused_before_work(seen):
    for told in seen:
        assert "2 processes share the entries" in told["refused"]["likelihood"]
        assert "are made of the observations" in told["refused"]["pattern"]
        assert "is given more than once" in told["refused"]["twice"]


def table(folder):
    i, j, x = worker.triples()
    lines = pa.table({"user": [f"u{a:02}" for a in i], "item": j, "rating": x})
    half = len(lines) // 2
    parquet.write_table(lines[:half], folder / "a.parquet", row_group_size=100)
    parquet.write_table(lines[half:], folder / "b.parquet", row_group_size=100)


COMMAND = ["-m", "bmcg", "fit", "*.parquet", "--row", "user", "--col", "item", "--value", "rating"]
OPTIONS = ["--posterior", "row", "--no-selection", "--bias", "no", "--checkpoint", "fit.checkpoint"]


def test_a_lost_process_ends_all_and_the_fit_goes_on_with_another_number(tmp_path):
    table(tmp_path)
    endless = ["--tol", "0", "--max-sweeps", "1000000", "--verbose", "-o", "m.safetensors"]
    first, second = start([*COMMAND, *OPTIONS, *endless], 2, tmp_path)
    assert first.stderr is not None
    for line in first.stderr:
        if "sweep 4" in line:
            break
    second.send_signal(signal.SIGKILL)
    _, said = first.communicate(timeout=300)
    second.communicate(timeout=60)
    assert first.returncode == 1
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1
    assert "another process of this fit has ended" in errors[0]
    assert "--resume" in errors[0]
    assert "Traceback" not in said
    assert not (tmp_path / "m.safetensors").exists()
    ending = ["--tol", "1e-4", "--max-sweeps", "1000000", "-o", "m.safetensors", "--resume"]
    again = subprocess.run(
        [sys.executable, *COMMAND, *OPTIONS, *ending],
        cwd=tmp_path, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert again.returncode == 0, again.stderr
    model = load_model(tmp_path / "m.safetensors")
    assert model.converged_
    assert model.n_sweeps_ > 4


def test_the_command_saves_the_model_that_one_process_saves(tmp_path):
    table(tmp_path)
    ending = ["--posterior", "row", "--max-sweeps", "8"]
    running = start([*COMMAND, *ending, "-o", "many.safetensors"], 2, tmp_path)
    said = [process.communicate(timeout=300) for process in running]
    assert [process.returncode for process in running] == [0, 0], said
    alone = [sys.executable, *COMMAND, *ending, "-o", "one.safetensors"]
    subprocess.run(alone, cwd=tmp_path, check=True, capture_output=True, timeout=300)
    many, one = (load_model(tmp_path / f"{name}.safetensors") for name in ("many", "one"))
    users, items = ["u00", "u05", "u31"], [1, 2, 17]
    np.testing.assert_allclose(many.predict(users, items), one.predict(users, items), rtol=1e-5)
    assert many.fingerprint_ == one.fingerprint_
    assert (many.seen_.indices == one.seen_.indices).all()
