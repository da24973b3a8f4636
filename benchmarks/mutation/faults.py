"""Faults: one operator, comparison or constant of a file is another."""

from __future__ import annotations

import ast
import random
from pathlib import Path
from typing import Any, NamedTuple

ROOMS = ("observations", "linalg", "backends", "inference", "imputing")
# These run on another machine, or with packages that `make test` does not install.
SKIPPED = ("torch", "distributed")
SWAPS: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Lt: ast.LtE,
    ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
    ast.FloorDiv: ast.Mult,
}  # fmt: skip


class Fault(NamedTuple):
    """A fault.

    Attributes
    ----------
    room : str
    path : str
        Of the file, from the package's folder on.
    line : int
    function : str
        Qualified name of the function it lies in.
    words : str
        What was changed.
    text : str
        The file with the fault.
    """

    room: str
    path: str
    line: int
    function: str
    words: str
    text: str


def places(tree: ast.Module) -> list[tuple[str, Any]]:
    """Nodes for faults with the functions they lie in; texts, types and messages stay."""
    found: list[tuple[str, Any]] = []

    def walk(node: ast.AST, inside: str) -> None:
        if isinstance(node, ast.ClassDef):
            for part in node.body:
                walk(part, f"{inside}{node.name}.")
            return
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for part in node.body:
                walk(part, f"{inside}{node.name}.<locals>.")
            return
        if isinstance(node, (ast.Raise, ast.AnnAssign, ast.JoinedStr, ast.Assert)):
            return
        swapped = isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS
        compared = isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS
        constant = isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float))
        if inside.endswith(".<locals>.") and (swapped or compared or constant):
            found.append((inside.removesuffix(".<locals>."), node))
        for part in ast.iter_child_nodes(node):
            walk(part, inside)

    for node in tree.body:
        walk(node, "")
    return found


def change(node: Any) -> str:
    """Change a node; what was done, in words."""
    before = ast.unparse(node)
    if isinstance(node, (ast.BinOp, ast.BoolOp)):
        node.op = SWAPS[type(node.op)]()
    elif isinstance(node, ast.Compare):
        node.ops[0] = SWAPS[type(node.ops[0])]()
    elif isinstance(node.value, bool):
        node.value = not node.value
    else:
        node.value = node.value + 1
    return f"{before} → {ast.unparse(node)}"


def drawn(r: random.Random, package: Path, room: str) -> Fault:
    """A fault in a room of a package; every place of the room is as likely."""
    weighed = []
    for path in sorted((package / room).rglob("*.py")):
        if not set(SKIPPED) & {*path.relative_to(package).parts, path.stem}:
            weighed.append((path, len(places(ast.parse(path.read_text(encoding="utf-8"))))))
    path = r.choices([one for one, _ in weighed], [n for _, n in weighed])[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    function, node = r.choice(places(tree))
    return _put(tree, node, room, str(path.relative_to(package)), function)


def drawn_at(package: Path, line: dict[str, Any]) -> Fault:
    """The fault of a seed and a number; rooms take turns."""
    r, number = random.Random(f"{line['seed']} {line['number']}"), line["number"]
    return drawn(r, package, ROOMS[number % len(ROOMS)])


def _put(tree: ast.Module, node: Any, room: str, path: str, function: str) -> Fault:
    line, words = node.lineno, change(node)
    text = ast.unparse(ast.fix_missing_locations(tree))
    return Fault(room, path, line, function, words, text)


def again(package: Path, line: dict[str, Any]) -> Fault | None:
    """A fault that was recorded, in source that may have moved; None where it is gone."""
    text = (package / line["file"]).read_text(encoding="utf-8")
    found = []
    for at, (function, _) in enumerate(places(ast.parse(text))):
        if function == line["function"]:
            tree = ast.parse(text)
            fault = _put(tree, places(tree)[at][1], line["room"], line["file"], function)
            if fault.words == line["fault"]:
                found.append(fault)
    return min(found, key=lambda fault: abs(fault.line - line["line"]), default=None)
