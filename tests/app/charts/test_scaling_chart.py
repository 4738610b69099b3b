"""The labels of the scaling curve do not hide its points, and applied what-ifs are not offered."""

from itertools import pairwise

import pytest

from app.answers.cluster.choice import ClusterChoice, ClusterQuestion
from app.answers.cluster.scaling import Point, what_ifs
from app.answers.cluster.words import link_words
from app.charts.cluster.scaling import scaling_drawing
from app.drawing import TABULATED, Marker, Pill
from simulator.cluster import cluster
from simulator.parallel import whatifs
from simulator.parallel.whatifs import Effect
from simulator.scenario.scenario import Scenario

SHARES = {"compute": 1.0, "memory": 0.0, "overhead": 0.0, "communication": 0.0}


def steps(counts: tuple[int, ...], efficiency: float) -> list[Point]:
    """Steps of 10 ms on one GPU, slower by the same factor on each larger number of GPUs."""
    points: list[Point] = []
    for count in counts:
        share = efficiency if count > 1 else 1.0
        period_s = 0.01 / share
        ends = 0.9 * period_s, 1.2 * period_s
        rate = 16 * count / period_s
        points.append(Point(count, count, period_s, ends, rate, share, SHARES, "compute"))  # pyright: ignore
    return points


@pytest.mark.parametrize("size", [(220, 300), (274, 330), (420, 330), (790, 420), (1200, 700)])
@pytest.mark.parametrize("efficiency", [1.0, 0.85, 0.3])
@pytest.mark.parametrize("counts", [(1, 2, 4, 8), (1, 2), (1, 2, 4, 8, 16, 32, 64)])
def test_the_share_of_the_ideal_hides_no_point(
    size: tuple[int, int], efficiency: float, counts: tuple[int, ...]
):
    for now in counts:
        drawing = scaling_drawing(steps(counts, efficiency), now, 8, *size, TABULATED)
        pills = [item for item in drawing.items if isinstance(item, Pill)]
        label = next(item for item in pills if "of ideal" in item.text.words)
        markers = [item for item in drawing.items if isinstance(item, Marker)]
        assert len(markers) == len(counts)
        assert [m for m in markers if label.box.holds(m.x, m.y)] == [], now
        for one, other in pairwise(sorted(markers, key=lambda m: m.x)):
            for share in (0.25, 0.5, 0.75):
                x, y = one.x + share * (other.x - one.x), one.y + share * (other.y - one.y)
                assert not label.box.holds(x, y), (now, x, y)


def test_a_what_if_that_the_step_contains_is_not_offered_again(monkeypatch: pytest.MonkeyPatch):
    listed = [Effect("link_speed=2", None, "x"), Effect("recompute=1", None, "x")]
    monkeypatch.setattr(whatifs, "effects", lambda step, progress: listed)
    scenario = Scenario("gpt2", training=True)
    for more, offered in (
        ("", ["link_speed=2", "recompute=1"]),
        ("+link_speed=2", ["recompute=1"]),
        ("recompute +link_speed=2", []),
        ("+link_speed=4", ["link_speed=2", "recompute=1"]),
    ):
        question = ClusterQuestion(scenario, ClusterChoice("8xh200", dp=8, more=more))
        assert [each.text for each in what_ifs(question, print)] == offered


def test_the_links_of_another_vendor_have_their_own_name():
    named = {name: link_words(cluster(f"8x{name}")) for name in ("mi355x", "l40s", "h200")}
    assert named == {"mi355x": "Infinity Fabric x7", "l40s": "PCIe", "h200": "NVSwitch"}
