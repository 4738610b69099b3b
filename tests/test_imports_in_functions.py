"""An import inside a function states its reason: in a comment on it or above its block, or, if all
of a module's are alike, in the module's docstring ("imported when …")."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
STAMPED = {
    # packaged traces are stamped by the source; torch loads the module when it is first called
    "simulator/tracing/flex_attention.py"
}
_FOR_TYPES = re.compile(r"^if TYPE_CHECKING:\n(?:[ )].*\n|\n)+", re.MULTILINE)
_INDENTED = re.compile(r"^[ \t]+(?:import|from) ", re.MULTILINE)
_ALL = re.compile(r"\bimported (only )?(when|if|in|inside)\b")


def without_reason(source: str) -> list[int]:
    """The lines of imports inside functions that state no reason."""
    if not _INDENTED.search(_FOR_TYPES.sub("", source)):
        return []  # most modules: parsing them would take seconds
    tree, lines = ast.parse(source), source.split("\n")
    if _ALL.search(" ".join((ast.get_docstring(tree) or "").split())):
        return []
    return sorted(
        {
            block[0].lineno
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for block in _blocks(function)
            if not _commented(lines, block[0].lineno - 1, block[-1].end_lineno or 0)
        }
    )


def _blocks(function: ast.AST) -> Iterator[list[ast.stmt]]:
    """Imports that follow each other without another statement between them."""
    for node in ast.walk(function):
        bodies: list[list[ast.stmt]] = [
            getattr(node, name, None) or [] for name in ("body", "orelse", "finalbody")
        ]
        for body in bodies if not isinstance(node, ast.Lambda | ast.IfExp) else []:
            block: list[ast.stmt] = []
            for statement in body:
                if isinstance(statement, ast.Import | ast.ImportFrom):
                    block.append(statement)
                elif block:
                    yield block
                    block = []
            if block:
                yield block


def _commented(lines: list[str], first: int, last: int) -> bool:
    above = first > 0 and lines[first - 1].lstrip().startswith("#")
    return above or any("#" in line for line in lines[first:last])


def test_imports_inside_functions_state_their_reason() -> None:
    unexplained = [
        f"{path.relative_to(ROOT).as_posix()}:{line}"
        for top in ("app", "simulator", "calibration")
        for path in sorted((ROOT / top).rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in STAMPED
        for line in without_reason(path.read_text("utf-8"))
    ]
    assert unexplained == []


def test_an_import_without_a_reason_is_reported() -> None:
    function = "def f():\n    x = 1\n    import torch\n    import numpy\n\n    return torch\n"
    assert without_reason(function) == [3]
    assert without_reason(function.replace("numpy", "numpy  # slow")) == []
    assert (
        without_reason(function.replace("    import torch", "    # slow\n    import torch")) == []
    )
    assert without_reason('"""Imported where?"""\n' + function) == [4]
    assert without_reason('"""torch is imported when f runs: it is slow."""\n' + function) == []
