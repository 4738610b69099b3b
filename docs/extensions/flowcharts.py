"""Draw Mermaid's flowcharts as SVG when the documentation is built, so that its pages load no
script and need no network.

Supports the notation that the pages use: `flowchart TD`, arrows `a --> b`, and labels
`a["text<br/>more"]` or `a[("text")]`. Rows are the longest paths from the top. Within a row, nodes
are sorted by the mean place of their neighbours, and lie as near to it as the widths allow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

_NODE = r'(\w+)(?:\[\(?"([^"]*)"\)?\])?'
_LINE = re.compile(rf"{_NODE}(?:\s*-->\s*{_NODE})?")
_LETTER, _LINE_HEIGHT, _MARGIN, _GAP, _ROW_GAP = 6.8, 15, 8, 16, 30  # pixels
_SWEEPS = 24

Labels = dict[str, tuple[str, ...]]
Arrows = list[tuple[str, str]]
Rows = list[list[str]]


class Layout(NamedTuple):
    """The nodes by row, the path of each arrow through the rows, and the centre of each node."""

    rows: Rows
    ways: list[list[str]]
    x: dict[str, float]


def fence(source: str, *_: Any, **__: Any) -> str:
    """The drawing of a fenced block, as pymdownx.superfences calls it."""
    return svg(*parsed(source))


def parsed(source: str) -> tuple[Labels, Arrows]:
    """The lines of each node's label, and the arrows. Raises ValueError for another notation."""
    head, *lines = [line.strip() for line in source.splitlines() if line.strip()]
    if head != "flowchart TD":
        raise ValueError(f"expected `flowchart TD`, got {head!r}")
    labels: Labels = {}
    arrows: Arrows = []
    for line in lines:
        match = _LINE.fullmatch(line)
        if match is None:
            raise ValueError(f"expected `a --> b`, got {line!r}")
        for name, label in (match.group(1, 2), match.group(3, 4)):
            if name and (label or name not in labels):
                labels[name] = tuple((label or name).split("<br/>"))
        if match[3]:
            arrows.append((match[1], match[3]))
    return labels, arrows


def row_of(names: Sequence[str], arrows: Arrows) -> dict[str, int]:
    """The row of each node: one below the lowest that points to it. A node without incoming arrows
    is just above the first that it points to."""
    rows = dict.fromkeys(names, 0)
    for _ in names:
        for a, b in arrows:
            rows[b] = max(rows[b], rows[a] + 1)
    if max(rows.values(), default=0) >= len(names) > 0:
        raise ValueError("the arrows go in a circle")
    for name in set(names) - {b for _, b in arrows}:
        rows[name] = min((rows[b] for a, b in arrows if a == name), default=1) - 1
    return rows


def crossings(rows: Rows, neighbours: dict[str, list[str]]) -> int:
    """Pairs of arrows between two rows that cross."""
    count = 0
    for upper, lower in pairwise(rows):
        place = {name: i for i, name in enumerate(lower)}
        ends = [sorted(place[b] for b in neighbours[a] if b in place) for a in upper]
        flat = [end for each in ends for end in each]
        count += sum(a > b for i, a in enumerate(flat) for b in flat[i + 1 :])
    return count


