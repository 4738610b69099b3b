"""Page subtitles drop whole clauses if there is little room."""

import pytest
from PySide6.QtCore import QCoreApplication

from app.explorer.window.window import Window
from tests.app.explorer.window.front import in_view


@pytest.mark.parametrize("wide", [980, 1280])
def test_no_subtitle_of_a_plan_is_cut(planned: Window, wide: int):
    planned.resize(wide, 800)
    for _ in range(5):
        QCoreApplication.processEvents()
    titles = {panel.windowTitle(): panel.subtitle.text() for panel in in_view(planned)}
    cost = "crosses are 80% intervals; click a point to choose it"
    assert titles["Cost against speed"] in (cost, cost.partition(";")[0], "")
    assert titles["Verdict"] in ("2 candidates, the cheapest that fits is first", "2 candidates")
    assert not any("…" in text or "..." in text for text in titles.values())
    planned.resize(1280, 800)
