"""The strip of scenarios: a card for each, the change against A, and a key for each action."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QElapsedTimer, QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QApplication

from app.answers.answer import compute_answer
from app.examples import FIRST
from app.explorer.background.answering import Answering
from app.explorer.background.worker import Worker
from app.explorer.state.session import NamedScenario, Session, State
from app.explorer.window.side_cards import SideCard, shortened
from app.explorer.window.side_strip import SideStrip
from app.explorer.window.verdict.bar import GRACE_MS
from app.quantities import number
from app.theme import DARK, LABEL_PX, SUPPORT_PX
from app.widgets.drawing import application
from app.widgets.paint import width
from simulator.scenario.scenario import Scenario
from tests.app.explorer.files.settling import until

GRAPH = replace(FIRST, mode="cuda_graph")


class _Known(Answering):
    """An answer store with fixed answers; `request` does nothing."""

    def request(self) -> None: ...


@pytest.fixture
def strip():
    application()
    worker = Worker()
    session = Session(State((NamedScenario("Today", FIRST), NamedScenario("Graph", GRAPH))))
    answering = _Known(session, worker)
    strip = SideStrip(session, answering, DARK)
    session.changed.connect(lambda *_: strip.show_sides())
    strip.show()
    yield strip
    strip.close()
    worker.close()


def know(strip: SideStrip, *scenarios: Scenario) -> None:
    for each in scenarios:
        strip.answering.answers[each.key] = compute_answer(each)
    strip.show_sides()


def press(strip: SideStrip, place: int, key: Qt.Key) -> None:
    for kind in (QEvent.Type.KeyPress, QEvent.Type.KeyRelease):
        QApplication.sendEvent(
            strip.cards[place], QKeyEvent(kind, key, Qt.KeyboardModifier.NoModifier)
        )


def test_a_card_says_time_interval_change_and_regime(strip: SideStrip):
    assert strip.cards[0].sentence() == "not predicted yet" and strip.cards[1].changed() == ""
    know(strip, FIRST, GRAPH)
    a, b = (compute_answer(each).prediction for each in (FIRST, GRAPH))
    assert strip.cards[0].changed() == "baseline"
    share = round(100 * (b.period_s / a.period_s - 1))
    assert strip.cards[1].changed() == f"−{-share}%"
    description = strip.cards[1].accessibleDescription()
    assert description.startswith(f"{number(b.period_s * 1e3, 2)} ms, ") and " to " in description
    assert description.endswith(f"{b.regime}-bound, CUDA graph, batch 64, −{-share}% against A")


def test_batches_that_differ_are_compared_by_item(strip: SideStrip):
    big = replace(FIRST, batch=256)
    strip.session.set_scenario(big, "big", place=1)
    know(strip, FIRST, big)
    a, b = (compute_answer(each).prediction.period_s for each in (FIRST, big))
    share = round(100 * ((b / 256) / (a / 64) - 1))
    assert strip.cards[1].changed() == f"−{-share}% per item"


def test_keys_work_on_rename_copy_and_remove(strip: SideStrip):
    session = strip.session
    press(strip, 1, Qt.Key.Key_Return)
    assert session.state.current == 1
    press(strip, 1, Qt.Key.Key_F2)
    box = strip.cards[1].box
    assert box.isVisible() and box.text() == "Graph"
    box.setText("Replayed")
    box.editingFinished.emit()
    assert session.state.sides[1].name == "Replayed" and not box.isVisible()
    strip.copy(1)
    assert [s.scenario for s in session.state.sides] == [FIRST, GRAPH, GRAPH]
    press(strip, 2, Qt.Key.Key_Delete)
    assert len(session.state.sides) == 2
    while session.history.canUndo():
        session.history.undo()
    assert session.state == State((NamedScenario("Today", FIRST), NamedScenario("Graph", GRAPH)))


def test_the_last_one_stays_and_says_why(strip: SideStrip):
    messages: list[str] = []
    strip.refused.connect(messages.append)
    strip.remove(1)
    strip.remove(0)
    assert len(strip.session.state.sides) == 1
    assert messages == ["the only scenario cannot be removed; add another one first"]


def test_four_cards_and_no_plus(strip: SideStrip):
    strip.copy(0)
    strip.copy(0)
    assert [card.isHidden() for card in strip.cards] == [False] * 4
    assert strip.more.isHidden()


@pytest.mark.parametrize("low", [False, True])
def test_it_is_drawn_high_and_low(strip: SideStrip, low: bool):
    know(strip, FIRST, GRAPH)
    strip.set_low(low)
    strip.resize(800, 100)
    picture = strip.cards[1].grab().toImage()
    assert picture.height() == (48 if low else 84) and not picture.allGray()


def test_a_change_is_shortened_or_left_out_before_it_covers_the_time():
    running = application()
    time, change = "5.5 ms", "−96% per item"

    def needed(words: str, px: int) -> float:
        return width(time, px, 600) + 6 + width(words, px, 600)

    assert shortened(time, change, needed(change, SUPPORT_PX)) == (change, SUPPORT_PX)
    narrow = needed("−96%/item", LABEL_PX)
    assert shortened(time, change, narrow) == ("−96%/item", LABEL_PX)
    assert shortened(time, change, narrow - 1) == ("", SUPPORT_PX)  # and never −96% alone
    del running


class _Paints(QObject):
    """Counts how often a card is painted, and how often it is dimmed."""

    def __init__(self, card: SideCard) -> None:
        super().__init__(card)
        self.card, self.lit, self.dimmed = card, 0, 0
        card.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Paint and self.card.painted is not None:
            self.dimmed += self.card.painted.stale
            self.lit += not self.card.painted.stale
        return False


def until_passed(ms: int) -> None:
    clock = QElapsedTimer()
    clock.start()
    until(lambda: clock.hasExpired(ms))


def test_a_card_keeps_its_figures_dimmed_until_the_next_answer(strip: SideStrip) -> None:
    know(strip, FIRST, GRAPH)
    card = strip.cards[0]
    answered = card.shown
    assert answered is not None and answered.answer is not None
    card.put(replace(answered, answer=None))
    assert card.painted == replace(answered, stale=True)  # each paint from now on is dimmed
    assert card.sentence() == "not predicted yet" and card.changed() == ""
    card.put(replace(answered, answer=None))  # requested again before the answer came
    assert card.painted == replace(answered, stale=True)
    card.put(replace(answered, answer=None, reason="too large"))
    assert card.painted == card.shown
    card.put(answered)
    card.put(replace(answered, name="Other", answer=None))
    assert card.painted == card.shown


def test_an_outdated_card_dims_within_the_delay_of_the_verdict(strip: SideStrip) -> None:
    know(strip, FIRST, GRAPH)
    card = strip.cards[0]
    answered = card.shown
    assert answered is not None
    until_passed(2 * GRACE_MS)
    paints = _Paints(card)
    for _ in range(8):  # a drag without an answer does not postpone the dimming
        card.put(replace(answered, answer=None))
        until_passed(GRACE_MS // 4)
    assert (paints.lit, paints.dimmed) == (0, 1)
    card.put(answered)
    until(lambda: paints.lit == 1)
    card.put(replace(answered, answer=None))
    card.put(replace(answered, answer=None, current=False))  # painted for another reason
    until(lambda: paints.dimmed == 2)


def test_an_answer_within_the_delay_causes_no_flicker(strip: SideStrip) -> None:
    know(strip, FIRST, GRAPH)
    until_passed(2 * GRACE_MS)
    paints = [_Paints(card) for card in strip.cards[:2]]
    for step, batch in enumerate(range(65, 75), 1):  # a drag in A: B keeps its change against A
        strip.session.set_scenario(replace(FIRST, batch=batch), "batch", merge="batch")
        assert [card.painted.stale for card in strip.cards[:2] if card.painted] == [True, True]
        know(strip, replace(FIRST, batch=batch))
        assert all(card.painted == card.shown for card in strip.cards[:2])
        until(lambda step=step: all(each.lit == step for each in paints))
    until_passed(2 * GRACE_MS)
    assert [(each.lit, each.dimmed) for each in paints] == [(10, 0), (10, 0)]


def test_a_change_against_a_dims_while_a_is_computed(strip: SideStrip) -> None:
    know(strip, FIRST, GRAPH)
    card = strip.cards[1]
    before = card.painted
    assert before is not None and before.changed()
    strip.session.set_scenario(replace(FIRST, batch=3), "batch")
    assert card.painted is not None and card.shown is not None
    assert card.painted.stale and card.painted.changed() == before.changed()
    assert card.changed() == "" and card.shown.answer is before.answer
    strip.answering.refused[replace(FIRST, batch=3).key] = "too large"
    strip.show_sides()
    assert card.painted == card.shown and not card.painted.stale
