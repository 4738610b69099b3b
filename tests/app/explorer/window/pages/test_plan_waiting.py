"""The page of the plan before its first candidate is predicted."""

from PySide6.QtWidgets import QApplication

from app.answers.plan.draft import first
from app.answers.plan.planned import Planned
from app.drawing.items import Text
from app.explorer.window.window import Window
from app.theme import DARK
from app.views.plan.front import CostAgainstSpeed
from app.views.plan.queue import TheQueue
from app.views.plan.verdict import PlanVerdict
from app.widgets.drawing import application


def test_every_panel_says_that_the_first_candidate_is_being_planned(window: Window):
    waiting = Planned(first(), progress="preparing llama3-8b")
    none = Planned(first(), error="Cancelled. Plan again to continue.")
    for planned, text in ((waiting, "Planning …"), (none, "No plan yet")):
        bar = window.pages.plan.bar
        bar.put(planned)
        assert bar.drawn is not None and bar.drawn.title == text
        for _, view in window.pages.plan.views:
            view.show_plan(planned)
            if isinstance(view, CostAgainstSpeed):
                assert view.canvas.drawn is not None
                assert [i.words for i in view.canvas.drawn.items if isinstance(i, Text)] == [text]
            if isinstance(view, TheQueue | PlanVerdict):
                assert view.words.text() == text


def test_progress_leaves_out_the_best_candidate_before_it_is_cut() -> None:
    """Regression: it read "best so far 1 ×….56 USD an hour" in a window of 1,280 pixels."""
    application()
    verdict = PlanVerdict(DARK)
    whole = "planned 4 of 14; best so far 1 × B200 SXM, eager, 5.56 USD an hour, about 15 s left"
    verdict.resize(1400, 600)
    verdict.show()
    verdict.show_plan(Planned(first(), progress=whole))
    for wide, shown in ((1400, whole), (440, "planned 4 of 14, about 15 s left")):
        verdict.resize(wide, 600)
        QApplication.processEvents()
        assert verdict.step.text() == shown and verdict.step.toolTip() == whole
    verdict.close()
