"""What is loaded when: nothing heavy before it is used, and every name all the same."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import bmcg
from bmcg.kernels import Kernel, exact

HEAVY = ("numba", "matplotlib", "pandas", "pyarrow", "polars", "scipy", "sklearn", "numpy", "rich")
# scikit-learn itself loads SciPy, and pandas where that is installed, for its base class.
OF_KERNELS = ("numba", "matplotlib", "polars", "sklearn.neighbors", "sklearn.impute", "h5py")


def loaded_after(code, names):
    told = f"print(*[name for name in {names!r} if name in sys.modules], file=sys.stderr)"
    code = f"import sys\n{code}\n{told}"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return ended.stderr.split()


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_after("import bmcg; dir(bmcg); bmcg.__version__", HEAVY) == []


def test_the_estimators_are_there_before_any_compiler():
    code = "from bmcg import BMCG, BMCGImputer, Observations, load_model; BMCG(rank=3)"
    assert loaded_after(code, OF_KERNELS) == []


@pytest.mark.parametrize("command", [[], ["impute"], ["recommend"]])
def test_help_loads_no_library_of_numbers(command):
    code = (
        "from bmcg.cli import main\n"
        f"sys.argv = ['bmcg', *{command!r}, '--help']\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    assert loaded_after(code, HEAVY[:-1]) == []


def test_every_public_name_is_found_and_listed():
    for name in (*bmcg.__all__, "baselines", "datasets", "graphs", "metrics"):
        assert getattr(bmcg, name) is not None
        assert name in dir(bmcg)
    with pytest.raises(AttributeError, match="no attribute 'BMCGG'"):
        _ = bmcg.BMCGG


@exact
def _twice(x):
    return 2 * x


@exact
def _four_times(x):
    return _twice(_twice(x))


def test_a_kernel_takes_its_own_place_with_the_first_call_and_that_of_those_it_calls():
    from_before = _four_times
    assert isinstance(_four_times, Kernel)
    assert isinstance(_twice, Kernel)
    assert _four_times(3) == 12
    assert not isinstance(_four_times, Kernel)
    assert not isinstance(_twice, Kernel)
    # Who imported it by name before has the same compiled function.
    assert from_before.compiled() is _four_times
    assert from_before(np.int64(5)) == 20


def test_kernels_are_kept_where_the_package_cannot_be_written_to(tmp_path):
    """Numba then takes a folder of the user's; a second process finds the code there."""
    package, home = tmp_path / "locked", tmp_path / "home"
    package.mkdir()
    home.mkdir()
    (package / "locked_kernels.py").write_text(
        "from bmcg.kernels import exact\n\n\n@exact\ndef add(x):\n    return x + 1\n"
    )
    # A file where Numba would make its folder: that also holds where everything may be written.
    (package / "__pycache__").write_text("")
    code = (
        f"import sys; sys.path.insert(0, {str(package)!r})\n"
        "import locked_kernels; locked_kernels.add(1)\n"
        "print(sum(locked_kernels.add.stats.cache_hits.values()))"
    )
    hits = []
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=_environment(home),
        )
        hits.append(int(ended.stdout))
    assert hits == [0, 1]


def _environment(home):
    kept = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
    return {**kept, "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}
