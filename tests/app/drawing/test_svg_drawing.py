"""Drawings as SVG text, read back by an independent parser."""

import subprocess
import sys
from base64 import b64decode
from pathlib import Path
from xml.etree import ElementTree
from zlib import decompress

import numpy as np
import pytest

from app.drawing import (
    Box,
    Drawing,
    Group,
    Item,
    Line,
    Marker,
    Mix,
    Pattern,
    Pill,
    Raster,
    Rectangle,
    Rectangles,
    Spot,
    Text,
    pill,
    polygon,
)
from app.drawing import (
    Path as Outline,
)
from app.drawing.svg import document, element, properties, variable
from app.theme import DARK, LIGHT, mixed

NAMES = "{http://www.w3.org/2000/svg}"


class Monospaced:
    """Letters of 6 px, lines of 13 px."""

    def width(self, words: str, px: int = 11, weight: int = 400, mono: bool = False) -> float:
        return 6.0 * len(words)

    def height(self, px: int = 11) -> float:
        return 13.0


def read(*items: Item, spots: tuple[Spot, ...] = ()) -> ElementTree.Element:
    return ElementTree.fromstring(document(Drawing(80, 60, items, spots), DARK))


def one(item: Item, tag: str) -> dict[str, str]:
    (element,) = (e for e in read(item).iter(NAMES + tag) if e.get("width") != "100%")
    return dict(element.attrib)


def test_a_document_has_its_size_ground_and_title() -> None:
    root = ElementTree.fromstring(document(Drawing(80, 60.5, (), title="A & B"), LIGHT))
    assert (root.get("viewBox"), root.get("width"), root.get("height")) == (
        "0 0 80 60.5",
        "80",
        "60.5",
    )
    assert root.findtext(NAMES + "title") == "A & B"
    assert [e.get("fill") for e in root.iter(NAMES + "rect")] == [LIGHT.bg1]


@pytest.mark.parametrize(
    ("item", "tag", "attributes"),
    [
        (Rectangle(Box(1, 2, 3, 4), "ink", radius=2), "rect",
         {"x": "1", "y": "2", "width": "3", "height": "4", "rx": "2", "fill": DARK.ink}),
        (Rectangle(Box(1, 2, 3, 4), edge="b", dash="dashed", edge_width=2), "rect",
         {"fill": "none", "stroke": DARK.b, "stroke-width": "2", "stroke-dasharray": "6.8 4.8"}),
        (Rectangle(Box(0, 0, 9, 9), Mix("memory", 0.25)), "rect",
         {"fill": mixed(DARK.memory.fill, DARK.bg1, 0.25)}),
        (Rectangle(Box(0, 0, 9, 9), Pattern("compute")), "rect", {"fill": DARK.compute.fill}),
        (Outline(polygon([(0, 0), (5, 0), (0, 5.25)]), "c", "danger"), "path",
         {"d": "M0 0L5 0L0 5.2Z", "fill": DARK.c, "stroke": DARK.danger, "stroke-width": "1"}),
        (Outline((("M", 0, 0), ("C", 1, 1, 2, 2, 3, 3)), edge="a"), "path",
         {"d": "M0 0C1 1 2 2 3 3", "fill": "none", "stroke": DARK.a}),
        (Rectangles((Box(1, 2, 3, 4), Box(5, 2, 1, 4)), "a", crisp=True), "path",
         {"d": "M1 2h3v4h-3zM5 2h1v4h-1z", "fill": DARK.a, "shape-rendering": "crispEdges"}),
        (Line(((0, 0), (4, 4)), "memory_ink", 2.2, opacity=0.5), "polyline",
         {"points": "0,0 4,4", "fill": "none", "stroke": DARK.memory.ink, "stroke-width": "2.2",
          "opacity": "0.5"}),
        (Marker(5, 6, "memory", 3), "circle",
         {"cx": "5", "cy": "6", "r": "3", "fill": DARK.memory.fill, "stroke": DARK.bg1}),
        (Marker(5, 6, None, 3, hollow=True), "circle", {"fill": DARK.bg1, "stroke": DARK.ink}),
        (Text(9, 20, "<b>", "ink3", 20, 600, "end", turn=30), "text",
         {"x": "9", "y": "27", "text-anchor": "end", "font-size": "20", "font-weight": "600",
          "transform": "rotate(30 9 20)", "fill": DARK.ink3}),
    ],
)  # fmt: skip
def test_an_item_becomes_its_element(item: Item, tag: str, attributes: dict[str, str]) -> None:
    element = one(item, tag)
    assert {name: element.get(name) for name in attributes} == attributes


def test_the_shapes_of_the_regimes_have_equal_areas() -> None:
    for regime in ("compute", "overhead"):
        text = one(Marker(50, 50, regime, 20), "polygon")["points"]
        points = [tuple(map(float, pair.split(","))) for pair in text.split()]
        turned = zip(points, [*points[1:], points[0]], strict=True)
        area = abs(sum(x0 * y1 - x1 * y0 for (x0, y0), (x1, y1) in turned)) / 2
        assert area == pytest.approx(np.pi * 20**2, rel=0.01)


def test_a_casing_lies_below_its_line() -> None:
    lines = read(Line(((0, 0), (4, 4)), "ink", 2.2, casing="bg0")).findall(NAMES + "polyline")
    assert [(e.get("stroke"), e.get("stroke-width")) for e in lines] == [
        (DARK.bg0, "5.2"),
        (DARK.ink, "2.2"),
    ]


