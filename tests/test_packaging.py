"""What `pip install` gets: the wheel, and the sdist, are whole and run on their own."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytest.importorskip("hatchling")


def build(source: Path, out: Path, *kinds: str) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    for kind in kinds:
        command += ["-t", kind]
    subprocess.run(command, cwd=source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out, "wheel", "sdist")
    return out


def contents(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as file:
        return {name: file.read(name) for name in file.namelist() if name.startswith("bmcg/")}


def test_a_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = built.glob("*.whl")
    found = contents(wheel)
    package = ROOT / "src" / "bmcg"
    kept = {
        f"bmcg/{path.relative_to(package).as_posix()}": path.read_bytes()
        for path in package.rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".nbi", ".nbc")
    }
    assert found == kept
    with zipfile.ZipFile(wheel) as file:
        assert {name.partition("/")[0].partition("-")[0] for name in file.namelist()} == {"bmcg"}


def test_the_wheel_of_an_sdist_is_the_wheel(built, tmp_path):
    (sdist,), (wheel,) = built.glob("*.tar.gz"), built.glob("*.whl")
    with tarfile.open(sdist) as file:
        file.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    build(source, tmp_path / "again", "wheel")
    (again,) = (tmp_path / "again").glob("*.whl")
    assert contents(again) == contents(wheel)


def test_a_wheel_runs_in_an_environment_of_its_own(built, tmp_path):
    # Dependencies are those of this environment: nothing is fetched in a test.
    venv.create(tmp_path / "env", with_pip=False, symlinks=os.name != "nt")
    python = tmp_path / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    place = Path(subprocess.check_output([python, "-c", ask], text=True).strip())
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as file:
        file.extractall(place)
    env = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), "PYTHONSAFEPATH": "1"}
    # First the wheel, then the dependencies, which may hold this package in development.
    code = f"import sys; sys.path.insert(0, {str(place)!r}); "
    code += "import bmcg; print(bmcg.__file__); from bmcg.cli.app import app; app(['--version'])"
    ended = subprocess.run([python, "-c", code], env=env, cwd=tmp_path, capture_output=True)
    said = ended.stdout.decode()
    assert ended.returncode == 0, ended.stderr.decode()
    assert str(place) in said
    assert "0." in said
