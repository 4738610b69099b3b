"""The page of the cluster: edited by keys and pointer, predicted in the background."""

import shlex
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QCoreApplication, QElapsedTimer, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget
from typer.testing import CliRunner

from app.answers.cluster_answer import ClusterAnswer, answer_of
from app.answers.cluster_choice import ClusterChoice, ClusterQuestion
from app.answers.cluster_scaling import StrongQuestion, scaling_points, what_ifs
from app.answers.cluster_splits import SplitQuestion, split_ranking
from app.charts.cluster.lanes import lanes_across
from app.cli import app
from app.explorer.background.cluster_process import CancelledError, OnMessage
from app.explorer.state import session_file
from app.explorer.window.window import Window
from app.quantities import seconds
from app.views.cluster.collectives import CollectivesTable
from app.views.cluster.fabric import TheCluster
from app.views.cluster.lanes import RankTimeline
from app.views.cluster.ranks import RanksSideBySide
from app.views.cluster.scaling import Scaling
from app.views.cluster.split import Split
from app.widgets.sentence_fields import TextField
from simulator.cluster import cluster
from simulator.cluster.layout import layout
from simulator.parallel.predict_step import predict_network
from simulator.scenario.scenario import Scenario
from simulator.tracing.parallel.networks import NetworkStep
from tests.app.explorer.waiting import wait
from tests.app.explorer.window.conftest import INITIAL

SMALL = Scenario("gpt2", gpu="h200", batch=4, seq=64, dtype="bf16", training=True)
TWO = ClusterChoice("2xh200", dp=2)


def predicted(question: ClusterQuestion) -> ClusterAnswer:
    """The answer from the simulator's own functions."""
    choice, machine = question.choice, cluster(question.choice.cluster)
    spread = layout(choice.parallel, machine)
    s = question.scenario
    step = NetworkStep(s.network, s.batch, s.seq, s.dtype or "fp32", bool(s.training))
    return answer_of(question, predict_network(step, spread, machine), spread)


