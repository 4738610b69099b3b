"""Cards dropped on the window: their changes, and the reasons for refusals."""

from pathlib import Path

from PySide6.QtCore import QEvent, QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragMoveEvent, QDropEvent, QKeyEvent
from PySide6.QtWidgets import QApplication, QLineEdit, QToolButton

from app.examples import FIRST
from app.explorer.shelf.parameter_dialog import ParameterDialog
from app.explorer.window.window import Window
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply
from tests.app.explorer.keys import typed
from tests.app.explorer.waiting import wait


def test_a_card_dropped_on_a_scenario_changes_that_one_alone(window: Window):
    window.strip.copy(0)
    offer = window.dropping.offered("whatif:cuda_graph", 0)
    assert offer.words == "+cuda_graph in scenario A" and offer.done is not None
    offer.done()
    a, b = (side.scenario for side in window.session.state.sides)
    assert a == apply(FIRST, "cuda_graph") and b == FIRST
    assert window.session.state.current == 1
    refused = window.dropping.offered("gpu:h200_sxm", 1)
    assert refused.done is None and refused.words == "Scenario B already uses H200 SXM 141GB"
    wait(window.worker)


def test_a_card_on_plus_is_a_new_scenario_and_a_refused_one_says_why(window: Window):
    plus, session = window.strip.more, window.session
    assert plus.acceptDrops()
    widget = window.shelf.widget("whatif:cuda_graph")
    drag = widget.mime(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    middle = plus.rect().center()
    QApplication.sendEvent(plus, QDragEnterEvent(middle, Qt.DropAction.CopyAction, *drag))
    outline = window.dropping.targets[-1].outline
    assert outline.isVisible() and not outline.refused
    assert outline.words == "New scenario B with CUDA graph"
    assert outline.geometry().contains(plus.geometry()) and outline.width() > 400
    QApplication.sendEvent(plus, QDropEvent(QPointF(middle), Qt.DropAction.CopyAction, *drag))
    assert not outline.isVisible() and session.history.count() == 1
    assert [side.name for side in session.state.sides] == ["Today", "CUDA graph"]
    assert session.state.current == 1 and session.state.scenario == apply(FIRST, "cuda_graph")
    assert session.state.sides[0].scenario == FIRST
    for key, words in (
        ("gpu:h200_sxm", "Scenario B already uses H200 SXM 141GB, and so does its copy"),
        ("whatif:recompute", "expected"),
    ):
        refused = window.dropping.offered_new(key)
        assert refused.done is None and words in refused.words
    session.history.undo()
    assert len(session.state.sides) == 1
    widget.keyPressEvent(
        QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    )
    assert session.state.scenario == apply(FIRST, "cuda_graph") and session.state.current == 1
    for _ in range(2):
        window.strip.copy(0)
    assert window.dropping.offered_new("gpu:l40s").words == (
        "There are already 4 scenarios: remove one first"
    )
    wait(window.worker)


def test_a_file_that_is_offered_as_a_move_is_copied(window: Window, tmp_path: Path):
    """A file manager deletes a dropped file if the target accepts it as a move."""
    path = tmp_path / "unknown.docx"
    path.write_text("text", "utf-8")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    both = Qt.DropAction.MoveAction | Qt.DropAction.CopyAction
    held = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.ShiftModifier
    target = window.workspaces
    at = target.rect().center()
    for event in (
        QDragEnterEvent(at, both, data, *held),
        QDragMoveEvent(at, both, data, *held),
        QDropEvent(QPointF(at), both, data, *held),
    ):
        assert event.proposedAction() == Qt.DropAction.MoveAction
        QApplication.sendEvent(target, event)
        assert event.isAccepted() and event.dropAction() == Qt.DropAction.CopyAction
    assert "Ridgepoint can't open unknown.docx" in window.banner.label.text()
    window.banner.hide()


def test_a_refused_card_shows_the_reason_and_changes_nothing(window: Window):
    card = window.shelf.card("whatif:recompute")
    assert card is not None
    window.dropping.apply(card, -1)
    assert window.banner.isVisible() and "expected" in window.banner.label.text()
    assert window.session.state.scenario == FIRST and not window.session.history.count()
    window.banner.hide()


def test_a_card_does_not_change_a_scenario_behind_a_lesson(window: Window):
    window.session.show("Lessons")
    before = window.session.state
    card = next(card for card in window.shelf.cards if card.kind == "gpu")
    window.dropping.apply(card, -1)
    assert window.session.state == before
    assert window.banner.label.text() == (
        "Lessons have their own scenarios: apply cards in Explore"
    )


def test_a_card_that_the_ops_of_a_scenario_cannot_take_is_refused(window: Window):
    reason = (
        "kv_cache=fp8: no fused attention reads a cache of keys and values: expected a network "
        "that decodes, such as llama3-8b-decode"
    )
    dropping = window.dropping
    for offer in (dropping.offered("whatif:kv_cache", -1), dropping.offered_new("whatif:kv_cache")):
        assert (offer.done, offer.words) == (None, reason)


def test_a_dialog_changes_no_other_scenario_once_its_own_is_removed(window: Window):
    window.strip.copy(0)
    change = window.dropping._changing(1, FIRST)
    frozen = apply(FIRST, "queue_depth", {"launches": 8})
    change(frozen)
    assert [side.scenario for side in window.session.state.sides] == [FIRST, frozen]
    window.strip.remove(1)
    change(apply(FIRST, "queue_depth", {"launches": 16}))
    window.strip.copy(0)
    window.session.set_scenario(apply(FIRST, "cuda_graph"), "graph", place=1)
    before = window.session.state
    change(apply(FIRST, "queue_depth", {"launches": 16}))
    assert window.session.state == before
    wait(window.worker)


def test_a_refused_drop_leaves_its_reason_in_the_banner(window: Window):
    window.banner.hide()
    widget = window.shelf.widget("gpu:h200_sxm")
    drag = widget.mime(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    card = window.strip.cards[0]
    middle = card.rect().center()
    QApplication.sendEvent(card, QDragEnterEvent(middle, Qt.DropAction.CopyAction, *drag))
    QApplication.sendEvent(card, QDropEvent(QPointF(middle), Qt.DropAction.CopyAction, *drag))
    assert window.banner.isVisible()
    assert window.banner.label.text() == "Scenario A already uses H200 SXM 141GB"
    assert not window.session.history.count()
    window.session.rename(0, "Base")
    assert not window.banner.isVisible()
    window.strip.remove(0)
    assert window.banner.isVisible()
    window.session.add()  # the reason stays until it is dismissed
    assert not window.banner.isVisible()
    window.session.history.setIndex(0)


def test_a_card_whose_prediction_would_fail_is_refused(window: Window):
    for network, key, words in (
        ("bert-base", "fused_experts", "expected a mixture of experts"),
        ("chain", "fp8", "no linear layer in modules '**'"),
        ("chain", "training", "network 'chain' has no training step"),
        ("mixtral-small", "cuda_graph", "cannot capture aten.nonzero.default"),
    ):
        window.session.set_scenario(Scenario(network, gpu="h200"), network)
        wait(window.worker)
        assert window.answering.up_to_date
        for place in (-1, 0):
            offer = window.dropping.offered(f"whatif:{key}", place)
            assert offer.done is None and words in offer.words, (network, key, offer.words)


def test_a_card_whose_defaults_change_nothing_opens_its_dialog(window: Window):
    window.session.set_scenario(Scenario("mlp-tiny", gpu="h200", dtype="bf16"), "tiny")
    wait(window.worker)
    for key, words in (
        ("precision", "precision needs dtype"),
        ("mode", "mode needs to"),
        ("remove", "remove needs op"),
    ):
        offer = window.dropping.offered(f"whatif:{key}", -1)
        assert offer.words == words and offer.done is not None
        offer.done()
    dialog = next(d for d in window.findChildren(ParameterDialog) if d.name == "remove")
    box = next(box for box in dialog.findChildren(QLineEdit) if "op" in box.accessibleName())
    typed(box, "conv2d")
    dialog.submit()
    assert "no op 'conv2d'" in dialog.refusal.text()
    typed(box, "relu")
    dialog.submit()
    assert [w.name for w in window.session.state.scenario.whatifs] == ["remove"]
    wait(window.worker)
    assert window.answering.up_to_date and not window.banner.isVisible()


def test_a_prediction_that_fails_offers_to_undo_the_change(window: Window):
    wait(window.worker)
    before = window.session.state.scenario
    window.session.set_scenario(
        apply(apply(before, "precision", {"dtype": "fp32"}), "sdpa"), "flash in fp32"
    )
    wait(window.worker)
    assert window.banner.isVisible() and "sdpa=flash" in window.banner.label.text()
    item = window.banner.offers.itemAt(0)
    undo = item.widget() if item else None
    assert isinstance(undo, QToolButton) and undo.text() == "Undo"
    undo.click()
    assert window.session.state.scenario == before and window.answering.up_to_date
    assert not window.banner.isVisible()


def test_the_verdict_and_the_inspector_take_cards_for_the_current_scenario(window: Window):
    """Regression: they accepted no cards, although they show the scenario."""
    session, inspector = window.session, window.beside[1]
    widget = window.shelf.widget("gpu:l40s")
    drag = widget.mime(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    for target in (window.verdict, inspector):
        middle = target.rect().center()
        QApplication.sendEvent(target, QDragEnterEvent(middle, Qt.DropAction.CopyAction, *drag))
        QApplication.sendEvent(target, QDropEvent(QPointF(middle), Qt.DropAction.CopyAction, *drag))
        assert session.state.scenario.gpu == "l40s" and session.history.count() == 1
        session.history.undo()
    session.show("Plan")
    offer = window.dropping.offered_current("gpu:l40s")
    assert offer.words.endswith("L40S in scenario A")
    wait(window.worker)


def test_a_file_opens_wherever_it_is_dropped(window: Window, tmp_path: Path):
    path = tmp_path / "unknown.docx"
    path.write_text("text", "utf-8")
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    held = data, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier
    for place in (window.head, window.strip.more, window.status, window.verdict):
        window.banner.hide()
        middle = place.rect().center()
        QApplication.sendEvent(place, QDragEnterEvent(middle, Qt.DropAction.CopyAction, *held))
        QApplication.sendEvent(place, QDropEvent(QPointF(middle), Qt.DropAction.CopyAction, *held))
        assert "Ridgepoint can't open unknown.docx" in window.banner.label.text()
        assert window.banner.isVisible()
    window.banner.hide()
