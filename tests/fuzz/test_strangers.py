"""Model files and checkpoints that someone made to break things are refused, soon and cheaply."""

from __future__ import annotations

import json
import struct
import tracemalloc
import warnings
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from bmcg import load_model
from bmcg.files.checkpoints import read_checkpoint
from bmcg.files.storage import (
    CHECKPOINT,
    MODEL,
    CheckpointError,
    ModelFileError,
    read_tensors,
    write_tensors,
)

from . import seeds
from .readers import READERS, ask, checkpoints, identity
from .strangers import edited_file, opened
from .test_readers import quick
from .verdict import in_time


@pytest.fixture
def whole(tmp_path):
    path = tmp_path / "file.safetensors"
    path.write_bytes(seeds.models()[0])
    return path


@settings(quick, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_edited_models_are_refused_or_answer(seed, tmp_path):
    edited_file("model", Random(seed), tmp_path)


@settings(quick, max_examples=60)
@given(seed=st.integers(0, 2**32))
def test_edited_checkpoints_are_refused_or_read(seed, tmp_path):
    edited_file("checkpoint", Random(seed), tmp_path)


def test_every_single_bit_that_rots_is_found(tmp_path):
    data = min(seeds.models(), key=len)
    path = tmp_path / "file.safetensors"
    r = Random(0)
    for at in r.sample(range(len(data)), 150):
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << r.randrange(8))]) + data[at + 1 :])
        with pytest.raises(ModelFileError):
            load_model(path)


def raw(path, header, body=b""):
    """A safetensors file of these very bytes."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    return path


META = {"format": MODEL.format, "version": "1", "header": "{}"}


def tensors(*places, shape=(1,), dtype="F64"):
    """A header with an array at each of some places."""
    found = {
        f"a{at}": {"dtype": dtype, "shape": list(shape), "data_offsets": list(place)}
        for at, place in enumerate(places)
    }
    return {"__metadata__": META, **found}


@pytest.mark.parametrize(
    "header",
    [
        tensors((0, 2**43), shape=(2**40,)),
        tensors((0, 8), shape=(2**62, 4)),
        tensors((0, 8), shape=(-1,)),
        tensors((8, 0)),
        tensors((0, 8), (0, 8)),
        tensors((0, 8), dtype="object"),
        b"[" * 100_000,
        b'{"a":' * 100_000,
    ],
    ids=["huge", "overflow", "negative", "backwards", "overlapping", "objects", "deep", "deeper"],
)
def test_lengths_shapes_and_places_that_lie_are_refused(tmp_path, header):
    path = raw(tmp_path / "file.safetensors", header, b"\0" * 8)
    tracemalloc.start()
    with in_time(10), pytest.raises(ModelFileError, match="not a complete model file"):
        load_model(path)
    assert tracemalloc.get_traced_memory()[1] < 50e6
    tracemalloc.stop()


def test_a_header_that_claims_a_length_beyond_the_file_is_refused(tmp_path):
    path = tmp_path / "file.safetensors"
    path.write_bytes(struct.pack("<Q", 2**60) + b"{}")
    with in_time(10), pytest.raises(ModelFileError, match="not a complete model file"):
        load_model(path)


def test_a_file_that_claims_hundreds_of_thousands_of_arrays_is_refused(tmp_path):
    empty = ",".join(
        f'"a{i}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}' for i in range(200_000)
    )
    header = f'{{"__metadata__":{json.dumps(META)},{empty}}}'.encode()
    path = raw(tmp_path / "file.safetensors", header)
    with in_time(10), pytest.raises(ModelFileError, match="claims 200000 arrays"):
        load_model(path)


HEADERS = {
    "a deep list": "[" * 50_000,
    "a deep object": '{"a":' * 50_000,
    "a list": "[]",
    "nothing": "null",
    "infinity": "1e999",
    "a long text": '"' + "x" * 10**6 + '"',
    "a million fields": json.dumps({f"field {i}": i for i in range(10**6)}),
}


@pytest.mark.parametrize("text", HEADERS.values(), ids=HEADERS)
def test_headers_of_any_size_and_depth_are_refused(tmp_path, text):
    path = tmp_path / "file.safetensors"
    metadata = {"format": MODEL.format, "version": str(MODEL.version), "header": text}
    save_file({"x": np.zeros(1)}, path, metadata=metadata)
    with in_time(20), pytest.raises(ModelFileError) as refused:
        load_model(path)
    assert len(str(refused.value)) < 1000
    metadata["format"] = CHECKPOINT.format
    save_file({"x": np.zeros(1)}, path, metadata=metadata)
    with in_time(20), pytest.raises(CheckpointError):
        READERS["checkpoint"].read(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("row_indices", 10**6), ("row_indices", -1), ("row_heads", 10**6), ("seen_indices", 10**6),
        ("seen_indptr", 10**9), ("col_tails", -5), ("row_constant", 77), ("row_mean", np.nan),
        ("tau", 0), ("row_lam", 0), ("row_cov", -1), ("row_mean", 1e300), ("lam_rate", np.inf),
        ("scale", 1e300),
    ],
)  # fmt: skip
def test_places_outside_the_matrix_never_reach_compiled_code(whole, name, value):
    arrays, header = opened(whole)
    arrays[name] = arrays[name].copy()
    arrays[name].flat[0] = value
    write_tensors(whole, arrays, header, MODEL)
    with pytest.raises(ModelFileError, match=name.split("_")[0]):
        load_model(whole)


def test_nothing_in_a_file_is_run_or_leads_elsewhere(whole, tmp_path):
    arrays, header = opened(whole)
    for method in ("os.system", "__import__('os')", "../../BMCG", "object"):
        write_tensors(whole, arrays, {**header, "method": method}, MODEL)
        with pytest.raises(ModelFileError, match="unknown method"):
            load_model(whole)
    parameters = {**header["parameters"], "checkpoint": str(tmp_path / "elsewhere")}
    write_tensors(whole, arrays, {**header, "parameters": parameters}, MODEL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ask(load_model(whole))
    assert not (tmp_path / "elsewhere").exists()


def test_a_file_without_a_sum_is_one_of_an_earlier_version(whole):
    arrays, header = opened(whole)
    metadata = {"format": MODEL.format, "version": "1", "header": json.dumps(header)}
    save_file(arrays, whole, metadata=metadata)
    found, _ = read_tensors(whole, MODEL)
    assert found.keys() == arrays.keys()
    ask(load_model(whole))


@pytest.mark.parametrize("seed", [-1, float("inf"), 1.5, True, "x" * 5000, None])
def test_a_seed_that_is_none_is_refused(tmp_path, seed):
    path = tmp_path / "file.ckpt"
    path.write_bytes(checkpoints()[0])
    arrays, header = opened(path)
    write_tensors(path, arrays, {**header, "seed": seed}, CHECKPOINT)
    with pytest.raises(CheckpointError, match="not a complete checkpoint") as refused:
        read_checkpoint(path, identity())
    assert len(str(refused.value)) < 1000
