"""The Plan page in tests."""

import time

from PySide6.QtCore import QCoreApplication, QElapsedTimer

from app.explorer.background.planning import Planning
from app.explorer.window.window import Window
from app.views.plan.verdict import PlanVerdict
from app.views.plan.workload import Workload
from app.widgets.fields.sentence_fields import TextField


def settled(planning: Planning) -> None:
    """Wait until the plan is finished, for at most two minutes."""
    clock = QElapsedTimer()
    clock.start()
    while planning.busy and clock.elapsed() < 120_000:
        QCoreApplication.processEvents()
        time.sleep(0.005)
    assert not planning.busy


def answer(window: Window) -> PlanVerdict:
    """The verdict bar of the plan."""
    return next(v for _, v in window.pages.plan.views if isinstance(v, PlanVerdict))


def workload(window: Window) -> Workload:
    """The editor of the plan."""
    return next(v for _, v in window.pages.plan.views if isinstance(v, Workload))


def field(window: Window, name: str) -> TextField:
    """A field of the sentence."""
    field = workload(window).sentence.field(name)
    assert isinstance(field, TextField)
    return field
