"""The page of the plan before its first candidate is predicted."""

from app.answers.plan.draft import first
from app.answers.plan.planned import Planned
from app.drawing.items import Text
from app.explorer.window.window import Window
from app.views.plan.front import CostAgainstSpeed
from app.views.plan.queue import TheQueue
from app.views.plan.verdict import PlanVerdict


def test_every_panel_says_that_the_first_candidate_is_being_planned(window: Window):
    waiting = Planned(first(), progress="preparing llama3-8b")
    none = Planned(first(), error="Cancelled. Plan again to continue.")
    for planned, text in ((waiting, "Planning …"), (none, "No plan yet")):
        bar = window.plan_page.bar
        bar.put(planned)
        assert bar.drawn is not None and bar.drawn.title == text
        for _, view in window.plan_page.views:
            view.show_plan(planned)
            if isinstance(view, CostAgainstSpeed):
                assert view.canvas.drawn is not None
                assert [i.words for i in view.canvas.drawn.items if isinstance(i, Text)] == [text]
            if isinstance(view, TheQueue | PlanVerdict):
                assert view.words.text() == text
