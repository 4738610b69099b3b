from dataclasses import replace
from math import fsum
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtTest import QTest

from app.answers.side import Side
from app.theme import LIGHT, Theme
from app.views.compare.counts import counts
from app.views.compare.kernels import MovedKernels
from app.views.compare.view import Compare, kernels_of, ops_of
from simulator.analysis.compare import Moved
from simulator.prediction import Regime
from simulator.scenario.scenario import Applied, Scenario, predict
from tests.app.views.conftest import picture, pointer, svg

WIDE = (1100, 620)


@pytest.fixture(scope="module")
def pair(side: Side) -> tuple[Side, Side]:
    """A CUDA graph with 128 times the batch, compared with eager."""
    changes = (Applied("cuda_graph", {}), Applied("batch", {"samples": 4096}))
    scenario = Scenario("mlp-tiny", whatifs=changes)
    return side, Side("B", "Graph", scenario, predict(scenario))


def test_the_empty_state_adds_a_second_scenario(shown: Any, side: Side) -> None:
    view = shown(Compare, (side,), size=WIDE)
    assert view.stack.currentWidget() is view.nothing and view.question((side,), 0) is None
    assert view.subtitle() == "one scenario"
    assert view.rows()[1] == ["Compare with a CUDA graph", "Adds a scenario called Graph"]
    emitted: list[tuple[str, Scenario]] = []
    view.added.connect(lambda name, scenario: emitted.append((name, scenario)))
    first = view.nothing.buttons[0]
    assert first.text() == "Compare with a CUDA graph" and first.toolTip() == (
        "Adds a scenario called Graph"
    )
    first.click()
    graph = Scenario("mlp-tiny", whatifs=(Applied("mode", {"to": "cuda_graph"}),))
    assert emitted == [("Graph", graph)]
    assert view.nothing.buttons[2].isHidden()  # no optimizer without training
    there = replace(side, scenario=graph, prediction=predict(graph))
    view.draw((there,), 0)
    assert not first.isEnabled() and first.toolTip() == "Today already has this"
    assert not picture(view).isNull()


def test_a_cancelled_comparison_says_how_to_continue(shown: Any, pair: tuple[Side, Side]) -> None:
    view = shown(Compare, pair, 1, size=WIDE)
    other = pair[0], replace(pair[1], scenario=replace(pair[1].scenario, batch=3))
    view.draw(other, 1)
    assert view.waterfall.reason == "Predicting each change …"
    view.show_cancelled(view.when_cancelled)
    assert view.waterfall.reason == "cancelled; leave the page and come back to continue"
    view.draw(other, 1)
    assert view.waterfall.reason == "Predicting each change …"


def test_steps_lead_from_one_to_the_other_and_add_up(
    shown: Any, pair: tuple[Side, Side], theme: Theme
) -> None:
    view = shown(Compare, pair, 1, theme=theme, size=WIDE)
    a, b = (side.prediction for side in pair)
    steps = view.fall.steps
    assert [s.label for s in steps] == ["+cuda_graph", "+batch=4096"]
    assert fsum(s.change_s for s in steps) == pytest.approx(b.period_s - a.period_s, rel=1e-12)
    assert steps[-1].interval_s == b.interval_s
    assert all(s.interval_s[0] < s.period_s < s.interval_s[1] for s in steps)
    assert view.subtitle().startswith("A Today to B Graph: ")
    assert picture(view).pixelColor(3, 300).name().upper() == theme.bg1


def test_both_verdicts_and_the_ratio_are_shown(shown: Any, pair: tuple[Side, Side]) -> None:
    view = shown(Compare, pair, 1, size=WIDE)
    assert view.verdicts.sentence(pair[0]) == "A Today: overhead-bound, 435 µs, 280 to 580"
    head, details = view.verdicts.ratio()
    assert head.endswith("times faster per sample") and details.endswith(
        "per sample, 80% intervals apart"
    )
    assert view.verdicts.abouts == ("mlp-tiny, 32", "mlp-tiny, 4,096")


def test_the_step_then_flips_then_the_rest(shown: Any, pair: tuple[Side, Side]) -> None:
    view = shown(Compare, pair, 1, size=WIDE)
    items = view.regimes.items
    assert items[0].part == "step" and set(items) == set(view.fall.parts)
    flipped = [part.flipped for part in items[1:]]
    assert flipped == sorted(flipped, reverse=True)
    assert items[0].seconds == (pair[0].prediction.period_s, pair[1].prediction.period_s)
    count, _, note = view.regimes.about.partition("; ")
    assert count == f"{len(view.fall.flipped)} of {len(items)} parts"
    share = f"{pair[1].prediction.shares['overhead']:.2f}"  # B is still overhead-bound
    assert note == f"raising host and launch speed by 1% saves {share}% in B, 1.0% in A"


