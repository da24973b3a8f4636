"""Which Pythons and which versions of the dependencies the tests pass with.

    PYTHON -m benchmarks.versions --record [TESTS ...]

Run from the root of the repository by the Python in question, in an environment with the extra
`test`. Runs the tests, wheel and sdist among them, then `bmcg demo`, and adds a line to
docs/results/versions.jsonl, from which the page is made; a line of the same Python with the same
versions is replaced.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from benchmarks.reporting import COMMIT, ROOT, machine, table, write_page

RECORD = ROOT / "docs" / "results" / "versions.jsonl"
PAGE = RECORD.with_suffix(".md")
SHOWN = ("numpy", "scipy", "numba", "scikit-learn", "narwhals", "pyarrow", "pandas", "polars")
OTHERS = ("threadpoolctl", "typer", "rich", "safetensors", "pooch", "matplotlib", "pillow", "h5py",
          "anndata", "cyvcf2", "bed-reader", "networkx")  # fmt: skip
# What touches every dependency, without the rooms that are arithmetic of our own alone.
BROAD = ("tests/observations", "tests/graphs", "tests/cli", "tests/test_storage.py",
         "tests/test_frame_kinds.py", "tests/test_observations.py", "tests/test_imputer.py",
         "tests/test_packaging.py", "tests/test_oldest.py")  # fmt: skip
COUNT = re.compile(r"(\d+) (passed|failed|skipped|error)")


def versions() -> dict[str, str]:
    """Installed versions; what is not there is left out."""
    found = {}
    for name in (*SHOWN, *OTHERS):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def tested(which: list[str]) -> tuple[dict[str, int], list[str]]:
    """How many tests passed, failed and were skipped, and the names of those that failed."""
    command = [sys.executable, "-m", "pytest", "-q", "-rf", "-p", "no:cacheprovider", *which]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    lines = ended.stdout.strip().splitlines() or [ended.stderr[-300:]]
    print(ended.stdout[-3000:], flush=True)
    failed = [line.split()[1] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return {word: int(number) for number, word in COUNT.findall(lines[-1])}, failed


def demo() -> str:
    """How `bmcg demo` ended in an empty folder."""
    code = "from bmcg.cli import main; main()"
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-c", code, "demo", "--out", "shown"]
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        made = sorted(path.name for path in Path(folder).glob("shown/*"))
    if ended.returncode or "report.html" not in made:
        return f"exit {ended.returncode}: {(ended.stderr.strip().splitlines() or [''])[-1]}"
    return f"{len(made)} files"


def parts(text: str) -> tuple[int, ...]:
    """A version as numbers that can be put in order."""
    return tuple(map(int, text.split(".")[:2]))


def page(lines: list[dict[str, Any]]) -> str:
    """Markdown of all that was recorded."""
    rows = []
    for line in lines:
        count, own = line["tests"], line["versions"]
        bad = count.get("failed", 0) + count.get("error", 0)
        rows.append([line["python"], *(own.get(name, "–") for name in SHOWN), line["share"],
                     f"{count.get('passed', 0):,}", str(bad), str(count.get("skipped", 0)),
                     line["demo"]])  # fmt: skip
    head = ["Python", *SHOWN, "tests of", "passed", "failed", "skipped", "demo"]
    others = [
        f"- Python {line['python']}, numpy {line['versions'].get('numpy')}: "
        + ", ".join(f"{name} {line['versions'].get(name, '–')}" for name in OTHERS)
        + f"; commit {line['commit']}"
        + "".join(f"; failed: `{name}`" for name in line["failed"])
        for line in lines
    ]
    return "\n\n".join([
        "# Versions",
        "What `python -m benchmarks.versions --record` found, run by each Python: the tests, wheel "
        "and sdist among them, and `bmcg demo`. The first lines have the oldest versions that "
        "`pyproject.toml` admits (`make test-oldest`), the others what `pip` takes today. "
        f"\"Broad\" are {', '.join(f'`{name}`' for name in BROAD)}.",
        table(head, rows),
        "And with:",
        "\n".join(others),
        f"{machine()}.",
    ]) + "\n"  # fmt: skip


def main() -> None:
    """Run and record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tests", nargs="*", help="in the place of a broad share; `all` for all")
    parser.add_argument("--record", action="store_true")
    given = parser.parse_args()
    which = list(BROAD) if not given.tests else [] if given.tests == ["all"] else given.tests
    count, failed = tested(which)
    share = "broad" if not given.tests else " ".join(given.tests)
    line = {"python": platform.python_version(), "versions": versions(), "share": share,
            "tests": count, "failed": failed, "demo": demo(), "commit": COMMIT}  # fmt: skip
    known = [line]
    if RECORD.exists():
        known = [json.loads(one) for one in RECORD.read_text(encoding="utf-8").splitlines()]
        same = ("python", "versions", "share")
        known = [one for one in known if any(one[key] != line[key] for key in same)] + [line]
    if not given.record:
        print(page(known))
        return
    known.sort(key=lambda one: (parts(one["python"]), parts(one["versions"]["numpy"])))
    write_page(RECORD, "".join(json.dumps(one) + "\n" for one in known))
    write_page(PAGE, page(known))


if __name__ == "__main__":
    main()
