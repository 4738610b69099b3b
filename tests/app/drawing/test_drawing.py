"""Boxes, picking, colours, text measurement and labels of drawings."""

import pytest

from app.drawing import TABULATED, Box, Drawing, Mix, Spot, elided, fitting, hex_colour
from app.drawing.labels import Labels
from app.theme import DARK, LIGHT, mixed


def test_boxes() -> None:
    box = Box(10, 20, 30, 40)
    assert (box.right, box.bottom, box.centre) == (40, 60, (25, 40))
    assert box.grown(1) == Box(9, 19, 32, 42) and box.grown(-1, 2) == Box(11, 18, 28, 44)
    assert Box.between(10, 20, 40, 60) == box and Box.around(5, 6, 2) == Box(3, 4, 4, 4)
    assert box.moved(1, -1) == Box(11, 19, 30, 40)
    assert box.holds(40, 60) and not box.holds(41, 60)
    assert box.contains(Box(10, 20, 1, 1)) and not box.contains(Box(9, 20, 9, 1))
    assert box.intersects(Box(39, 59, 9, 9)) and not box.intersects(Box(40, 20, 9, 9))


def test_the_pointer_picks_the_topmost_item() -> None:
    below, above = Spot("below", Box(0, 0, 20, 20)), Spot("above", Box(10, 10, 20, 20), "", True)
    drawing = Drawing(40, 40, (), (below, above))
    assert drawing.pick(1, 1) == below and drawing.pick(20, 20) == above
    assert drawing.pick(11, 11) == below  # a corner outside the ellipse
    assert drawing.pick(35, 35) is None


def test_colours_follow_the_theme() -> None:
    assert [hex_colour("memory", t) for t in (DARK, LIGHT)] == ["#E69F00", "#C27C00"]
    assert hex_colour("overhead_ink", DARK) == DARK.overhead.ink
    assert [hex_colour("on_compute", t) for t in (DARK, LIGHT)] == [DARK.bg0, LIGHT.bg2]
    assert hex_colour(Mix("b", 0.5, "bg0"), DARK) == mixed(DARK.b, DARK.bg0, 0.5)


def test_the_table_has_the_widths_of_the_font() -> None:
    # DejaVu Sans: "a" 1255, "i" 569 of 2048 units; bold "a" 1382; mono 1233
    assert TABULATED.width("aai", 16) == pytest.approx(16 * (2 * 1255 + 569) / 2048, abs=0.01)
    assert TABULATED.width("a", 16, 600) == pytest.approx(16 * 1382 / 2048, abs=0.01)
    assert TABULATED.width("ai", 16, mono=True) == pytest.approx(16 * 2 * 1233 / 2048, abs=0.01)
    assert TABULATED.height(100) == pytest.approx(116.4, abs=0.1)


def test_text_is_elided_in_its_middle() -> None:
    words = "encoder.layer.4.attention"
    assert elided(TABULATED, words, 1000) == words
    short = elided(TABULATED, words, 80)
    assert TABULATED.width(short) <= 80 < TABULATED.width(short.replace("…", "…n"))
    head, tail = short.split("…")
    assert words.startswith(head) and words.endswith(tail) and 0 <= len(head) - len(tail) <= 1
    assert elided(TABULATED, words, 1) == "…"
    assert fitting(TABULATED, 30, "long words here", "short", "s") == "short"
    assert fitting(TABULATED, 1, "long", "s") == "s"


def test_labels_do_not_overlap() -> None:
    labels = Labels(Box(0, 0, 100, 60))
    boxes = [labels.beside(50, 30, 5, 30, 10) for _ in range(5)]
    placed = [box for box in boxes if box is not None]
    assert placed[0] == Box(58, 25, 30, 10)  # right of the mark: 50 + 5 + 3
    assert len(placed) == 5
    for index, box in enumerate(placed):
        assert labels.inside.contains(box)
        assert not any(box.intersects(other) for other in placed[:index])
    assert Labels(Box(0, 0, 20, 20)).beside(10, 10, 5, 30, 10) is None
