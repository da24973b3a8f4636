"""Speed: the start, kernels, time to accuracy, scaling, variances, whole fits beside others.

    BMCG_DATA=/path/to/data python -m benchmarks.speed
    BMCG_DATA=/path/to/data python -m benchmarks.speed kernels scaling
    BMCG_DATA=/path/to/data python -m benchmarks.speed profile half

Run from the root of the repository. Writes each part's tables, with the commit and the machine,
into its section of docs/results/speed.md; other sections stay as they are.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path

from benchmarks.reporting import ROOT, machine, write_page

PARTS = {
    "start": "From the command to the first fit",
    "kernels": "Kernels and sweeps against the arithmetic limit",
    "time_to_accuracy": "Time to accuracy",
    "scaling": "Scaling and memory",
    "variances": "Variances of a large graph",
    "storage": "Moments in single precision",
    "dense": "Tables and chains",
    "features": "Graphs and the pattern as features",
    "pictures": "Pictures",
}
PAGE = ROOT / "docs" / "results" / "speed.md"
HEAD = """# Speed

`BMCG_DATA=... python -m benchmarks.speed` from the root of the repository writes this page; the
name of a part after it runs that part alone. Ratios compare figures of one run.
"""


def begin(part: str) -> str:
    """Mark before a part's section."""
    return f"<!-- {part} -->"


def stored(path: Path) -> dict[str, str]:
    """Sections of the page as it is."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = {}
    for part in PARTS:
        if begin(part) in text:
            body = text.split(begin(part), 1)[1].split("<!-- end -->", 1)[0]
            sections[part] = body.strip()
    return sections


def page(sections: dict[str, str]) -> str:
    """The whole page, sections in their order."""
    marked = [
        f"{begin(part)}\n\n{sections[part]}\n\n<!-- end -->" for part in PARTS if part in sections
    ]
    return HEAD + "\n" + "\n\n".join(marked) + "\n"


def main() -> None:
    """Run the parts asked for, or profile cases."""
    if sys.argv[1:2] == ["profile"]:
        importlib.import_module("benchmarks.speed.profile").run(sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=[])
    parser.add_argument("--jobs", type=int, default=None, help="threads; all cores by default")
    parser.add_argument("--no-page", action="store_true", help="print only")
    options = parser.parse_args()
    for part in options.parts or PARTS:
        started = time.perf_counter()
        module = importlib.import_module(f"benchmarks.speed.{part}")
        # A part of many cases is written down as it grows.
        grows = hasattr(module, "growing")
        bodies = module.growing(options.jobs) if grows else [module.section(options.jobs)]
        for body in bodies:
            seconds = time.perf_counter() - started
            text = f"## {PARTS[part]}\n\n{machine()}; {seconds:.0f} s.\n\n{body}"
            if not options.no_page:
                write_page(PAGE, page({**stored(PAGE), part: text}))
        print(text, flush=True)


if __name__ == "__main__":
    main()