class Predictor:
    """Answers in the worker's thread in place of the process; waits for `gate` before it does."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.asked: list[ClusterQuestion] = []

    def ask(
        self,
        question: ClusterQuestion | StrongQuestion | SplitQuestion,
        cancelled: Callable[[], bool],
        on_message: OnMessage,
    ) -> None:
        if isinstance(question, SplitQuestion):
            self.search(question, cancelled, on_message)
            return
        if isinstance(question, StrongQuestion):
            points = scaling_points(question.question, lambda text: None, strong=True)
            on_message("strong_points", points)
            return
        self.asked.append(question)
        on_message("progress", "tracing gpt2 on each distinct rank")
        while not self.gate.wait(0.005):
            if cancelled():
                raise CancelledError("cancelled")
        on_message("answer", predicted(question))
        on_message("points", scaling_points(question, lambda text: None))
        on_message("what_ifs", what_ifs(question, lambda text: None))

    def search(
        self, asked: SplitQuestion, cancelled: Callable[[], bool], on_message: OnMessage
    ) -> None:
        on_message("share", ("estimate dp=2 ddp", 0.25))
        while not self.gate.wait(0.005):
            if cancelled():
                raise CancelledError("cancelled")
        on_message("splits", split_ranking(asked, lambda text, share: None))


def settled(window: Window) -> None:
    """Until the prediction is finished; a minute at most."""
    clock = QElapsedTimer()
    clock.start()
    clustering = window.cluster_page.clustering
    while clustering.busy and clock.elapsed() < 60_000:
        QCoreApplication.processEvents()
        time.sleep(0.005)
    assert not clustering.busy


@pytest.fixture
def predictor(window: Window, monkeypatch: pytest.MonkeyPatch):
    """The window on a small step over two GPUs, predicted without a process of its own."""
    predictor = Predictor()
    monkeypatch.setattr(window.cluster_page.clustering, "_ask", predictor.ask)
    side = replace(INITIAL.sides[0], scenario=SMALL)
    window.session.reset(replace(INITIAL, sides=(side,), cluster=TWO))
    window.session.show("Cluster")
    QCoreApplication.processEvents()
    settled(window)
    wait(window.worker)
    yield predictor
    predictor.gate.set()
    window.session.show("Explore")


def view(window: Window, kind: type[Any]) -> Any:
    return next(v for _, v in window.cluster_page.views if isinstance(v, kind))


def panel(window: Window, title: str) -> Any:
    return next(p for o, p in window.panels.panels.items() if o.title == title)


def timeline(window: Window) -> Any:
    """The rank timeline, which is created when its tab is shown first."""
    panel(window, "Rank timeline").raise_()
    QCoreApplication.processEvents()
    return view(window, RankTimeline)


def typed(at: QWidget, text: str) -> None:
    """Replace the text of a field with keys, and enter it."""
    at.setFocus()
    QTest.keyClick(at, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClick(at, Qt.Key.Key_Backspace)
    QTest.keyClicks(at, text)
    QTest.keyClick(at, Qt.Key.Key_Return)


def test_the_figures_are_those_of_the_simulator(window: Window, predictor: Predictor):
    clustered = window.cluster_page.clustering.clustered
    own = predicted(ClusterQuestion(SMALL, TWO))
    assert clustered.answer == own and not clustered.stale and not clustered.error
    assert sum(own.shares.values()) == pytest.approx(1.0)
    words = window.cluster_page.bar.accessibleDescription()
    assert words.startswith(f"{own.regime}-bound; Time per step, 80% interval: ")
    rows = view(window, RanksSideBySide).rows()
    assert rows[1][0] == "ranks 0 to 1"
    parts = [float(cell) for cell in rows[1][1:6]]
    assert sum(parts) == pytest.approx(1e3 * own.period_s, rel=1e-5)
    table = view(window, CollectivesTable).rows()
    assert [row[:4] for row in table[1:]] == [
        ["all-reduce", "backward", "2", str(sum(row.count for row in own.collectives))]
    ]
    assert float(table[1][-1]) == pytest.approx(1e3 * own.exposed_s, rel=1e-5)
    assert window.verdict.isHidden() and window.strip.isHidden()


def test_the_split_is_stepped_by_keys_and_checked(window: Window, predictor: Predictor):
    split = view(window, Split)
    assert split.product.text() == "2 × 1 × 1 = 2 GPUs ✓"
    tensor = split.steppers["tp"].box
    tensor.setFocus()
    QTest.keyClick(tensor, Qt.Key.Key_Up)
    choice = window.session.state.cluster
    assert choice == ClusterChoice("2xh200", dp=1, tp=2)
    assert split.product.text() == "1 × 2 × 1 = 2 GPUs ✓"
    settled(window)
    answer = window.cluster_page.clustering.clustered.answer
    assert answer is not None and answer.layout.tp == 2
    split.steppers["dp"].more.click()
    assert (
        split.product.text()
        == split.message.text()
        == (
            "--parallel 'dp=2 tp=2 ddp': dp·tp·pp = 2·2·1 = 4, but 2xh200 has 2 GPUs: expected the "
            "product to be equal; change a degree or the cluster"
        )
    )
    now = window.cluster_page.clustering
    assert not now.busy and now.clustered.stale and now.clustered.answer == answer
    window.session.history.undo()
    assert window.session.state.cluster == choice
    assert split.product.text() == "1 × 2 × 1 = 2 GPUs ✓" and split.steppers["dp"].box.value() == 1


def test_an_edit_dims_the_figures_at_once_and_is_cancelled(window: Window, predictor: Predictor):
    clustering, split = window.cluster_page.clustering, view(window, Split)
    former = clustering.clustered.answer
    predictor.gate.clear()
    typed(split.sentence.field("Batch of a replica"), "8")
    assert clustering.clustered.stale and clustering.busy
    assert window.cluster_page.veil.isVisibleTo(window.cluster_page.bar)
    ranks = panel(window, "Ranks side by side")
    assert ranks.veil.isVisibleTo(ranks) and split.stop.isVisibleTo(split)
    assert window.session.state.scenario.batch == 8
    split.stop.click()
    assert not clustering.busy and clustering.clustered.stale
    assert split.message.text() == "Cancelled. Predict again to go on."
    predictor.gate.set()
    split.retry.click()
    settled(window)
    answer = clustering.clustered.answer
    assert answer is not None and answer != former and answer.replica_batch == 8
    assert not ranks.veil.isVisibleTo(ranks) and split.message.isHidden()
    assert not window.cluster_page.veil.isVisibleTo(window.cluster_page.bar)
    predictor.gate.clear()
    typed(split.sentence.field("Batch of a replica"), "16")
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not clustering.busy and clustering.clustered.stale


def test_refused_words_stay_with_their_reason(window: Window, predictor: Predictor):
    split = view(window, Split)
    field = split.more.field("Other words of the split")
    assert isinstance(field, TextField)
    typed(field, "chunks=3")
    assert field.property("look") == "wrongfield" and split.message.text() == (
        "--parallel 'dp=2 ddp chunks=3': chunks=3 without schedule=interleaved: expected chunks "
        "with that schedule alone; add it, or remove chunks"
    )
    assert window.session.state.cluster == TWO
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "" and split.message.isHidden()
    typed(split.more.field("Cluster by name or file"), "9xh200")
    assert split.message.text().startswith("cluster '9xh200': 9 GPUs in one node: expected 1 to 8")


def test_what_fails_later_is_said_in_place(window: Window, predictor: Predictor):
    split, clustering = view(window, Split), window.cluster_page.clustering
    former = clustering.clustered.answer
    split.steppers["pp"].more.click()
    typed(split.more.field("Other words of the split"), "microbatches=3")
    settled(window)
    assert split.message.text() == (
        "microbatches=3 does not divide the batch 4 of a replica: expected a divisor; change either"
    )
    assert clustering.clustered.answer == former and clustering.clustered.stale
    assert split.retry.isVisibleTo(split)


def test_a_what_if_is_applied(window: Window, predictor: Predictor):
    split = view(window, Split)
    offered = window.cluster_page.clustering.clustered.what_ifs
    assert offered is not None and {each.text for each in offered} == {
        "link_speed=2", "recompute=1", "fsdp=1", "bucket=100"
    }  # fmt: skip
    button = next(b for b in split.what_ifs.buttons if b.toolTip() == "+link_speed=2")
    button.click()
    choice = window.session.state.cluster
    assert choice is not None and choice.parallel == "dp=2 ddp +link_speed=2"
    settled(window)
    expected = next(each for each in offered if each.text == "link_speed=2")
    answer = window.cluster_page.clustering.clustered.answer
    assert answer is not None and answer.period_s == expected.period_s


def test_the_fastest_split_is_found_and_switched_to(window: Window, predictor: Predictor):
    split, session = view(window, Split), window.session
    split.search.start.click()
    settled(window)
    search = window.cluster_page.clustering.clustered.search
    assert search is not None and search.ranking is not None
    ranking = search.ranking
    assert {str(each.layout) for each in ranking.ranked} | {
        str(each.layout) for each in ranking.pruned
    } == {"dp=2 ddp", "dp=2 fsdp", "tp=2", "pp=2 microbatches=4", "pp=2 microbatches=8"}
    periods = [each.period_s for each in ranking.ranked]
    assert periods == sorted(periods) and split.search.start.isHidden()
    other = next(each for each in ranking.ranked if str(each.layout) != "dp=2 ddp")
    button = next(
        b for b in split.search.buttons
        if b.accessibleName() == f"Switch to this split: {other.layout}"
    )  # fmt: skip
    before = session.state
    button.click()
    now = session.state
    assert now.cluster is not None and str(now.cluster.layout) == str(other.layout)
    assert now.scenario.batch == 8 // other.layout.dp  # 2 replicas of 4
    settled(window)
    clustered = window.cluster_page.clustering.clustered
    assert clustered.answer is not None and clustered.answer.period_s == other.period_s
    assert clustered.search == search
    table = split.rows()
    assert next(row for row in table if row[0] == str(other.layout))[1].endswith(other.reason)
    session.history.undo()
    assert session.state == before


def test_a_search_is_cancelled_and_ends_with_its_question(window: Window, predictor: Predictor):
    split, clustering = view(window, Split), window.cluster_page.clustering
    predictor.gate.clear()
    split.search.start.click()
    clock = QElapsedTimer()
    clock.start()
    while split.bar.maximum() == 0 and clock.elapsed() < 5_000:
        QCoreApplication.processEvents()
    assert split.step.text().startswith("Estimate dp=2") and split.bar.value() == 25
    assert not split.search.start.isEnabled()
    split.stop.click()
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
    dropping.apply(card, -1)  # what Enter on the card does
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
        "Nodes take GPUs: drop the card of one"
    )
    assert cluster_view.under is None
    assert cluster_view.offered("gpu:h200_sxm", QPointF(1, 1)).words == "Drop the GPU on a node"
    session.set_cluster(ClusterChoice("16xh100-ib", dp=16), "cluster")
    refused = dropping.offered("gpu:a100_sxm_80", -1)
    assert refused.done is None and refused.words == (
        "16xh100-ib has 2 nodes of H100 SXM5 80GB, linked by a network of their own: expected one "
        "node to put a100_sxm_80 into; choose a cluster of one node, or write a cluster file"
    )
    settled(window)


def test_the_scaling_reaches_the_node_and_marks_the_count(window: Window, predictor: Predictor):
    rows = view(window, Scaling).rows()
    assert [row[0] for row in rows] == ["GPUs", "1", "2"]
    clustered = window.cluster_page.clustering.clustered
    assert clustered.points is not None and clustered.answer is not None
    assert clustered.points[-1].period_s == clustered.answer.period_s
    assert clustered.efficiency == clustered.points[-1].efficiency


def test_strong_scaling_keeps_the_batch_of_all_gpus(window: Window, predictor: Predictor):
    scaling = view(window, Scaling)
    weak = scaling.rows()
    scaling.kinds.buttons["strong"].click()
    settled(window)
    rows = scaling.rows()
    clustered = window.cluster_page.clustering.clustered
    assert clustered.strong_points is not None and clustered.answer is not None
    one, two = clustered.strong_points  # 8 samples on one GPU, 4 on each of two
    assert (one.gpus, two.gpus) == (1, 2) and two.period_s == clustered.answer.period_s
    assert one.samples_per_s == pytest.approx(8 / one.period_s)
    assert two.efficiency == pytest.approx(one.period_s / two.period_s / 2)
    assert rows != weak and [row[0] for row in rows] == ["GPUs", "1", "2"]
    scaling.kinds.buttons["weak"].click()
    assert scaling.rows() == weak and not window.cluster_page.clustering.busy


def test_a_collective_is_picked_in_the_table_and_in_the_timeline(
    window: Window, predictor: Predictor
):
    table, lanes = view(window, CollectivesTable), timeline(window)
    QTest.keyClick(table.canvas, Qt.Key.Key_Down)
    assert table.collective == lanes.collective == 0
    spot = next(s for s in lanes.canvas.drawn.spots if s.key == 0)
    assert spot.tooltip.startswith("all-reduce, backward, 2 ranks: ")
    lanes.canvas.pressed_on.emit(0)  # once more: none
    assert table.collective == lanes.collective == -1
    lanes.canvas.pressed_on.emit(0)
    assert table.collective == 0 and len(table.overlay(table.canvas.drawn)) == 1
    split = view(window, Split)
    split.steppers["tp"].more.click()
    settled(window)
    assert table.collective == lanes.collective == -1  # rows of another answer


def test_the_timeline_zooms_by_wheel_and_keys(window: Window, predictor: Predictor):
    lanes = timeline(window)
    answer = window.cluster_page.clustering.clustered.answer
    assert answer is not None and lanes.shown_s is None
    whole = lanes_across(answer, lanes.canvas.width())
    at = QPointF(whole.at(0.25 * whole.high), 100)
    none, no_phase = Qt.KeyboardModifier.NoModifier, Qt.ScrollPhase.NoScrollPhase
    turned = QWheelEvent(at, at, QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton, none,
                         no_phase, False)  # fmt: skip
    QCoreApplication.sendEvent(lanes.canvas, turned)
    low, high = lanes.shown_s
    assert high - low == pytest.approx(whole.high / 1.2)
    assert (0.25 * whole.high - low) / (high - low) == pytest.approx(0.25)  # stays in place
    QTest.keyClick(lanes.canvas, Qt.Key.Key_Right)
    assert lanes.shown_s == pytest.approx((whole.high - (high - low), whole.high))  # to the end
    QTest.keyClick(lanes.canvas, Qt.Key.Key_F)
    assert lanes.shown_s is None


def test_the_command_yields_the_same_figures(window: Window, predictor: Predictor):
    next(a for a in window.actions() if a.text() == "Copy as command").trigger()
    command = QGuiApplication.clipboard().text()
    assert command == (
        "ridgepoint predict gpt2 --batch 4 --seq 64 --dtype bf16 --train "
        "--cluster 2xh200 --parallel 'dp=2 ddp'"
    )
    printed = CliRunner().invoke(app, shlex.split(command)[1:])
    answer = window.cluster_page.clustering.clustered.answer
    assert answer is not None and f"step {seconds(answer.period_s)} (80%" in printed.output


def test_a_session_holds_its_cluster(window: Window, predictor: Predictor, tmp_path: Path):
    path = tmp_path / "one.ridge"
    session_file.save(path, window.session.state)
    state, _ = session_file.load(path)
    assert state.cluster == TWO
    path.write_text(path.read_text("utf-8").replace('"dp": 2', '"dp": 0'), "utf-8")
    with pytest.raises(session_file.InputError, match=r"Expected `int` >= 1 - at `\$.cluster.dp`"):
        session_file.load(path)
