"""Collections of garbage wait while the user drags a slider."""

import pytest
from PySide6.QtCore import QObject

from app.explorer.background import garbage
from app.explorer.background.garbage import Collector
from app.widgets.drawing import application


def test_a_drag_postpones_searches_of_older_objects_for_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    application()
    now_s = [100.0]
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(garbage.gc, "get_count", lambda: (701, 11, 0))
    searches: list[tuple[int, int]] = []
    monkeypatch.setattr(
        garbage.gc, "collect", lambda generation: searches.append((generation, round(now_s[0])))
    )
    parent = QObject()
    collector = Collector(parent)
    for _ in range(60):  # a drag of 12 s; each prediction ends before the next tick
        collector.postpone()
        now_s[0] += 0.2
        collector.collect()
    assert searches == [(0, 102), (0, 104), (0, 106), (0, 108), (1, 110), (0, 112)]
    now_s[0] += 0.2  # the drag has ended
    collector.collect()
    assert searches[6:] == [(1, 112)]
    collector.close()
