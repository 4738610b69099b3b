"""No garbage collection blocks the window for long while the user could act."""

import gc
from weakref import ref

import pytest
from PySide6.QtCore import QObject

from app.explorer.background import garbage
from app.explorer.background.garbage import Collector
from app.widgets.drawing import application


class Cycle:
    """An object that only the garbage collector deletes."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture
def unfrozen():
    """Without the objects that tests/conftest.py leaves out."""
    gc.unfreeze()
    yield
    gc.freeze()


def _is_searched(it: object) -> bool:
    return any(each is it for each in gc.get_objects())


@pytest.mark.parametrize("counts", [(701, 11, 11), (701, 0, 0)])
def test_many_new_objects_are_left_out_without_a_search(
    monkeypatch: pytest.MonkeyPatch,
    unfrozen: None,
    counts: tuple[int, int, int],
) -> None:
    application()
    monkeypatch.setattr(garbage.gc, "get_count", lambda: counts)
    searched: list[int] = []
    collect = gc.collect

    def noted(generation: int) -> None:
        searched.append(sum(len(gc.get_objects(each)) for each in range(generation + 1)))
        collect(generation)

    monkeypatch.setattr(garbage.gc, "collect", noted)
    parent, away = QObject(), [False]
    collector = Collector(parent, away=lambda: away[0])
    try:
        window = [Cycle() for _ in range(60_000)]
        dead = ref(Cycle())
        collector.collect()
        assert searched == [] and not _is_searched(window[0]) and dead() is not None
        few = ref(Cycle())
        collector.collect()
        assert len(searched) == 1 and searched[0] < 50_000 and few() is None
        monkeypatch.setattr(garbage, "_THRESHOLDS", (-1, -1, -1))
        monkeypatch.setattr(garbage, "_DEEP_S", 0.0)
        for _ in range(200):  # idle for 40 s, with the window in front
            collector.collect()
        assert max(searched) < 50_000 and dead() is not None
        away[0] = True
        for _ in range(149):
            collector.collect()
        assert dead() is not None
        collector.collect()
        assert dead() is None and max(searched) > 60_000
    finally:
        collector.close()
