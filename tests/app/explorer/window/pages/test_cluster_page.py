"""The page of the cluster: edited by keys and pointer, predicted in the background."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtTest import QTest

from app.answers.cluster.choice import ClusterChoice, ClusterQuestion
from app.explorer.window.window import Window
from app.quantities import seconds
from app.views.cluster.collectives import CollectivesTable
from app.views.cluster.ranks import RanksSideBySide
from app.views.cluster.split import Split
from app.widgets.fields.sentence_fields import TextField
from tests.app.explorer.keys import typed
from tests.app.explorer.window.cluster_driver import (
    SMALL,
    TWO,
    Predictor,
    panel,
    predicted,
    settled,
    view,
)


def test_the_figures_are_those_of_the_simulator(window: Window, predictor: Predictor):
    clustered = window.pages.cluster.clustering.clustered
    own = predicted(ClusterQuestion(SMALL, TWO))
    assert clustered.answer == own and not clustered.stale and not clustered.error
    assert sum(own.shares.values()) == pytest.approx(1.0)
    words = window.pages.cluster.bar.accessibleDescription()
    assert words.startswith(f"{own.regime}-bound; shares of the critical path: ")
    assert "; Time per step, 80% interval: " in words
    (rank,) = own.ranks
    # some kernels have a fixed part, too
    assert rank.busy_s > rank.parts.compute_s + rank.parts.memory_s
    assert rank.busy_s < own.period_s - rank.parts.exposed_s
    panel(window, "Ranks side by side").raise_()  # otherwise its view is not created
    QCoreApplication.processEvents()
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


def test_the_page_says_of_what_each_share_is(window: Window, predictor: Predictor):
    own = predicted(ClusterQuestion(SMALL, TWO))
    bar = window.pages.cluster.bar
    assert bar.toolTip() == (
        "Shares of the critical path: how much of a slowdown of compute, memory or links lengthens "
        "the step; overhead is the rest. Work that another limit hides has no share."
    )
    label, words = bar.figures[1]
    names = [word.split()[1] for word in words.split(", ")]
    assert label == "shares of the critical path"
    assert names == ["compute", "memory", "overhead", "communication"]
    panel(window, "Ranks side by side").raise_()
    QCoreApplication.processEvents()
    ranks = view(window, RanksSideBySide)
    assert ranks.subtitle() == (
        f"shares of a rank's time; 1 distinct of 2, {seconds(own.period_s)} each"
    )
    assert ranks.canvas.drawn.spots[0].tooltip.splitlines()[1] == (
        "Shares of a rank's time: what its GPU does from the start to the end of the step, hidden "
        "or not."
    )


def test_a_compiled_step_is_refused_at_once_in_its_field(window: Window, predictor: Predictor):
    clustering, split = window.pages.cluster.clustering, view(window, Split)
    count = len(predictor.questions)
    window.session.set_scenario(replace(SMALL, mode="compiled"), "compiled")
    reason = (
        "mode 'compiled' on several GPUs: expected one of 'eager', 'cuda_graph'; compiled steps "
        "are predicted on one GPU (predict)"
    )
    assert split.message.text() == reason and not clustering.busy
    field = split.sentence.field("Mode")
    assert field.text() == "compiled" and field.property("look") == "wrongfield"
    assert field.toolTip() == f"Mode: {reason}" and field.accessibleDescription() == reason
    assert "compiled" not in field.field.options
    split.search.start.click()
    assert split.message.text() == reason and not clustering.busy
    assert len(predictor.questions) == count
    split.sentence.entered.emit(field.field, "eager")
    assert field.property("look") == "field" and split.message.isHidden()


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
    answer = window.pages.cluster.clustering.clustered.answer
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
    now = window.pages.cluster.clustering
    assert not now.busy and now.clustered.stale and now.clustered.answer == answer
    window.session.history.undo()
    assert window.session.state.cluster == choice
    assert split.product.text() == "1 × 2 × 1 = 2 GPUs ✓" and split.steppers["dp"].box.value() == 1


def test_an_edit_dims_the_figures_at_once_and_is_cancelled(window: Window, predictor: Predictor):
    clustering, split = window.pages.cluster.clustering, view(window, Split)
    former = clustering.clustered.answer
    predictor.gate.clear()
    typed(split.sentence.field("Batch of a replica"), "8")
    assert clustering.clustered.stale and clustering.busy
    assert window.pages.cluster.veil.dims
    table = panel(window, "Collectives")
    assert table.veil.dims and split.stop.isVisibleTo(split)
    assert window.session.state.scenario.batch == 8
    split.stop.click()
    assert not clustering.busy and clustering.clustered.stale
    assert split.message.text() == "Cancelled. Predict again to continue."
    predictor.gate.set()
    split.retry.click()
    settled(window)
    answer = clustering.clustered.answer
    assert answer is not None and answer != former and answer.replica_batch == 8
    assert not table.veil.dims and split.message.isHidden()
    assert not window.pages.cluster.veil.dims
    predictor.gate.clear()
    typed(split.sentence.field("Batch of a replica"), "16")
    QTest.keyClick(window, Qt.Key.Key_Escape)
    assert not clustering.busy and clustering.clustered.stale


def test_refused_words_stay_with_their_reason(window: Window, predictor: Predictor):
    split = view(window, Split)
    field = split.more.field("Other options of the split")
    assert isinstance(field, TextField)
    typed(field, "chunks=3")
    assert field.property("look") == "wrongfield" and split.message.text() == (
        "--parallel 'dp=2 ddp chunks=3': chunks=3 without schedule=interleaved: expected chunks "
        "only with that schedule; add it, or remove chunks"
    )
    assert window.session.state.cluster == TWO
    QTest.keyClick(field, Qt.Key.Key_Escape)
    assert field.text() == "" and split.message.isHidden()
    typed(split.more.field("Cluster by name or file"), "9xh200")
    assert split.message.text().startswith("cluster '9xh200': 9 GPUs in one node: expected 1 to 8")


def test_a_later_failure_is_shown_in_the_page(window: Window, predictor: Predictor):
    split, clustering = view(window, Split), window.pages.cluster.clustering
    former = clustering.clustered.answer
    split.steppers["pp"].more.click()
    typed(split.more.field("Other options of the split"), "microbatches=3")
    settled(window)
    assert split.message.text() == (
        "microbatches=3 does not divide the batch 4 of a replica: expected a divisor of the "
        "batch; change one of them"
    )
    assert clustering.clustered.answer == former and clustering.clustered.stale
    assert split.retry.isVisibleTo(split)


def test_a_what_if_is_applied(window: Window, predictor: Predictor):
    split = view(window, Split)
    offered = window.pages.cluster.clustering.clustered.what_ifs
    assert offered is not None and {each.text for each in offered} == {
        "link_speed=2",
        "recompute=1",
        "fsdp=1",
        "bucket=100",
    }
    buttons = {button.toolTip(): button for button in split.what_ifs.buttons}
    assert list(buttons) == ["+bucket=100", "+recompute=1", "+fsdp=1"]  # faster links gain nothing
    button = buttons["+bucket=100"]
    button.click()
    choice = window.session.state.cluster
    assert choice is not None and choice.parallel == "dp=2 ddp bucket=100"
    settled(window)
    expected = next(each for each in offered if each.text == "bucket=100")
    answer = window.pages.cluster.clustering.clustered.answer
    assert answer is not None and answer.period_s == expected.period_s