def test_kernels_that_moved_choose_their_ops(shown: Any, pair: tuple[Side, Side]) -> None:
    view = shown(Compare, pair, 1, size=WIDE)
    p = pair[1].prediction
    moved = view.kernels.items
    assert [abs(m.change_s) for m in moved] == sorted(
        (abs(m.change_s) for m in moved), reverse=True
    )
    emitted: list[frozenset[int]] = []
    view.picked.connect(emitted.append)
    removed, nowhere = next(pair for pair in view.kernels.shown() if not pair[0].count[1])
    pointer(view.kernels, QEvent.Type.MouseButtonPress, nowhere.center())
    assert (
        emitted == [] and removed.regimes[1] is None
    )  # the current side has none of these kernels
    item, box = next(pair for pair in view.kernels.shown() if pair[0].count[1])
    pointer(view.kernels, QEvent.Type.MouseButtonPress, box.center())
    assert emitted == [ops_of(p, item)] and emitted[0]
    assert {p.trace.ops[op].name for op in emitted[0]} == {f"aten.{item.op}"}
    assert view.kernels.chosen == {(item.op, item.family)} == kernels_of(p, emitted[0])
    pointer(view.kernels, QEvent.Type.MouseButtonPress, box.center())
    assert emitted[1] == frozenset() and view.kernels.chosen == frozenset()
    seconds = sum(k.duration_s for k in p.kernels if k.op in emitted[0])
    assert item.seconds[1] == pytest.approx(seconds)


def test_keys_walk_bars_and_rows(shown: Any, pair: tuple[Side, Side]) -> None:
    view = shown(Compare, pair, 1, size=WIDE)
    bars, rows = view.waterfall, view.kernels
    for _ in range(2):
        QTest.keyClick(bars, Qt.Key.Key_Right)
    card = bars.card()
    assert card is not None and card.head == "+cuda_graph"
    names = [name for name, _ in card.rows]
    assert names[0] == "On top of earlier changes" and names[-1] == "80% interval"
    QTest.keyClick(bars, Qt.Key.Key_End)
    assert bars.over == 3 and bars.card().head == "B  Graph"
    QTest.keyClick(bars, Qt.Key.Key_Escape)
    assert bars.over is None
    emitted: list[object] = []
    view.picked.connect(emitted.append)
    QTest.keyClick(rows, Qt.Key.Key_Down)
    QTest.keyClick(rows, Qt.Key.Key_Down)
    QTest.keyClick(rows, Qt.Key.Key_Return)
    assert rows.over is rows.items[1] and len(emitted) == bool(rows.items[1].count[1])
    assert bars.hit(QPointF(bars.frame.plot.left + 2, bars.frame.plot.centre[1])) == 0


def test_the_waterfall_is_ringed_after_a_key_alone(
    shown: Any, pair: tuple[Side, Side], capsys: pytest.CaptureFixture[str]
) -> None:
    view = shown(Compare, pair, 1, size=WIDE)
    QTest.keyClick(view.waterfall, Qt.Key.Key_Right)
    assert view.waterfall.by_key
    QTest.mouseClick(view.waterfall, Qt.MouseButton.LeftButton)
    assert not view.waterfall.by_key and "Traceback" not in capsys.readouterr().err


def test_counts_of_the_network_come_before_those_of_the_machine(pair: tuple[Side, Side]) -> None:
    a, b = (side.prediction for side in pair)
    by_count = counts(a, b)
    assert [c.name for c in by_count if not c.machine] == [
        "Ops",
        "Kernels",
        "Python calls",
        "FLOPs",
        "DRAM bytes",
        "Memory",
    ]
    flops = next(c for c in by_count if c.name == "FLOPs")
    assert (flops.before, flops.after) == (a.flops, b.flops) and b.flops == 128 * a.flops
    kernels = next(c for c in by_count if c.name == "Kernels")
    assert kernels.before == len(a.kernels) and kernels.value_text(1595.0) == "1,595"


def test_an_answer_to_another_pair_is_dropped(
    shown: Any, pair: tuple[Side, Side], variant: Side
) -> None:
    view = shown(Compare, pair, 1, size=WIDE)
    late = view.shown_key, view.fall
    assert view.question(pair, 1) is None  # the result is cached
    other = (pair[0], variant)
    view.draw(other, 1)
    assert view.fall is None and view.kernels.items == []
    view.answer(late)
    assert view.fall is None
    assert view.question(other, 1)(lambda: True) is None
    view.answer(view.question(other, 1)(lambda: False))
    assert [row[1] for row in view.rows() if row[0] == "change"] == ["batch 32 → 4,096"]
    view.draw(other, 0)  # the baseline is current: the second side is compared with it
    assert view.fall is not None and view.pair == other


def test_table_and_svg_of_both_themes(shown: Any, pair: tuple[Side, Side], tmp_path: Path) -> None:
    view = shown(Compare, pair, 1, size=WIDE)
    rows = view.rows()
    assert {len(row) for row in rows} == {7}
    assert rows[1][:3] == ["step", "", "435 µs"] and rows[2][:2] == ["change", "+cuda_graph"]
    assert [row[1] for row in rows if row[0] == "count"][:2] == ["Ops", "Kernels"]
    view.restyle(LIGHT)
    text = svg(view, tmp_path / "c.svg")
    ElementTree.fromstring(text)
    assert "From A to B, one change at a time" in text and "+cuda_graph" in text
    assert "Whole step" in text and "Kernels that changed" in text
    assert picture(view).pixelColor(3, 300).name().upper() == LIGHT.bg1


def test_kernels_that_change_by_less_than_a_thousandth_are_unchanged(theme: Theme) -> None:
    kernels = MovedKernels(theme)
    both: tuple[Regime, Regime] = ("memory", "memory")
    rows = [
        Moved("aten.add.Tensor", "pointwise", (1, 1), (1e-5, 1e-5 * times), both)
        for times in (1.0005, 1.002, 0.99)
    ]
    kernels.show_moved(tuple(rows), ("A", "B"))
    assert kernels.items == rows[1:]
