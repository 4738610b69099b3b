"""Pictures of plans: the positions of points, bars and slots, and the texts."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from app.charts.plan.front import front_drawing
from app.charts.plan.headline import headline_drawing, waiting_drawing
from app.charts.plan.queue import queue_drawing
from app.charts.plan.tornado import tornado_drawing, tornado_height
from app.drawing import (
    TABULATED,
    Box,
    Drawing,
    Group,
    Item,
    Line,
    Marker,
    Path,
    Pill,
    Rectangle,
    Text,
)
from app.drawing.items import SHARES_LEFT
from app.drawing.svg import document
from app.scenes.plan.front import front_scene, frontier
from app.scenes.plan.headline import headline_scene
from app.scenes.plan.queue import queue_scene
from app.scenes.plan.tornado import tornado_scene
from app.theme import DARK
from simulator.planning import Assumption, Plan
from simulator.planning.server.queue_detail import QueueDetail
from simulator.planning.spec_file import read
from tests.app.charts.plan_rows import ROWS, SERVE


def leaves(items: tuple[Item, ...]) -> list[Item]:
    return [x for i in items for x in ([*leaves(i.items)] if isinstance(i, Group) else [i])]


def words(drawing: Drawing) -> list[str]:
    items = leaves(drawing.items)
    return [i.words for i in items if isinstance(i, Text)] + [
        i.text.words for i in items if isinstance(i, Pill)
    ]


def test_no_point_beats_the_frontier_in_both_cost_and_time():
    points = [(3.0, 1.0), (1.0, 5.0), (2.0, 5.0), (2.0, 3.0), (4.0, 1.0), (5.0, 0.5)]
    assert frontier(points) == ((1.0, 5.0), (2.0, 3.0), (3.0, 1.0), (5.0, 0.5))


def test_cost_against_speed():
    scene = front_scene(read(SERVE), ROWS[:4])
    assert scene.time_title == "99% of tokens arrive within (ms)"
    assert scene.cost_title == "USD per million tokens"
    # 3.6 USD an hour for 1,000 tokens a second are 1 USD per million tokens
    assert [p.cost for p in scene.points] == pytest.approx([1.0, 2.0, 7.3 / 3.6, 0.5])
    assert scene.frontier == ((20.0, pytest.approx(2.0)), (30.0, pytest.approx(1.0)))
    assert scene.budget == pytest.approx(5.0) and scene.limit == 50
    assert [p.regime for p in scene.points] == ["memory", "compute", "overhead", "memory"]
    assert [p.label for p in scene.points[2:]] == ["L40S ×4 vllm", "L40S ×1 eager"]
    drawing = front_drawing(scene, 800, 400, TABULATED, scene.points[0].candidate)
    texts = words(drawing)
    assert {"limit 50 ms", "slower than the limit", "your budget 5.00"} <= set(texts)
    assert {"H200 SXM ×1 vllm", "H200 SXM ×2 vllm", "L40S ×4 vllm", "L40S ×1 eager"} <= set(texts)
    places = {spot.key: spot.box.centre for spot in drawing.spots}
    x = [places[p.candidate][0] for p in scene.points]
    assert x[1] < x[0] < x[2] < x[3]
    assert drawing.pick(*places[scene.points[2].candidate]) is not None
    rings = [i for i in leaves(drawing.items) if isinstance(i, Rectangle) and i.edge == "b"]
    assert [ring.box.centre for ring in rings] == [places[scene.points[0].candidate]]
    assert document(drawing, DARK).startswith("<svg ")


def test_the_name_of_a_limit_stays_inside_the_picture():
    spec = read(SERVE | {"limits": {"per_token": "31 ms"}})
    drawing = front_drawing(front_scene(spec, ROWS[:1]), 170, 300, TABULATED, None)
    (name,) = (i for i in leaves(drawing.items) if isinstance(i, Text) and i.words == "limit 31 ms")
    assert name.x + TABULATED.width(name.words, name.px, name.weight) / 2 <= 170


def test_points_without_a_price_are_counted_and_a_far_limit_is_named():
    spec = read(SERVE | {"limits": {"per_token": "1 s"}})
    rows = [*ROWS[:3], replace(ROWS[0], gpu="x", usd_per_h=None, usd_per_million=None)]
    drawing = front_drawing(front_scene(spec, rows), 900, 400, TABULATED, None)
    texts = words(drawing)
    assert "limit 1 s, farther right" in texts and "slower than the limit" not in texts
    assert "1 not shown: no price, or not simulated" in texts
    assert words(front_drawing(front_scene(spec, []), 900, 400, TABULATED, None)) == [
        "No candidate with a price and a time yet"
    ]


def test_a_training_is_drawn_over_its_duration():
    work = {"kind": "training", "network": "resnet50", "samples": "1M"}
    spec = read({"workload": work, "limits": {"deadline": "5 days"}, "candidates": {"gpus": "all"}})
    ends = (2 * 86400.0, 4 * 86400.0)
    one = replace(ROWS[0], duration_s=3 * 86400.0, duration_interval_s=ends, usd_total=90.0)
    scene = front_scene(spec, [one])
    assert (scene.time_title, scene.cost_title) == ("time of the run (days)", "USD in all")
    point = scene.points[0]
    assert point.time == pytest.approx(3.0) and point.time_interval == pytest.approx((2.0, 4.0))
    assert point.cost_interval == pytest.approx((60.0, 120.0)) and scene.limit == 5


def plan_of(assumptions: tuple[Assumption, ...]) -> Plan:
    return Plan("serving", "?", "!", ROWS, assumptions, figure="time per token at 99%")


RESTS = (
    Assumption("requests a second", "10", "your spec", "7.5", "12.5", 0.024, 0.060),
    Assumption("step time", "as predicted", "profile", "× 0.90", "× 1.10", 0.027, 0.033),
    Assumption("usable memory", "90%", "default", "80%", "95%", 0.03, 0.03),
    Assumption("batch", "8", "your spec", "4", "16", 0.025, float("nan")),
    Assumption("arrivals", "Poisson", "queueing"),
)


def test_the_tornado_crosses_the_limit():
    scene = tornado_scene(read(SERVE), plan_of(RESTS))
    assert scene is not None and scene.now_s == 0.030 and scene.limit_s == 0.05
    assert [bar.name for bar in scene.bars] == ["requests a second", "batch", "step time"]
    assert scene.bars[1].high_s is None and scene.still == 1
    drawing = tornado_drawing(scene, 480, tornado_height(scene), TABULATED)
    texts = words(drawing)
    for each in ("30 now", "limit 50", "Requests a second", "7.5", "12.5", "16: does not run",
                 "1 other moves it by less than 0.2%", "time per token at 99%, ms"):  # fmt: skip
        assert each in texts
    late = [i for i in leaves(drawing.items) if isinstance(i, Rectangle) and i.edge == "danger"]
    assert len(late) == 1  # only the interval that ends at 12.5 requests per second
    lines = [i for i in leaves(drawing.items) if isinstance(i, Line) and i.colour == "danger"]
    assert late[0].box.left == pytest.approx(lines[0].points[0][0])
    low = tornado_drawing(scene, 480, 40 + 25 + 24, TABULATED)
    assert "3 others move it less" in words(low)
    assert tornado_scene(read(SERVE), plan_of(RESTS[4:])) is None


def test_a_value_on_the_line_of_the_limit_is_drawn_over_it():
    near = Assumption("step time", "as predicted", "profile", "× 0.9", "× 1.18", 0.025, 0.047)
    scene = tornado_scene(read(SERVE), plan_of((near,)))
    assert scene is not None and scene.limit_s == 0.05
    items = list(leaves(tornado_drawing(scene, 480, tornado_height(scene), TABULATED).items))
    value = next(i for i in items if isinstance(i, Text) and i.words == "× 1.18")
    line = next(i for i in items if isinstance(i, Line) and i.colour == "danger")
    box = text_box(value)
    assert box.left < line.points[0][0] < box.right
    ground = next(
        i for i in items if isinstance(i, Rectangle) and i.fill == "bg1" and i.box.left < box.left
    )
    assert items.index(line) < items.index(ground) < items.index(value)
    assert ground.box.right > box.right


def test_the_farther_of_two_ends_on_one_side_is_named():
    budget = Assumption("token budget", "512", "your spec", "256", "1024", 0.034, 0.040)
    scene = tornado_scene(read(SERVE), plan_of((budget,)))
    assert scene is not None
    texts = words(tornado_drawing(scene, 480, tornado_height(scene), TABULATED))
    assert "1024" in texts and "256" not in texts


@pytest.mark.parametrize("width", [300, 350, 420, 600])
def test_no_text_of_a_tornado_overlaps_another(width: int):
    host = Assumption("host work between iterations", "1 ms", "default", "0.5×", "2×", 0.025, 0.041)
    narrow = Assumption("token budget", "512", "your spec", "half", "as it is", 0.0396, 0.0396)
    scene = tornado_scene(read(SERVE), plan_of((*RESTS, host, narrow)))
    assert scene is not None
    drawing = tornado_drawing(scene, width, tornado_height(scene), TABULATED)
    boxes = [
        (text.words, text_box(text)) for text in leaves(drawing.items) if isinstance(text, Text)
    ]
    overlaps = [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.intersects(other)]
    assert not overlaps
    assert all(box.left >= 0 and box.right <= width for _, box in boxes)


def text_box(text: Text) -> Box:
    wide = TABULATED.width(text.words, text.px, text.weight)
    return Box(text.x - SHARES_LEFT[text.anchor] * wide, text.y - text.px / 2, wide, text.px)


def test_the_caption_of_the_slow_area_avoids_marks_and_labels():
    late = [replace(ROWS[3], gpu=f"g{at}", usd_per_million=0.4 + 0.01 * at) for at in range(4)]
    drawing = front_drawing(front_scene(read(SERVE), [*ROWS[:3], *late]), 560, 270, TABULATED, None)
    items = leaves(drawing.items)
    caption = next(i for i in items if isinstance(i, Text) and i.words == "slower than the limit")
    marks = [Box.around(i.x, i.y, i.radius) for i in items if isinstance(i, Marker)]
    pills = [i.box for i in items if isinstance(i, Pill)]
    assert not any(text_box(caption).intersects(each) for each in (*marks, *pills))


def test_labels_keep_clear_of_the_ring_of_the_chosen_candidate():
    scene = front_scene(read(SERVE), ROWS[:3])
    drawing = front_drawing(scene, 560, 270, TABULATED, scene.points[0].candidate)
    items = leaves(drawing.items)
    ring = next(i.box for i in items if isinstance(i, Rectangle) and i.edge == "b")
    assert not any(ring.intersects(i.box) for i in items if isinstance(i, Pill))


def test_the_empty_bar_names_the_progress():
    drawing = waiting_drawing("Planning …", 1264, 92)
    assert words(drawing) == ["Planning …"] and drawing.title == "Planning …"


def detail() -> QueueDetail:
    gaps = np.repeat([0.010, 0.040, 0.060], [97, 2, 1])
    return QueueDetail(
        rate_per_s=10.0, replicas=2, token_s=gaps, tokens=np.full(100, 5.0),
        first_s=np.linspace(0.05, 0.3, 200), prompt_tokens=1000.0, output_tokens=100.0,
        prompt_s=0.02, decode_s=0.01, host_s=0.002, prompt_share=0.2, utilisation=0.8,
        batch=12.4, slots=64, waiting=3.4, cached_tokens=20_000.0, cache_tokens=80_000,
        budget=8192, preempted=7,
    )  # fmt: skip


def test_the_queue_counts_busy_slots():
    scene = queue_scene(read(SERVE), detail())
    token = scene.token
    # 99 of 100 iterations within 50 ms, and the percentile is the 99th
    assert token.within == pytest.approx(0.99) and token.percentile_s == pytest.approx(0.040)
    assert float(token.shares.sum()) + token.beyond == pytest.approx(1.0)
    drawing = queue_drawing(scene, 900, 420, TABULATED)
    texts = words(drawing)
    for each in ("Customers", "10 a second", "3.4 waiting on average", "Prefill machine",
                 "20 ms a prompt", "busy 20% of the time", "Decode line",
                 "one token each, every 10 ms", "12.4 of 64 slots filled",
                 "1,000 tokens a second", "Cache shelf", "20,000 of 80,000 tokens",
                 "25% of the cache in use", "of one of 2 replicas", "99% within 50 ms",
                 "99%: 40 ms", "limit 50 ms", "ms, 500 simulated tokens",
                 "ms, 200 simulated requests"):  # fmt: skip
        assert each in texts
    slots = [
        i
        for i in drawing.items
        if isinstance(i, Rectangle) and i.edge == "line2" and i.edge_width == 0.8
    ]
    assert len(slots) == 64 - 12
    lit = [i for i in drawing.items if isinstance(i, Marker) and i.radius == 4.2]
    assert len(lit) == round(0.2 * 3 * (int((drawing.spots[1].box.width - 28) // 19) + 1))
    assert [spot.key for spot in drawing.spots] == [
        "Customers", "Prefill machine", "Decode line", "Cache shelf"
    ]  # fmt: skip
    few = queue_scene(read(SERVE), replace(detail(), cached_tokens=90.0, cache_tokens=230_000))
    assert "90 of 230k" in words(queue_drawing(few, 540, 420, TABULATED))
    narrow = queue_drawing(scene, 420, 320, TABULATED)
    prefill, shelf = narrow.spots[1].box, narrow.spots[3].box
    ends = [x for i in narrow.items if isinstance(i, Path) for _, *at in i.steps for x in at[::2]]
    of_prefill = [x for x in ends if prefill.left < x < prefill.right + 4]
    assert of_prefill and max(of_prefill) < prefill.right
    texts = [i for i in narrow.items if isinstance(i, Text) and i.x == shelf.left]
    assert {"Cache", "20k of 80k", "25% full"} <= {i.words for i in texts}
    low = queue_drawing(scene, 900, 200, TABULATED)
    assert "Customers" not in words(low) and "Time per token" in words(low)


@pytest.mark.parametrize("width", [420, 462, 540, 700, 900])
@pytest.mark.parametrize("prompt_s", [0.0106, 0.0646, 1.25])
def test_words_stay_within_the_prefill_machine(width: float, prompt_s: float):
    scene = queue_scene(read(SERVE), replace(detail(), prompt_s=prompt_s))
    drawing = queue_drawing(scene, width, 320, TABULATED)
    house = drawing.spots[1].box
    inside = [
        text
        for text in drawing.items
        if isinstance(text, Text) and house.left < text.x < house.right and text.y < house.bottom
        if text.words
    ]
    assert len(inside) == 3
    for text in inside:
        reach = text.x + TABULATED.width(text.words, text.px, text.weight)
        assert reach <= house.right - 4, text.words
    arrow = drawing.spots[2].box.left - house.right
    assert arrow >= 16  # room for an arrow of 12 pixels


def test_the_verdict_bar_of_a_candidate():
    late = replace(ROWS[3], memory_share=0.41, largest_rate_per_s=5.0)
    scene = headline_scene(read(SERVE), late)
    assert (scene.name, scene.mode, scene.status) == ("L40S ×1", "eager, bf16", "too slow")
    figures = {f.label: (f.figure, f.unit, f.note, f.late) for f in scene.figures}
    assert figures == {
        "Cost per million tokens": ("0.50", "USD", "1.80 USD an hour", False),
        "Time per token, 99%": ("90", "ms of 50", "72 to 108", True),
        "First token, 99%": ("200", "ms of 1 s", "", False),
        "Carries at most": ("5", "a second", "0.5× the load", True),
        "Memory": ("41%", "of the card", "fits", False),
        "Energy": ("0.2", "J per token", "500 W including the building", False),
    }
    texts = words(headline_drawing(scene, 1600, 92, TABULATED))
    for each in ("L40S ×1", "eager, bf16; memory binds", "too slow", "ms of 50", "72 to 108"):
        assert each in texts
    narrow = words(headline_drawing(scene, 900, 92, TABULATED))
    assert "Cost" in narrow or "Cost per million tokens" not in narrow
