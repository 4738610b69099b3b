"""The factory shows the figures of the prediction, and moves only if animation is allowed."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.scenes.factory import factory
from app.theme import DARK, LIGHT, Theme
from app.views.factory import paint
from app.views.factory.help import improvements
from app.views.factory.lanes import Lane, lanes_of
from app.views.factory.motion import TRUCKS, average
from app.views.factory.paint import BOXES
from app.views.factory.plan import cells, plan
from app.views.factory.view import Factory
from app.widgets import paint as widget_paint
from app.widgets.paint import elided
from simulator.scenario.scenario import Applied, Scenario, predict
from tests.app.views.conftest import picture, svg


@pytest.fixture(scope="module")
def graph() -> Side:
    scenario = Scenario("mlp-tiny", mode="cuda_graph")
    return Side("A", "Graph", scenario, predict(scenario))


def test_orders_rates_and_uses_are_the_predictions(side: Side):
    p = side.prediction
    f = factory(p)
    kernels = p.kernels
    assert f.orders == p.kernel_count == len(kernels)
    assert f.order_s == pytest.approx(p.host_s / len(kernels))
    # the desks add up to the host's work
    assert sum(s for _, s in f.desks) == pytest.approx(p.host_s, rel=1e-9)
    assert {name for name, _ in f.desks} <= {
        "Python",
        "modules",
        "dispatcher",
        "autograd",
        "launch",
    }
    assert f.traffic_bytes == sum(k.bytes for k in kernels)
    moved = sum(k.bytes for k in kernels) / p.period_s
    assert f.road_use == pytest.approx(moved / 4.8e12)  # of an H200's bandwidth
    assert f.flops_per_s == pytest.approx(p.flops / p.period_s)
    assert f.units == 132 and 0 < f.machines_use < 0.01
    # fp32 products run on vector units: 66.9 TFLOP/s
    flops = sum(k.flops / p.gpu.vector_flops_per_s["fp32"] for k in kernels)
    assert f.machines_use == pytest.approx(flops / p.period_s)


def test_a_faster_rate_of_overhead_shortens_the_hosts_work():
    """The host's pieces of work are as short as in the step's schedule, and do not overlap."""
    scenario = Scenario("mlp-tiny", whatifs=(Applied("rate", {"of": "all", "times": 2.0}),))
    p = predict(scenario)
    f = factory(p)
    assert p.host_s == pytest.approx(predict(Scenario("mlp-tiny")).host_s / 2)
    assert sum(s for _, s in f.desks) == pytest.approx(p.host_s, rel=1e-9)
    for lane in lanes_of(f):
        assert (np.diff(lane.begin_s) >= 0).all()
        assert (lane.begin_s[1:] - lane.end_s[:-1]).min() > -1e-12
        assert lane.filled(np.linspace(0.0, f.span_s, 301)).max() <= 1 + 1e-9


def test_who_waits_for_whom_adds_up(side: Side, variant: Side, graph: Side):
    for each in (side, variant, graph):
        p = each.prediction
        wait = {(w.who, w.what): w.seconds for w in factory(p).waits}
        both = np.minimum(p.columns.compute_s, p.columns.memory_s).sum()
        # during a step the GPU computes, moves data, starts and ends kernels, or waits for the host
        parts = [
            wait["Machines", "managers"],
            wait["Machines", "trucks"],
            wait["Trucks", "machines"],
            wait["Both", "starts and ends"],
        ]
        assert sum(parts) + both == pytest.approx(p.period_s, rel=1e-9)
        assert wait["Managers", "the floor"] == pytest.approx(max(0, p.period_s - p.host_s))
    # with a slow host, the GPU waits during most of the step
    slow = predict(Scenario("mlp-tiny", whatifs=(Applied("host_speed", {"times": 0.5}),)))
    assert factory(slow).waits[0].seconds > 0.5 * slow.period_s
    assert factory(graph.prediction).waits[0].seconds == 0


def test_a_graph_is_one_order(graph: Side):
    f = factory(graph.prediction)
    assert f.orders == 1 and f.queue_most == graph.prediction.kernel_count - 1
    assert f.desks == (("one launch of the graph", graph.prediction.host_s),)


def test_few_kernels_per_order_are_not_rounded_to_one(shown: Any, tmp_path: Path):
    scenario = Scenario("gpt2", mode="compiled", batch=2, seq=32, sizes={"layers": 2})
    p = predict(scenario)
    orders = factory(p).orders
    assert orders < p.kernel_count < 2 * orders  # generated kernels, and kernels of libraries
    view = shown(Factory, (Side("A", "A", scenario, p),), size=(1280, 700))
    text = svg(view, tmp_path / "f.svg")
    assert "kernels per order" in text and ">1 kernels per order" not in text


def test_the_activity_at_a_time_is_that_of_the_schedule(side: Side):
    p = side.prediction
    f = factory(p)
    k = p.kernels[3]
    middle = k.start_s + k.duration_s / 2
    assert f.kernel_at(middle) == 3
    assert f.trucking[3] == pytest.approx(min(1, k.bytes / k.duration_s / 4.8e12))
    assert f.kernel_at(k.start_s - 1e-9) != 3 and f.kernel_at(-1.0) is None
    handed = sum(each.issue_s <= middle for each in p.kernels)
    begun = sum(each.start_s <= middle for each in p.kernels)
    assert f.waiting_at(middle) == handed - begun
    assert f.queue_most == max(f.waiting_at(each.start_s) for each in p.kernels)


def test_lanes_are_filled_by_work(side: Side):
    lane = Lane("Trucks", 0.5, np.array([0.0, 2.0]), np.array([1.0, 3.0]), "")
    assert lane.filled(np.array([0.0, 0.5, 1.5, 2.5, 4.0])).tolist() == [1.0, 0.5, 0.5, 1 / 3]
    f = factory(side.prediction)
    managers, trucks, machines = lanes_of(f)
    whole = np.array([0.0, f.span_s])
    p = side.prediction
    assert machines.filled(whole)[0] * f.span_s == pytest.approx(p.columns.compute_s.sum())
    assert trucks.filled(whole)[0] * f.span_s == pytest.approx(p.columns.memory_s.sum())
    assert managers.filled(whole)[0] * f.span_s == pytest.approx(p.host_s, rel=1e-6)
    assert (machines.end_s <= p.schedule.end_s + 1e-12).all()
    assert machines.waits.startswith("waiting for managers: idle ") and not managers.waits


def test_cells_are_as_many_and_inside():
    for wide, high in ((400.0, 120.0), (60.0, 300.0), (30.0, 30.0)):
        area = plan(1000, 420).machines
        area.setSize(area.size().__class__(wide, high))
        places = cells(area, 132, 42)
        assert len(places) == 132 and len({(r.left(), r.top()) for r in places}) == 132
        assert all(area.adjusted(-1e-6, -1e-6, 1e-6, 1e-6).contains(r) for r in places)
    places = plan(900, 360)
    assert places.floor.contains(places.machines) and places.floor.contains(places.staging)
    assert places.road.left() == places.warehouse.right()
    assert not places.managers.intersects(places.tray) and places.floor.bottom() <= 360


def test_it_plays_pauses_and_stands_still(
    shown: Any, side: Side, theme: Theme, monkeypatch: pytest.MonkeyPatch
):
    view = shown(Factory, (side,), theme=theme, size=(1200, 600))
    floor = view.floor
    assert floor.moves and floor.playing
    QTest.keyClick(floor, Qt.Key.Key_Space)
    assert not floor.moves and view.play_button.text() == "Play"
    floor.at_s = None
    floor.step(1.0)
    first = floor.at_s
    # the animation of a step takes 14 s
    assert first == pytest.approx(floor.figures.span_s / 14) and view.lanes.at_s == first
    before = picture(view)
    floor.step(3.0)
    assert picture(view) != before
    QTest.keyClick(floor, Qt.Key.Key_W)
    assert floor.at_s is None and floor.moment() == average(floor.figures)
    QTest.keyClick(floor, Qt.Key.Key_Space)
    assert floor.moves
    view.hide()
    assert not floor.moves  # a hidden widget does not animate
    view.show()
    assert floor.moves
    monkeypatch.setattr(type(floor), "allowed", property(lambda self: False))
    view.draw((side,), 0)
    assert not floor.moves and not view.play_button.isEnabled()
    assert view.play_button.toolTip() == "Animation is off: the system is set to reduce motion"
    other = DARK if theme is LIGHT else LIGHT
    view.restyle(other)
    assert picture(floor).pixelColor(4, 4).name().upper() == other.bg1


def test_keys_go_from_building_to_building(shown: Any, side: Side, tmp_path: Path):
    view = shown(Factory, (side,), size=(1200, 600))
    view.floor.whole()
    QTest.keyClick(view.floor, Qt.Key.Key_Right)
    assert view.floor.over == "Managers" and view.floor.card().head == "Managers"
    QTest.keyClick(view.floor, Qt.Key.Key_Left)
    card = view.floor.card()
    assert card.head == "Machines" and card.regime == "compute"
    assert view.floor.hit(view.floor.plan.road.center()) == "Trucks"
    view.floor.show_over(None)
    view.lanes.at = QPointF(view.lanes.along.at(0.0) + 1, view.lanes._box(0).center().y())
    assert view.lanes.hit(view.lanes.at) == 0
    view.lanes.show_over(0)
    assert ("State", "busy") in view.lanes.card().rows
    view.lanes.show_over(None)
    rows = view.rows()
    assert {len(row) for row in rows} == {3}
    assert ["Machines", "wait for managers"] in [row[:2] for row in rows]
    text = svg(view, tmp_path / "f.svg")
    ElementTree.fromstring(text)
    for words in ("Managers", "132 multiprocessors", "one truck = 10%", "mlp-tiny, "):
        assert words in text
    assert (BOXES, TRUCKS) == (60, 10)


def test_figures_of_the_page_agree(shown: Any, tmp_path: Path) -> None:
    """BERT-base, batch 64: the host issues 180 orders in 4.34 ms of a step of 5.51 ms."""
    scenario = Scenario("bert-base", batch=64, seq=128, dtype="bf16", gpu="h200")
    side = Side("A", "A", scenario, predict(scenario))
    view = shown(Factory, (side,), size=(1580, 720))
    text = svg(view, tmp_path / "f.svg")
    # 180 / 5.51 ms = 32,700/s = one in 30.6 µs
    assert "32,700 orders/s" in text and "One order every 30.6 µs" in text
    # the verdict bar counts only products: 33%
    assert "34% of peak with vector units" in text
    # the lane is drawn to the end of an isolated step: 6.03 ms − 4.34 ms
    assert lanes_of(factory(side.prediction))[0].waits == "done, waiting for the floor: 1.69 ms"
    assert view.hint.text().endswith("in an isolated step; percentages: in a loop of steps")


def test_improvements_are_predicted_and_can_be_applied(shown: Any, side: Side):
    view = shown(Factory, (side,), size=(1200, 600))
    emitted: list[Scenario] = []
    view.scenario_requested.connect(emitted.append)
    offered = improvements(side.scenario, side.prediction, lambda: False)
    assert len(view.help.rows) == len(offered) == 6
    times = [each.after_s for each in offered]
    assert times == sorted(times)
    for each in offered:
        p = predict(each.scenario)
        assert each.after_s == pytest.approx(p.period_s / p.trace.samples, rel=1e-9)
    road = next(each for each in offered if each.name == "A wider road")
    assert road.summary == "twice the bandwidth: 13.6 µs per sample, as fast"
    view.help.rows[0].findChild(type(view.play_button)).click()
    assert emitted == [offered[0].scenario]
    assert improvements(side.scenario, side.prediction, lambda: True) == ()


def test_compiling_a_captured_step_keeps_its_graph() -> None:
    """The factory's figure for torch.compile is that of the advice, +fusion=compiled."""
    captured = Scenario("mlp-tiny", batch=8, mode="cuda_graph")
    offered = improvements(captured, predict(captured), lambda: False)
    compiled = next(each for each in offered if each.effect == "torch.compile")
    advised = Scenario(
        "mlp-tiny", batch=8, mode="cuda_graph", whatifs=(Applied("fusion", {"level": "compiled"}),)
    )
    assert compiled.scenario.mode == "cuda_graph"
    assert compiled.after_s == pytest.approx(predict(advised).period_s / 8, rel=1e-9)


def test_no_text_is_cut_in_a_small_window(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a window of 980 × 700 pixels, the page has 964 × 505; the step is that of the first
    example."""
    cut: list[str] = []

    def recorded(words: str, room: float, *rest: Any, **named: Any) -> str:
        short = elided(words, room, *rest, **named)
        cut.extend([words] if short != words else [])
        return short

    for module in (paint, widget_paint):
        monkeypatch.setattr(module, "elided", recorded)
    scenario = Scenario("bert-base", batch=64, seq=128, dtype="bf16")
    view = shown(Factory, (Side("A", "Today", scenario, predict(scenario)),), size=(964, 505))
    picture(view)
    assert cut == []
