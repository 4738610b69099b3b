"""The drawings of the documentation: hand-computed places, and no overlaps."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest

from docs.extensions import flowcharts

DOCS = Path(__file__).parent.parent / "docs"
SOURCES = [
    source
    for page in sorted(DOCS.rglob("*.md"))
    for source in re.findall(r"```mermaid\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
]


def test_labels_and_arrows_are_read() -> None:
    labels, arrows = flowcharts.parsed(
        'flowchart TD\n  a["one<br/>two"] --> b\n  b --> c[("three")]\n  a --> c\n'
    )
    assert labels == {"a": ("one", "two"), "b": ("b",), "c": ("three",)}
    assert arrows == [("a", "b"), ("b", "c"), ("a", "c")]


@pytest.mark.parametrize("source", ["flowchart LR\n  a --> b", "flowchart TD\n  a -.-> b"])
def test_another_notation_is_refused(source: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        flowcharts.parsed(source)


def test_a_row_is_the_longest_way_from_the_top() -> None:
    arrows = [("a", "b"), ("b", "c"), ("a", "c"), ("d", "c")]
    rows = flowcharts.row_of(["a", "b", "c", "d"], arrows)
    assert rows == {"a": 0, "b": 1, "c": 2, "d": 1}  # d moves down to its only arrow


def test_a_circle_has_no_rows() -> None:
    with pytest.raises(ValueError, match="circle"):
        flowcharts.row_of(["a", "b"], [("a", "b"), ("b", "a")])


def test_nodes_are_sorted_so_that_arrows_do_not_cross() -> None:
    labels = {name: (name,) for name in "abcd"}
    arrows = [("a", "d"), ("b", "c")]
    rows, _, x = flowcharts.layout(labels, arrows)
    near = {"a": ["d"], "b": ["c"], "c": ["b"], "d": ["a"]}
    assert flowcharts.crossings([["a", "b"], ["c", "d"]], near) == 1
    assert flowcharts.crossings(rows, near) == 0
    assert x["a"] == pytest.approx(x["d"]) and x["b"] == pytest.approx(x["c"])


def test_nodes_lie_apart_and_near_to_their_places() -> None:
    # each needs (10 + 10)/2 + 16 = 26 between centres; the first two push each other by 13
    assert flowcharts.spread([0, 0, 100], [10, 10, 10]) == [-13, 13, 100]
    assert flowcharts.spread([50, 0], [10, 10]) == [12, 38]  # their order stays


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.splitlines()[1].strip())
def test_a_drawing_of_the_pages_shows_each_label(source: str) -> None:
    labels, arrows = flowcharts.parsed(source)
    drawing = ElementTree.fromstring(flowcharts.fence(source))
    left, top, width, height = map(float, drawing.attrib["viewBox"].split())
    texts = [element.text for element in drawing.iter("text")]
    assert texts == [line for label in labels.values() for line in label]
    assert len(list(drawing.iter("path"))) == len(arrows)
    boxes = [
        tuple(float(element.attrib[key]) for key in ("x", "y", "width", "height"))
        for element in drawing.iter("rect")
    ]
    for x, y, w, h in boxes:
        assert left <= x and x + w <= left + width and top <= y and y + h <= top + height
    for (x, y, w, h), (x2, y2, w2, h2) in combinations(boxes, 2):
        assert x + w < x2 or x2 + w2 < x or y + h < y2 or y2 + h2 < y


def test_the_pages_have_drawings() -> None:
    assert len(SOURCES) == 4