def spread(wanted: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Centres in the same order, without overlaps, as close as possible to the `wanted` ones (least
    squares).

    >>> spread([0.0, 0.0], [10.0, 10.0])
    [-13.0, 13.0]
    """
    before = [0.0]
    for a, b in pairwise(widths):
        before.append(before[-1] + (a + b) / 2 + _GAP)
    blocks: list[tuple[float, int]] = []  # the mean and the size of nodes that touch
    for want, offset in zip(wanted, before, strict=True):
        mean, size = want - offset, 1
        while blocks and blocks[-1][0] > mean:
            left, count = blocks.pop()
            mean, size = (left * count + mean * size) / (count + size), count + size
        blocks.append((mean, size))
    means = [mean for mean, size in blocks for _ in range(size)]
    return [mean + offset for mean, offset in zip(means, before, strict=True)]


def width(label: Sequence[str]) -> float:
    """The width of a node in pixels; `label` is empty where an arrow passes through a row."""
    return max((len(line) * _LETTER + 2 * _MARGIN for line in label), default=0.0)


def layout(labels: Labels, arrows: Arrows) -> Layout:
    """The places of all nodes; an arrow over several rows has an unlabelled node in each row that
    it crosses."""
    row = row_of(list(labels), arrows)
    rows: Rows = [[] for _ in range(max(row.values(), default=-1) + 1)]
    for name in labels:
        rows[row[name]].append(name)
    ways: list[list[str]] = []
    near: dict[str, list[str]] = {name: [] for name in labels}
    for a, b in arrows:
        passed = [f"{a} {b} {i}" for i in range(row[a] + 1, row[b])]
        for i, name in enumerate(passed, row[a] + 1):
            rows[i].append(name)
        ways.append([a, *passed, b])
        for one, other in pairwise(ways[-1]):
            near.setdefault(one, []).append(other)
            near.setdefault(other, []).append(one)
    best = [list(each) for each in rows]
    for sweep in range(_SWEEPS):
        order = range(1, len(rows)) if sweep % 2 == 0 else range(len(rows) - 2, -1, -1)
        for i in order:
            other = rows[i - 1] if sweep % 2 == 0 else rows[i + 1]
            rows[i] = _by_neighbours(rows[i], other, near)
        if crossings(rows, near) < crossings(best, near):
            best = [list(each) for each in rows]
    return Layout(best, ways, _centres(best, near, labels))


def _by_neighbours(row: list[str], other: list[str], near: dict[str, list[str]]) -> list[str]:
    place = {name: i for i, name in enumerate(other)}
    means = {
        name: _mean([place[b] for b in near[name] if b in place], i) for i, name in enumerate(row)
    }
    return sorted(row, key=lambda name: means[name])


def _mean(places: Sequence[float], default: float) -> float:
    return sum(places) / len(places) if places else default


def _centres(rows: Rows, near: dict[str, list[str]], labels: Labels) -> dict[str, float]:
    widths = {name: width(labels.get(name, ())) for row in rows for name in row}
    x = dict.fromkeys(widths, 0.0)
    for sweep in range(_SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = [_mean([x[b] for b in near[name]], x[name]) for name in row]
            x.update(zip(row, spread(wanted, [widths[name] for name in row]), strict=True))
    return x


def svg(labels: Labels, arrows: Arrows) -> str:
    """The drawing, in the colours of the surrounding page."""
    rows, ways, x = layout(labels, arrows)
    heights = [max(len(labels.get(n, ())) for n in row) * _LINE_HEIGHT + _MARGIN for row in rows]
    tops = [sum(heights[:i]) + i * _ROW_GAP for i in range(len(rows))]
    row = {name: i for i, names in enumerate(rows) for name in names}
    left = min(x[name] - width(labels.get(name, ())) / 2 for name in x)
    right = max(x[name] + width(labels.get(name, ())) / 2 for name in x)

    def path(way: Sequence[str]) -> Iterator[str]:
        at = [(x[name], tops[row[name]], heights[row[name]]) for name in way]
        yield f"M{at[0][0]:.0f} {at[0][1] + at[0][2]}"
        for (x0, top, height), (x1, y1, below) in pairwise(at):
            bend = _ROW_GAP / 2
            y0 = top + height
            yield f"C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f} {x1:.0f} {y1}"
            if (x1, y1, below) != at[-1]:
                yield f"V{y1 + below}"
        yield "m-3 -6 3 6 3 -6"

    def box(name: str, label: Sequence[str]) -> Iterator[str]:
        wide, high, top = width(label), heights[row[name]], tops[row[name]]
        first = top + (high - len(label) * _LINE_HEIGHT - _MARGIN) / 2
        yield f'<rect x="{x[name] - wide / 2:.0f}" y="{top}" width="{wide:.0f}" height="{high}" '
        yield 'rx="4" stroke-opacity=".5"/>'
        for i, line in enumerate(label, 1):
            y = first + i * _LINE_HEIGHT - 1
            yield f'<text x="{x[name]:.0f}" y="{y:.0f}" stroke="none" fill="currentColor" '
            yield f'text-anchor="middle">{escape(line)}</text>'

    drawn = [f'<path d="{"".join(path(way))}"/>' for way in ways]
    drawn += ["".join(box(name, label)) for name, label in labels.items()]
    size = f"{left - 2:.0f} -2 {right - left + 4:.0f} {tops[-1] + heights[-1] + 4}"
    description = escape("; ".join(f"{a} to {b}" for a, b in arrows), quote=True)
    style = "max-width: 100%; height: auto"
    return (
        f'<svg viewBox="{size}" width="{right - left + 4:.0f}" style="{style}" font-size="12" '
        f'fill="none" stroke="currentColor" role="img" aria-label="{description}">'
        f"{''.join(drawn)}</svg>"
    )
