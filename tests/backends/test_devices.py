"""Without PyTorch: a GPU is refused with the way out, and nothing else changes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from bmcg import BMCG
from bmcg.backends.devices import LARGE, chosen, open_device
from bmcg.estimators import fitting
from bmcg.memory import Work

from ..cli.conftest import refused


def test_without_pytorch_a_gpu_is_refused_with_the_way_out(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "torch" else found(name)
    )
    with pytest.raises(ImportError, match=r'pip install "bmcg\[gpu\]"'):
        BMCG(posterior="variational", device="cuda").fit(np.eye(3))
    with pytest.raises(ValueError, match='choose "auto"'):
        BMCG(posterior="variational", device="gpu").fit(np.eye(3))


def test_a_build_of_pytorch_without_gpus_is_told_in_a_line_of_the_command(monkeypatch, tmp_path):
    cuda = SimpleNamespace(is_available=lambda: False)
    fake = SimpleNamespace(cuda=cuda, version=SimpleNamespace(cuda=None), __version__="9+cpu")
    monkeypatch.setitem(sys.modules, "torch", fake)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: name)
    (tmp_path / "t.csv").write_text("u,i,v\na,x,1\nb,y,2\n")
    model = tmp_path / "m.safetensors"
    names = ("--row", "u", "--col", "i", "--value", "v")
    said = refused("fit", tmp_path / "t.csv", *names, "--device", "cuda", "-o", model)
    assert said.startswith("error: device='cuda': PyTorch 9+cpu was built without CUDA")
    assert not model.exists()


def test_pytorch_is_not_imported_unless_asked_for():
    code = (
        "import sys, numpy as np, bmcg; bmcg.BMCG(rank=1, max_sweeps=2).fit(np.eye(4)); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


@pytest.mark.parametrize("posterior", ["row", "sampled"])
def test_a_fit_is_done_where_it_was_asked_to_be(posterior, monkeypatch):
    """Not on the processor in silence."""
    opened = []

    def opening(device, *given):
        opened.append(device)
        return open_device("cpu", 1)

    monkeypatch.setattr(fitting, "open_device", opening)
    monkeypatch.setattr(fitting, "check_device", lambda device: None)
    X = np.random.default_rng(0).normal(size=(12, 9))
    model = BMCG(device="cuda", posterior=posterior, rank=2, bias=True, selection=False)
    model.set_params(max_sweeps=4, n_draws=4, value_range=None, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X)
    assert opened == ["cuda"]


def test_a_gpu_is_taken_where_there_is_enough_to_do(monkeypatch):
    cuda = SimpleNamespace(is_available=lambda: True)
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, __spec__=object()))

    def where(entries, kind="row", device="auto"):
        return chosen(device, Work(9, 9, entries, 4, kind))

    assert where(LARGE) == "cuda"
    assert where(LARGE - 1) == where(LARGE, "column") == where(LARGE, device="cpu") == "cpu"
    assert where(1, device="cuda:1") == "cuda:1"
    cuda.is_available = lambda: False
    assert where(LARGE) == "cpu"
