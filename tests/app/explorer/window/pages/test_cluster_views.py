"""Views of the Cluster page: the search for splits, cards on nodes, scaling, the timeline."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QElapsedTimer, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtTest import QTest
from typer.testing import CliRunner

from app.answers.cluster.choice import ClusterChoice
from app.charts.cluster.lanes import lanes_across
from app.cli import app
from app.explorer.state import session_file
from app.explorer.window.window import Window
from app.quantities import seconds
from app.scenes.timeline.pins import Pin
from app.theme import SUPPORT_PX
from app.views.cluster.collectives import CollectivesTable
from app.views.cluster.fabric import TheCluster
from app.views.cluster.scaling import Scaling
from app.views.cluster.split import Split
from app.widgets.paint import width as text_width
from tests.app.explorer.keys import typed
from tests.app.explorer.window.cluster_driver import (
    FEW_LAYERS,
    TWO,
    Predictor,
    settled,
    timeline,
    view,
)


def test_the_fastest_split_is_found_and_switched_to(window: Window, predictor: Predictor):
    split, session = view(window, Split), window.session
    split.search.start.click()
    settled(window)
    search = window.pages.cluster.clustering.clustered.search
    assert search is not None and search.ranking is not None
    ranking = search.ranking
    assert {str(each.layout) for each in ranking.ranked} | {
        str(each.layout) for each in ranking.pruned
    } == {"dp=2 ddp", "dp=2 fsdp", "tp=2", "pp=2 microbatches=4", "pp=2 microbatches=8"}
    periods = [each.period_s for each in ranking.ranked]
    assert periods == sorted(periods) and split.search.start.isHidden()
    other = next(each for each in ranking.ranked if str(each.layout) != "dp=2 ddp")
    button = next(
        b
        for b in split.search.buttons
        if b.accessibleName() == f"Switch to this split: {other.layout}"
    )
    before = session.state
    button.click()
    now = session.state
    assert now.cluster is not None and str(now.cluster.layout) == str(other.layout)
    assert now.scenario.batch == 8 // other.layout.dp  # 8 samples on 2 replicas of 4
    settled(window)
    clustered = window.pages.cluster.clustering.clustered
    assert clustered.answer is not None and clustered.answer.period_s == other.period_s
    assert clustered.search == search
    table = split.rows()
    assert next(row for row in table if row[0] == str(other.layout))[1].endswith(other.reason)
    session.history.undo()
    assert session.state == before


def test_a_search_is_cancelled_and_ends_with_its_question(window: Window, predictor: Predictor):
    split, clustering = view(window, Split), window.pages.cluster.clustering
    predictor.gate.clear()
    split.search.start.setFocus()
    split.search.start.click()
    assert window.focusWidget() is split.stop
    clock = QElapsedTimer()
    clock.start()
    while split.bar.maximum() == 0 and clock.elapsed() < 5_000:
        QCoreApplication.processEvents()
    assert split.step.text().startswith("Estimate dp=2") and split.bar.value() == 25
    assert not split.search.start.isEnabled()
    split.stop.click()
    assert window.focusWidget() is split.search.start
    assert clustering.clustered.search is None and not clustering.busy
    assert split.search.start.isEnabled() and split.message.isHidden()
    split.search.start.click()
    typed(split.sentence.field("Batch of a replica"), "8")
    assert clustering.clustered.search is None
    predictor.gate.set()
    settled(window)


def test_a_card_of_a_gpu_changes_the_cluster(window: Window, predictor: Predictor):
    dropping, session = window.dropping, window.session
    offer = dropping.offered("gpu:a100_sxm_80", -1)
    assert offer.words == "A100 SXM4 80GB in every node: 2xa100_sxm_80" and offer.done is not None
    card = window.shelf.card("gpu:a100_sxm_80")
    assert card is not None
    dropping.apply(card, -1)  # the action of Enter on the card
    assert session.state.cluster == replace(TWO, cluster="2xa100_sxm_80")
    assert session.state.scenario.gpu == "h200"
    same = dropping.offered("gpu:a100_sxm_80", -1)
    assert same.words == "2xa100_sxm_80 already consists of A100 SXM4 80GB"
    settled(window)
    cluster_view = view(window, TheCluster)
    node = next(s for s in cluster_view.canvas.drawn.spots if s.key == ("node", 0))
    inside = QPointF(node.box.left + 4, node.box.top + 4)
    offer = cluster_view.offered("gpu:h200_sxm", inside)
    assert offer.words == "H200 SXM 141GB in every node: 2xh200_sxm"
    assert cluster_view.under == node
    assert cluster_view.offered("network:gpt2", inside).words == (
        "Nodes take GPUs: drop the card of a GPU"
    )
    assert cluster_view.under is None
    assert cluster_view.offered("gpu:h200_sxm", QPointF(1, 1)).words == "Drop the GPU on a node"
    predictor.gate.clear()  # the figures of 16 GPUs are not needed
    session.set_cluster(ClusterChoice("16xh100-ib", dp=16), "cluster")
    refused = dropping.offered("gpu:a100_sxm_80", -1)
    assert refused.done is None and refused.words == (
        "16xh100-ib has 2 nodes of H100 SXM5 80GB, linked by their own network: expected a single "
        "node for a100_sxm_80; choose a cluster of one node, or write a cluster file"
    )
    session.history.undo()
    predictor.gate.set()
    settled(window)


def test_the_scaling_reaches_the_node_and_marks_the_count(window: Window, predictor: Predictor):
    rows = view(window, Scaling).rows()
    assert [row[0] for row in rows] == ["GPUs", "1", "2"]
    clustered = window.pages.cluster.clustering.clustered
    assert clustered.points is not None and clustered.answer is not None
    assert clustered.points[-1].period_s == clustered.answer.period_s
    assert clustered.efficiency == clustered.points[-1].efficiency


def test_strong_scaling_keeps_the_batch_of_all_gpus(window: Window, predictor: Predictor):
    scaling = view(window, Scaling)
    weak = scaling.rows()
    for button in scaling.kinds.buttons.values():
        bold_px = text_width(button.text(), SUPPORT_PX, 600)
        assert button.width() >= bold_px + 8  # chosen, with a border of 2 and a padding of 2
    scaling.kinds.buttons["strong"].click()
    settled(window)
    rows = scaling.rows()
    clustered = window.pages.cluster.clustering.clustered
    assert clustered.strong_points is not None and clustered.answer is not None
    one, two = clustered.strong_points  # 8 samples on one GPU, or 4 on each of two
    assert (one.gpus, two.gpus) == (1, 2) and two.period_s == clustered.answer.period_s
    assert one.samples_per_s == pytest.approx(8 / one.period_s)
    assert two.efficiency == pytest.approx(one.period_s / two.period_s / 2)
    assert rows != weak and [row[0] for row in rows] == ["GPUs", "1", "2"]
    scaling.kinds.buttons["weak"].click()
    assert scaling.rows() == weak and not window.pages.cluster.clustering.busy


def test_a_collective_is_picked_in_the_table_and_in_the_timeline(
    window: Window, predictor: Predictor
):
    table, lanes = view(window, CollectivesTable), timeline(window)
    QTest.keyClick(table.canvas, Qt.Key.Key_Down)
    assert table.collective == lanes.collective == 0
    spot = next(s for s in lanes.canvas.drawn.spots if s.key == 0)
    assert spot.tooltip.startswith("all-reduce, backward, 2 ranks: ")
    lanes.canvas.pressed_on.emit(0)  # once more removes the selection
    assert table.collective == lanes.collective == -1
    lanes.canvas.pressed_on.emit(0)
    assert table.collective == 0 and len(table.overlay(table.canvas.drawn)) == 1
    split = view(window, Split)
    split.steppers["tp"].more.click()
    settled(window)
    assert table.collective == lanes.collective == -1  # the rows belong to another answer


def test_the_timeline_zooms_by_wheel_and_keys(window: Window, predictor: Predictor):
    lanes = timeline(window)
    answer = window.pages.cluster.clustering.clustered.answer
    assert answer is not None and lanes.shown_s is None
    whole = lanes_across(answer, lanes.canvas.width())
    at = QPointF(whole.at(0.25 * whole.high), 100)
    none, no_phase = Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    turned = QWheelEvent(
        at, at, QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton, none, no_phase, False
    )
    QCoreApplication.sendEvent(lanes.canvas, turned)
    low, high = lanes.shown_s
    assert high - low == pytest.approx(whole.high / 1.2)
    # the time under the pointer stays in place
    assert (0.25 * whole.high - low) / (high - low) == pytest.approx(0.25)
    QTest.keyClick(lanes.canvas, Qt.Key.Key_Right)
    # the range ends with the step
    assert lanes.shown_s == pytest.approx((whole.high - (high - low), whole.high))
    QTest.keyClick(lanes.canvas, Qt.Key.Key_F)
    assert lanes.shown_s is None


def test_the_command_yields_the_same_figures(window: Window, predictor: Predictor):
    next(a for a in window.actions() if a.text() == "Copy as command").trigger()
    command = QGuiApplication.clipboard().text()
    assert command == (
        "ridgepoint predict gpt2 --batch 4 --seq 64 --dtype bf16 --train "
        "--cluster 2xh200 --parallel 'dp=2 ddp'"
    )
    few = [f"--size={name}={value}" for name, value in FEW_LAYERS.items()]
    printed = CliRunner().invoke(app, [*shlex.split(command)[1:], *few])
    answer = window.pages.cluster.clustering.clustered.answer
    assert answer is not None and f"step {seconds(answer.period_s)} (80%" in printed.output
    output = " ".join(printed.output.split())  # without the line breaks of the terminal
    slowest, jitter = answer.notes
    assert "2 ranks wait for their slowest host" in slowest and "it may add" in jitter
    assert all(f"note: {note}" in output for note in answer.notes)
    shown = view(window, Split).notes
    assert shown.text().lower().split("\n") == [f"{note.lower()}." for note in answer.notes]
    assert not shown.isHidden()


def test_a_session_holds_its_cluster(window: Window, predictor: Predictor, tmp_path: Path):
    path = tmp_path / "one.ridge"
    session_file.save(path, window.session.state)
    state, _ = session_file.load(path)
    assert state.cluster == TWO
    path.write_text(path.read_text("utf-8").replace('"dp": 2', '"dp": 0'), "utf-8")
    with pytest.raises(session_file.InputError, match=r"Expected `int` >= 1 - at `\$.cluster.dp`"):
        session_file.load(path)


def test_a_pinned_rank_stays_above_the_others(window: Window, predictor: Predictor):
    lanes, session = timeline(window), window.session
    answer = window.pages.cluster.clustering.clustered.answer
    assert answer is not None and lanes.head.isHidden()
    first = Pin("rank", str(answer.ranks[0].ranks[0]))
    spot = next(s for s in lanes.canvas.drawn.spots if s.key == first)
    QTest.mouseClick(
        lanes.canvas, Qt.MouseButton.LeftButton, pos=QPoint(*map(int, spot.box.centre))
    )
    assert session.state.pinned == (first,) and not lanes.head.isHidden()
    assert first in {s.key for s in lanes.head.drawn.spots}
    assert first not in {s.key for s in lanes.canvas.drawn.spots}
    QTest.keyClick(lanes.head, Qt.Key.Key_W)
    assert lanes.shown_s is not None and lanes.head.depends_on() == lanes.canvas.depends_on()
    others = [Pin("rank", str(rank.ranks[0])) for rank in answer.ranks[1:]]
    for pin in others:
        QTest.keyClick(lanes.canvas, Qt.Key.Key_P)
        assert session.state.pinned[-1] == pin
    QTest.keyClick(lanes.canvas, Qt.Key.Key_P)  # all are pinned: the last one is unpinned
    assert session.state.pinned == (first, *others)[:-1]
    next(a for a in window.actions() if a.text() == "Unpin all lanes").trigger()
    assert session.state.pinned == () and lanes.head.isHidden()
