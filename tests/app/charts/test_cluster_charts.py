"""The pictures of a step over several GPUs: their figures, and texts inside their picture."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest

from app.answers.cluster.answer import Span
from app.answers.cluster.page import Clustered
from app.answers.cluster.words import product_words, ranks_words, what_if_words, whole_percents
from app.charts.cluster.bubbles import bubbles
from app.charts.cluster.collectives import collectives_drawing
from app.charts.cluster.fabric import fabric_drawing
from app.charts.cluster.gpu_box import gpu_items
from app.charts.cluster.headline import cluster_headline
from app.charts.cluster.lanes import lanes_drawing
from app.charts.cluster.memory import memory_drawing
from app.charts.cluster.ranks import ranks_drawing
from app.charts.cluster.scaling import scaling_drawing
from app.drawing import TABULATED, Box, Drawing, Group, Item, Pill, Text
from app.drawing.items import SHARES_LEFT
from app.drawing.svg import document
from app.theme import DARK
from tests.app.cluster_answers import ALONE, ANSWER, CHOICE, CLUSTERED, SHARES


def _texts(items: Iterable[Item]) -> Iterable[Text]:
    for item in items:
        if isinstance(item, Group):
            yield from _texts(item.items)
        elif isinstance(item, Pill):
            yield item.text
        elif isinstance(item, Text):
            yield item


def words(drawing: Drawing) -> list[str]:
    return [text.words for text in _texts(drawing.items)]


def scaling(clustered: Clustered, width: float, height: float) -> Drawing:
    return scaling_drawing(clustered.points or (), 16, 8, width, height, TABULATED)


DRAWINGS: dict[str, Callable[[Clustered, float, float], Drawing]] = {
    "ranks": lambda c, w, h: ranks_drawing(c.answer, w, h, TABULATED),  # pyright: ignore
    "collectives": lambda c, w, h: collectives_drawing(c.answer, w, h, TABULATED),  # pyright: ignore
    "fabric": lambda c, w, h: fabric_drawing(c.answer, w, h, TABULATED),  # pyright: ignore
    "lanes": lambda c, w, h: lanes_drawing(c.answer, w, h, TABULATED),  # pyright: ignore
    "memory": lambda c, w, h: memory_drawing(c.answer, w, h, TABULATED),  # pyright: ignore
    "scaling": scaling,
}


@pytest.mark.parametrize("name", list(DRAWINGS))
@pytest.mark.parametrize("size", [(400, 200), (460, 330), (790, 420), (1200, 700)])
@pytest.mark.parametrize("clustered", [CLUSTERED, ALONE])
def test_texts_stay_in_their_picture(name: str, size: tuple[int, int], clustered: Clustered):
    drawing = DRAWINGS[name](clustered, *size)
    for text in _texts(drawing.items):
        wide = TABULATED.width(text.words, text.px, text.weight)
        left = text.x - SHARES_LEFT[text.anchor] * wide
        assert left >= -1 and left + wide <= size[0] + 1, text
    assert document(drawing, DARK).startswith("<svg")


def test_the_bar_says_regime_shares_and_figures():
    drawing = cluster_headline(CLUSTERED, 1400, 92, TABULATED)
    assert words(drawing) == [
        "Compute-bound", "shares of the critical path",
        "65% compute", "13% memory", "5% overhead", "17% communication",
        "Time per step", "100", "ms", "90 to 120", "Throughput", "320", "samples/s",
        "41,000 tokens/s", "Share of ideal", "90%", "", "of 4 × one replica", "Memory per rank",
        # 32e9 / 2^30 = 29.8 GiB, the unit of the other pages
        "29.8", "GiB", "fits, 37% of 80.0 GiB", "Exposed communication", "15.0", "ms",
        "of 20.0 ms in all",
    ]  # fmt: skip


def test_the_bar_ends_with_the_power_of_all_gpus_if_it_is_wide():
    """9 columns of at least 130 pixels."""
    drawn = replace(CLUSTERED, answer=replace(ANSWER, watts=10_500.0, joules=1_050.0))
    assert words(cluster_headline(drawn, 1200, 92, TABULATED))[-4:] == [
        "Power of 16 GPUs", "10,500", "W", "1.05 kJ a step"
    ]  # fmt: skip
    narrow = words(cluster_headline(drawn, 1160, 92, TABULATED))
    assert "Power of 16 GPUs" not in narrow
    assert narrow == words(cluster_headline(CLUSTERED, 1160, 92, TABULATED))
    assert "15.0" in words(cluster_headline(CLUSTERED, 900, 92, TABULATED))  # exposed, in ms


def test_shares_in_percent_sum_to_100():
    assert whole_percents(SHARES) == {
        "compute": 65,
        "memory": 13,
        "overhead": 5,
        "communication": 17,
    }
    assert whole_percents({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3}) == {"a": 34, "b": 33, "c": 33}


def test_ranks_show_the_parts_of_their_time():
    texts = words(DRAWINGS["ranks"](CLUSTERED, 790, 220))
    assert texts[:5] == [
        "compute", "memory", "overhead and host", "waits for a rank", "exposed communication"
    ]  # fmt: skip
    assert "Ranks 8 to 15" in texts and "stage 2 of 2" in texts and "busy 72%" in texts
    assert texts.count("sets the pace") == 1
    few = words(DRAWINGS["ranks"](CLUSTERED, 790, 60))
    assert "1 more: see the table" in few


@pytest.mark.parametrize("width", [330, 420, 600])
def test_a_listed_name_ends_before_its_figure(width: int):
    texts = list(_texts(DRAWINGS["ranks"](ALONE, width, 260).items))
    lines = [text for text in texts if text.colour == "ink2" and text.anchor == "start"]
    listed = [text for text in lines if text.y > texts[0].y]
    assert len(listed) >= 3
    for name in listed:
        figure = next(t for t in texts if t.y == name.y and t.anchor == "end")
        ends = name.x + TABULATED.width(name.words, name.px)
        assert ends < figure.x - TABULATED.width(figure.words, figure.px)


def test_collectives_are_listed_with_their_exposed_time():
    texts = words(DRAWINGS["collectives"](CLUSTERED, 790, 200))
    first = texts.index("all-reduce")
    assert texts[first : first + 8] == [
        "all-reduce", "backward, 4 ranks", "12 ×", "3.81 to 26.7 MiB", "ring, Simple", "1.00 ms",
        "12.0 ms", "11.0 ms",
    ]  # fmt: skip
    narrow = words(DRAWINGS["collectives"](CLUSTERED, 400, 200))
    assert "ring, Simple" not in narrow and "11.0 ms" in narrow
    assert words(DRAWINGS["collectives"](ALONE, 400, 200)) == [
        "No GPU waits for another: this step has no collectives."
    ]


def test_roads_are_named_with_their_use():
    drawing = DRAWINGS["fabric"](CLUSTERED, 1200, 700)
    texts = words(drawing)
    assert {"Node 0", "Node 1", "NVSwitch", "InfiniBand", "8 × 50 GB/s"} < {*texts}
    assert "450 GB/s a GPU, each way" in texts
    assert "20 GB/s in use, 4%; 167 GB/s while a collective runs" in texts
    assert "4 GB/s in use, 1%" in texts
    assert [spot.key for spot in drawing.spots if isinstance(spot.key, int)] == [*range(16)]


def test_a_narrow_gpu_names_each_part_of_its_time():
    items = gpu_items(ANSWER, 0, Box(0, 0, 130, 260), TABULATED, "GPU 0")
    texts = [item.words for item in items if isinstance(item, Text)]
    assert {"compute", "memory", "host", "exposed"} < {*texts}


def test_the_scaling_marks_the_count_and_where_communication_takes_over():
    texts = words(scaling(CLUSTERED, 790, 420))
    assert {"90% of ideal", "ideal", "communication takes over at 32", "one node"} < {*texts}
    assert words(scaling(ALONE, 400, 200)) == ["Only one number of GPUs: this split cannot scale."]


def test_bubbles_are_waits_while_no_kernel_runs():
    """Kernels run from 0 to 30 and from 32 to 90 ms; a wait from 25 to 40 ms is a bubble from 30 to
    32 ms.
    """
    rank = replace(ANSWER.ranks[0], communication=(Span("wait", 25e-3, 40e-3, 0),))
    assert bubbles(rank) == [(30e-3, 32e-3)]
    late = replace(rank, communication=(Span("wait", 80e-3, 95e-3), Span("wait", 94e-3, 97e-3)))
    assert bubbles(late) == [(90e-3, 97e-3)]
    texts = words(
        lanes_drawing(replace(ANSWER, ranks=(late,)), 1200, 300, TABULATED, (80e-3, 97e-3))
    )
    assert "bubble 7.00 ms" in texts and "bubble, no kernel" in texts and "10% bubble" in texts


def test_a_zoomed_timeline_shows_the_visible_part():
    whole = lanes_drawing(ANSWER, 1200, 300, TABULATED)
    part = lanes_drawing(ANSWER, 1200, 300, TABULATED, (40e-3, 60e-3))
    assert {"0", "20", "80"} < {*words(whole)} and "80" not in words(part)
    assert {"46", "50"} < {*words(part)}
    bars = [spot.box for spot in part.spots if spot.key == 0]
    assert max(box.right for box in bars) <= 1200


def test_words():
    assert ranks_words((0, 2, 4)) == "ranks 0, 2, 4" and ranks_words((3,)) == "rank 3"
    assert product_words(CHOICE) == ("4 × 2 × 2 = 16 GPUs ✓", True)
    assert what_if_words("fsdp=1") == "Shard the weights"
