"""Without PyTorch: a GPU is refused with the way out, and nothing else changes."""

from __future__ import annotations

import importlib.util
import subprocess
import sys

import numpy as np
import pytest

from bmcg import BMCG


def test_without_pytorch_a_gpu_is_refused_with_the_way_out(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "torch" else found(name)
    )
    with pytest.raises(ImportError, match=r'pip install "bmcg\[gpu\]"'):
        BMCG(posterior="variational", device="cuda").fit(np.eye(3))
    with pytest.raises(ValueError, match='choose "auto"'):
        BMCG(posterior="variational", device="gpu").fit(np.eye(3))


def test_pytorch_is_not_imported_unless_asked_for():
    code = (
        "import sys, numpy as np, bmcg; bmcg.BMCG(rank=1, max_sweeps=2).fit(np.eye(4)); "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
