"""Count and draw the imports between packages: `python -m tests.benchmarks.import_graph [ROOT]`.

For each top folder, it counts packages and modules, the imports between them (also those inside
functions and for type checks), the floors (the packages on the longest chain of imports) and the
largest ring (packages that import each other in a circle). Then it prints the imports as a Mermaid
flowchart, without those that a longer chain implies.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

TOPS = ("simulator", "app", "calibration")
Graph = dict[str, set[str]]


def imported(tree: ast.Module) -> Iterator[str]:
    """The dotted names that a module imports; of `from a import b` both a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def graph(root: Path, top: str) -> Graph:
    """The packages and modules directly in a folder, each with those that it imports."""
    folder = root / top
    parts = {p.stem for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    parts -= {"__init__", "__main__"}
    arrows: Graph = {part: set() for part in parts}
    for path in folder.rglob("*.py"):
        part = path.relative_to(folder).parts[0].removesuffix(".py")
        if part not in parts:
            continue
        for name in imported(ast.parse(path.read_text("utf-8"))):
            first, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            if first == top and other in parts and other != part:
                arrows[part].add(other)
    return arrows


def reachable(arrows: Graph, start: str, without: str = "") -> set[str]:
    """The packages that a package imports directly or indirectly, except through the direct import
    of `without`.
    """
    seen: set[str] = set()
    waiting = [other for other in arrows[start] if other != without]
    while waiting:
        part = waiting.pop()
        if part not in seen:
            seen.add(part)
            waiting += arrows[part]
    return seen


def rings(arrows: Graph) -> list[set[str]]:
    """Sets of packages that import each other in a circle."""
    below = {part: reachable(arrows, part) for part in arrows}
    sets = {
        frozenset(other for other in below[part] if part in below[other])
        for part in arrows
        if part in below[part]
    }
    return [set(each) for each in sets]


def floors(arrows: Graph) -> int:
    """The number of packages on the longest chain of imports; a ring counts as one."""
    ring_of = {part: min(ring) for ring in rings(arrows) for part in ring}
    height: dict[str, int] = {}

    def high(part: str) -> int:
        if part not in height:
            members = [p for p in arrows if ring_of.get(p, p) == part]
            below = {ring_of.get(o, o) for member in members for o in arrows[member]} - {part}
            height[part] = 1 + max(map(high, below), default=0)
        return height[part]

    return max((high(ring_of.get(part, part)) for part in arrows), default=0)


def flowchart(arrows: Graph) -> str:
    """The imports in Mermaid, without those that a longer chain implies."""
    lines = [
        f"  {part} --> {other}"
        for part in sorted(arrows)
        for other in sorted(arrows[part])
        if other not in reachable(arrows, part, without=other)
    ]
    return "\n".join(["flowchart TD", *lines])


def main(root: Path) -> None:
    """Print a line and a flowchart for each top folder."""
    for top in TOPS:
        arrows = graph(root, top)
        largest = max(map(len, rings(arrows)), default=0)
        print(
            f"{top}: {len(arrows)} packages and modules, {sum(map(len, arrows.values()))} arrows, "
            f"{floors(arrows)} floors, largest ring {largest or 'none'}\n\n{flowchart(arrows)}\n"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path())
