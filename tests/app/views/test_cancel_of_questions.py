"""Cancelled questions of eager steps end within 200 ms of processor time, wherever they are."""

import time
from collections.abc import Callable

import pytest

from app.answers.side import Side
from app.scenes.combinations.table import combined
from app.scenes.regime_map.scene import charted
from app.scenes.sweep.curves import curves
from simulator.scenario.scenario import Scenario, predict

WIDE = ["batch", "seq", "gpu", "mode", "host_speed", "bandwidth"]
LIMIT_S = 0.2


@pytest.fixture(scope="module")
def bert() -> Side:
    scenario = Scenario("bert-base")
    side = Side("A", "Today", scenario, predict(scenario))
    combined(side, ["batch", "gpu"], lambda: False)  # profiles and families are loaded once
    return side


@pytest.mark.parametrize("question", ["combinations", "map", "sweep"])
def test_a_question_asks_whether_it_is_cancelled_in_time(bert: Side, question: str) -> None:
    """The work between two checks is the work that is done after a cancel."""
    pauses: list[float] = []
    before_s = time.thread_time()

    def cancelled() -> bool:
        nonlocal before_s
        now_s = time.thread_time()
        pauses.append(now_s - before_s)
        before_s = now_s
        return False

    ask: dict[str, Callable[[], object]] = {
        "combinations": lambda: combined(bert, WIDE, cancelled),
        "map": lambda: charted(bert, ("batch", "seq"), 2, cancelled, {}),
        "sweep": lambda: curves((bert,), 0, "batch", cancelled),
    }
    ask[question]()
    cancelled()
    assert len(pauses) >= 3 and max(pauses) <= LIMIT_S
