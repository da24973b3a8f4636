"""Which tests are nearest to a function: those that call it, the quickest first."""

from __future__ import annotations

import ast
import json
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

# Seconds of a processor that the chosen tests may take together, as they were measured.
MOST = 12.0
# Files of tests that are run where nothing was watched that calls the function.
FILES = 8


class Tests(NamedTuple):
    """Tests to run, and the seconds they take on whole source (0 where not known)."""

    names: list[str]
    seconds: float


class Known:
    """What was watched: tests by function.

    Parameters
    ----------
    package : Path
    record : Path
        Lines of `watching`; none where there is no such file.
    tests : Path
    """

    def __init__(self, package: Path, record: Path, tests: Path) -> None:
        self.package, self.tests = package, tests
        self.seconds: dict[str, float] = {}
        self.calling: dict[tuple[str, str], set[str]] = {}
        for line in record.read_text(encoding="utf-8").splitlines() if record.exists() else ():
            name, took, _, called = json.loads(line)
            self.seconds[name] = min(took, self.seconds.get(name, took))
            for path, function in called:
                self.calling.setdefault((path, function), set()).add(name)

    def near(self, path: str, function: str) -> Tests:
        """Tests that call a function, or what calls it where it is compiled."""
        found: set[str] = set()
        for where in callers(self.package, path, function):
            found |= self.calling.get(where, set())
        names, total = [], 0.0
        for name in sorted(found, key=lambda name: self.seconds[name]):
            if total + self.seconds[name] > MOST:
                break
            names.append(name)
            total += self.seconds[name]
        return Tests(names, total)

    def mentioning(self, path: str, function: str) -> list[str]:
        """Files of tests that name the module or the function."""
        module, name = Path(path).stem, function.split(".")[0]
        words = re.compile(rf"\b({re.escape(name)}|{re.escape(module)})\b")
        found = [
            file for file in sorted(self.tests.rglob("test_*.py"))
            if words.search(file.read_text(encoding="utf-8"))
        ]  # fmt: skip
        room = Path(path).parts[0]
        found.sort(key=lambda file: room not in file.parts)
        return [str(file.relative_to(self.tests.parent)) for file in found[:FILES]]


@cache
def _functions(package: Path) -> dict[tuple[str, str], frozenset[str]]:
    """Names that every function of the package uses."""
    found: dict[tuple[str, str], frozenset[str]] = {}

    def walk(node: ast.AST, path: str, inside: str) -> None:
        for part in ast.iter_child_nodes(node):
            if isinstance(part, ast.ClassDef):
                walk(part, path, f"{inside}{part.name}.")
            elif isinstance(part, ast.FunctionDef):
                used = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
                used |= {n.attr for n in ast.walk(part) if isinstance(n, ast.Attribute)}
                found[path, f"{inside}{part.name}"] = frozenset(used)
                walk(part, path, f"{inside}{part.name}.<locals>.")

    for file in sorted(package.rglob("*.py")):
        walk(ast.parse(file.read_text(encoding="utf-8")), str(file.relative_to(package)), "")
    return found


def is_compiled(package: Path, path: str) -> bool:
    """Whether a file has kernels."""
    return bool(re.search(r"^from \.+kernels import", (package / path).read_text("utf-8"), re.M))


def callers(package: Path, path: str, function: str) -> set[tuple[str, str]]:
    """A function, and where it is compiled what calls it, through other kernels."""
    found = {(path, function)}
    if not is_compiled(package, path):
        return found
    room = path.split("/")[0]
    todo = [function]
    while todo:
        name = todo.pop().split(".")[0]
        for where, used in _functions(package).items():
            if name in used and where not in found and where[0].split("/")[0] == room:
                found.add(where)
                if is_compiled(package, where[0]):
                    todo.append(where[1])
    return found


def dependents(package: Path, path: str) -> list[str]:
    """Files with kernels that import from a file, directly or not, and the file itself."""
    found, todo = [path], [path]
    while todo:
        stem = Path(todo.pop()).stem
        words = re.compile(rf"^from \.\S*\b{stem} import|^from \.+ import .*\b{stem}\b", re.M)
        for file in package.rglob("*.py"):
            name = str(file.relative_to(package))
            using = words.search(file.read_text(encoding="utf-8"))
            if using and name not in found and is_compiled(package, name):
                found.append(name)
                todo.append(name)
    return found
