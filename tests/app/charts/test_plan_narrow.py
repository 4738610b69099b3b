"""Pictures of a plan in a small window: no text overlaps another or leaves the picture."""

from dataclasses import replace
from itertools import combinations

import pytest

from app.charts.plan.front import front_drawing
from app.charts.plan.headline import headline_drawing
from app.charts.plan.queue import queue_drawing
from app.drawing import TABULATED, Box, Drawing, Pill, Text
from app.scenes.plan.front import front_scene
from app.scenes.plan.headline import headline_scene
from app.scenes.plan.queue import queue_scene
from simulator.planning.server.queue_detail import QueueDetail
from simulator.planning.spec_file import read
from tests.app.charts.plan_rows import ROWS, SERVE
from tests.app.charts.test_plan_charts import detail, leaves, text_box, words

FULL = replace(
    detail(), rate_per_s=1234.5, waiting=123.4, batch=249.1, slots=2560, prompt_s=0.0646,
    prompt_share=1.0, cached_tokens=1.14e6, cache_tokens=1_200_000,
)  # fmt: skip
BESIDE = replace(detail(), token_s=detail().token_s * 1.2)  # 99% arrive within 48 ms, of 50


def texts(drawing: Drawing) -> list[tuple[str, Box]]:
    items = leaves(drawing.items)
    written = [i for i in items if isinstance(i, Text)]
    written += [i.text for i in items if isinstance(i, Pill)]
    return [(text.words, text_box(text)) for text in written if text.words]


@pytest.mark.parametrize("queue", [detail(), FULL, BESIDE])
@pytest.mark.parametrize("height", [240, 270, 330])
@pytest.mark.parametrize("width", [300, 340, 400, 420, 470, 540, 700])
def test_no_text_of_a_queue_overlaps_another(width: int, height: int, queue: QueueDetail):
    boxes = texts(queue_drawing(queue_scene(read(SERVE), queue), width, height, TABULATED))
    overlaps = [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.intersects(other)]
    assert not overlaps
    assert all(box.left >= 0 and box.right <= width for _, box in boxes)


def test_a_narrow_queue_has_the_parts_in_words():
    drawing = queue_drawing(queue_scene(read(SERVE), detail()), 380, 270, TABULATED)
    assert {"10 a second, 3.4 waiting", "prefill busy 20%", "12.4 of 64 slots filled",
            "cache 25% full", "Time per token", "First token"} <= set(words(drawing))  # fmt: skip
    assert [spot.key for spot in drawing.spots] == [
        "Customers", "Prefill machine", "Decode line", "Cache shelf"
    ]  # fmt: skip


def test_the_points_that_are_not_shown_do_not_hide_the_axis():
    scene = replace(front_scene(read(SERVE), ROWS[:4]), left_out=26)
    for width in (300, 340, 420, 600):
        boxes = texts(front_drawing(scene, width, 270, TABULATED, None))
        title = next(box for text, box in boxes if text == scene.time_title)
        others = [box for text, box in boxes if "not shown" in text or text == "+26"]
        assert not any(title.intersects(box) for box in others)


def test_a_narrow_column_does_not_end_in_of():
    scene = headline_scene(read(SERVE), replace(ROWS[3], memory_share=0.41))
    narrow = words(headline_drawing(scene, 900, 92, TABULATED))
    assert "41%" in narrow and "of" not in narrow
