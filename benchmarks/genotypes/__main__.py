"""Missing calls along a chromosome: bmcg beside Beagle, on simulated panels.

    python -m benchmarks.genotypes
    python -m benchmarks.genotypes --program "Beagle 5.4" --size small

Run from the root of the repository; needs the command beagle. Creates benchmarks/genotypes/.venv
with msprime, which draws the panels. Programs run one after the other, on one thread, on the same
files. What was measured is kept in docs/results/genotypes-position.json after each cell and not
measured again unless `--fresh` is given; docs/results/genotypes-position.md is written from it.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.reporting import ROOT, machine, table, write_page

from bmcg.files.storage import write_atomically

from .cells import Setting, measure

PAGE = ROOT / "docs" / "results" / "genotypes-position.md"
STORE = PAGE.with_suffix(".json")
PROGRAMS = ("bmcg", "Beagle 5.4")
SIZES = {"small": (800, 400), "large": (4_000, 2_000)}
HEAD = """# Genotypes along a chromosome

Panels of a coalescent with recombination (msprime; one site a kilobase, minor alleles of 1 % and
more), people of two haplotypes each, calls hidden at random. bmcg is `bmcg impute` with its
defaults. Beagle is Debian's 5.4 with its defaults. Both on one thread, one after the other; CPU
seconds are of the whole command. Beagle states no probabilities for calls that it fills without a
reference panel: its log-loss is that of the best constant doubt in hindsight. r² is the mean over
sites of the squared correlation of the dosage with the truth.
"""


def main() -> None:
    """Measure what the store lacks and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", choices=PROGRAMS)
    parser.add_argument("--size", choices=SIZES)
    parser.add_argument("--gone", type=float)
    parser.add_argument("--kind", choices=("phased", "unphased"))
    parser.add_argument("--fresh", action="store_true")
    given = parser.parse_args()
    folder = ROOT / "results" / "genotypes"
    folder.mkdir(parents=True, exist_ok=True)
    for size, shape in SIZES.items():
        for gone in (0.1, 0.5):
            for phased in (True, False):
                for program in PROGRAMS:
                    setting = Setting(*shape, gone, phased)
                    kind = "phased" if phased else "unphased"
                    wanted = ((given.program, program), (given.size, size), (given.gone, gone),
                              (given.kind, kind))  # fmt: skip
                    if any(asked not in (None, it) for asked, it in wanted):
                        continue
                    if given.fresh or program not in stored().get(setting.name, {}):
                        keep(setting.name, program, measure(setting, program, folder))
    write_page(PAGE, page(stored()))


def stored() -> dict[str, Any]:
    """What was measured."""
    return json.loads(STORE.read_text()) if STORE.exists() else {}


def keep(setting: str, program: str, found: dict[str, Any]) -> None:
    """Add one cell to the store."""
    cells = stored()
    cells.setdefault(setting, {})[program] = {**found, "made": machine()}
    text = json.dumps(cells, indent=1) + "\n"
    write_atomically(STORE, lambda name: Path(name).write_text(text))
    print(setting, program, found["ranges"]["all"], f"{found['cpu']:.1f} s", flush=True)


def page(cells: dict[str, Any]) -> str:
    """The page."""
    header = ["panel", "program", "concordance, %", "log-loss", "r²", "CPU s", "seconds"]
    rows, parts = [], []
    for setting, programs in cells.items():
        for program in PROGRAMS:
            if program not in programs:
                continue
            found = programs[program]
            best = found["ranges"]["all"]
            rows.append([
                setting, program, f"{100 * best['concordance']:.2f}", f"{best['log_loss']:.4f}",
                f"{best['r2']:.4f}", f"{found['cpu']:.0f}", f"{found['seconds']:.0f}",
            ])  # fmt: skip
            parts += [
                [setting, program, name, f"{100 * one['concordance']:.2f}",
                 f"{one['log_loss']:.4f}", f"{one['r2']:.4f}"]
                for name, one in found["ranges"].items() if name != "all"
            ]  # fmt: skip
    again = ["panel", "program", "minor allele", "concordance, %", "log-loss", "r²"]
    made = sorted({one["made"] for programs in cells.values() for one in programs.values()})
    origin = "Made by `python -m benchmarks.genotypes`; " + "; ".join(made) + ".\n"
    text = [
        HEAD,
        table(header, rows),
        "\n## By allele frequency\n",
        table(again, parts),
        "",
        origin,
    ]
    return "\n".join(text)


if __name__ == "__main__":
    main()