def test_each_pattern_is_defined_once() -> None:
    fills = (
        Pattern("memory"),
        Pattern("memory"),
        Pattern("overhead", 0.55, False),
        Pattern("idle"),
    )
    root = read(*(Rectangle(Box(0, 0, 5, 5), fill) for fill in fills))
    assert [e.get("id") for e in root.iter(NAMES + "pattern")] == [
        "idle-100",
        "memory-100",
        "overhead-55-bare",
    ]
    dots, bare = list(root.iter(NAMES + "pattern"))[1:]
    assert dots.find(NAMES + "rect") is not None and bare.find(NAMES + "rect") is None
    used = [e.get("fill") for e in root.iter(NAMES + "rect") if e.get("x") == "0"]
    assert used == ["url(#memory-100)"] * 2 + ["url(#overhead-55-bare)", "url(#idle-100)"]


def test_a_pill_is_as_wide_as_its_text() -> None:
    label = pill(Monospaced(), 40, 30, "abc", anchor="end")
    assert label.box == Box(40 - 28, 30 - 8, 28, 16)  # 3·6 + 10 and 13 + 3
    root = read(label)
    (ground,) = (e for e in root.iter(NAMES + "rect") if e.get("rx"))
    assert (ground.get("fill"), ground.get("opacity")) == (DARK.bg1, "0.92")
    assert root.findtext(NAMES + "text") == "abc"
    assert one(Pill(label.box, label.text, "bg3"), "rect").get("opacity") is None


def test_a_group_is_clipped_to_its_box() -> None:
    root = read(Group((Line(((0, 0), (90, 9))),), Box(5, 6, 70, 8)))
    (clip,) = root.iter(NAMES + "clipPath")
    (box,) = clip
    assert (box.get("x"), box.get("y"), box.get("width"), box.get("height")) == (
        "5",
        "6",
        "70",
        "8",
    )
    (group,) = root.iter(NAMES + "g")
    assert group.get("clip-path") == f"url(#{clip.get('id')})" and len(group) == 1


def test_a_raster_is_a_png_with_a_palette() -> None:
    cells = np.array([[0, 1], [1, 1], [0, 0]], np.uint8)
    address = one(Raster(Box(0, 0, 4, 6), ("memory", "bg1"), cells), "image")["href"]
    data = b64decode(address.removeprefix("data:image/png;base64,"))
    assert data[16:24] == (2).to_bytes(4, "big") + (3).to_bytes(4, "big")  # width, height
    palette = bytes.fromhex(DARK.memory.fill[1:] + DARK.bg1[1:])
    assert data[data.index(b"PLTE") + 4 :][:6] == palette
    at = data.index(b"IDAT")
    size = int.from_bytes(data[at - 4 : at], "big")
    assert decompress(data[at + 4 : at + 4 + size]) == bytes([0, 0, 1, 0, 1, 1, 0, 0, 0])


def test_a_spot_with_a_tooltip_covers_its_region() -> None:
    spots = (Spot("a", Box(0, 0, 9, 9), "a < b", True), Spot("b", Box(9, 9, 9, 9)))
    root = read(spots=spots)
    assert [e.text for e in root.iter(NAMES + "title")] == ["a < b"]
    assert [e.get("rx") for e in root.iter(NAMES + "ellipse")] == ["4.5"]


def test_a_page_names_its_colours_and_defines_each() -> None:
    items = (
        Rectangle(Box(0, 0, 1, 1), Mix("memory", 0.07)),
        Rectangle(Box(0, 0, 1, 1), Pattern("idle")),
        Text(0, 0, "x", "compute_ink"),
    )
    drawing = Drawing(10, 10, items)
    text = element(drawing, variable)
    used = {part.split(")")[0] for part in text.split("var(--")[1:]}
    declared = properties([drawing], LIGHT)
    assert used == set(declared) == {
        "memory-7-bg1", "overhead-50-bg1", "overhead-10-bg1", "compute-ink",
    }  # fmt: skip
    assert declared["memory-7-bg1"] == mixed(LIGHT.memory.fill, LIGHT.bg1, 0.07)


def test_an_svg_file_needs_no_qt(tmp_path: Path) -> None:
    code = (
        "import sys; from app.commands.written import Written; "
        "from app.drawing import Drawing, Text; from app.widgets.drawing import put; "
        "files = Written(svg=sys.argv[1], theme='light'); "
        "put(files, lambda metrics: Drawing(9, 9, (Text(0, 5, 'µs'),))); "
        "print([name for name in sys.modules if name.startswith('PySide6')])"
    )
    path = tmp_path / "d.svg"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
    assert ElementTree.parse(path).getroot().findtext(NAMES + "text") == "µs"


def test_communication_has_a_diamond_and_a_zigzag():
    items = (
        Rectangle(Box(0, 0, 40, 10), Pattern("communication")),
        Rectangle(Box(0, 10, 40, 10), Pattern("bubble")),
        Marker(20, 20, "communication", 10),
    )
    text = document(Drawing(40, 40, items), DARK)
    assert '<pattern id="communication-100" width="10" height="7"' in text
    assert 'stroke="#009E73" stroke-width="1.8"' in text and 'fill="#083C2E"' in text
    assert '<pattern id="bubble-100" width="9" height="9"' in text
    assert 'points="20,7.5 32.5,20 20,32.5 7.5,20"' in text
