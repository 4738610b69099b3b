"""The details of a plan: the fields that are not in its sentence."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from app.explorer.window.window import Window
from app.widgets.fields.sentence_fields import TextField
from tests.app.explorer.keys import typed
from tests.app.explorer.window.plan_driver import workload


def test_a_detail_is_edited_in_its_field(planned: Window):
    """An invalid share is refused with its message; a valid one becomes part of the plan."""
    page, view = planned.pages.plan, workload(planned)
    at = view.details.field("Prefix hits")
    assert isinstance(at, TextField) and at.text() == ""
    typed(at, "130%")
    assert view.message.text() == (
        "workload.prefix_hit = '130%': expected a share from 0 to 1; write 0.3 or '30%'"
    )
    typed(at, "30%")
    assert page.planning.planned.draft.spec.workload.prefix_hit == 0.3
    assert view.message.isHidden()
    planned.session.history.undo()
    assert at.text() == ""


def test_the_details_follow_the_kind_of_workload(planned: Window):
    view = workload(planned)
    kind = view.sentence.field("Kind of workload")
    assert view.details.fields[0].field.name == "Batching"
    kind.entered.emit(kind.field, "Train")
    names = [widget.field.name for widget in view.details.fields]
    assert "Ways to train on several GPUs" in names and "Batching" not in names
    planned.session.history.undo()
    assert view.details.fields[0].field.name == "Batching"


def test_a_button_shows_the_details(planned: Window):
    planned.activateWindow()
    view = workload(planned)
    view.area.verticalScrollBar().setValue(0)
    QTest.mouseClick(view.reveal, Qt.MouseButton.LeftButton)
    first = view.details.fields[0]
    assert first.hasFocus() and not first.visibleRegion().isEmpty()
