"""Before any test imports Triton: where tests run on the CPU, its kernels are interpreted there."""

from __future__ import annotations

import os

if os.environ.get("BMCG_TEST_DEVICE", "cpu") == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"
