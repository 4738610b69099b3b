"""A cancelled question ends within 200 ms of processor time, whatever stage it is in."""

import time
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from app.answers.side import Side
from app.scenes.combinations.table import combined
from app.scenes.regime_map.scene import charted
from app.scenes.sweep.curves import curves
from simulator.analysis.sweep import sweep
from simulator.caches.cancelling import CancelledError, check_cancelled, checking
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
def test_a_question_checks_for_cancellation_in_time(bert: Side, question: str) -> None:
    """The work between two checks bounds what is still done after a cancellation. The explorer
    checks through the question's argument and from within the simulator's work."""
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
    with checking(lambda: None if not cancelled() else _cancel()):
        ask[question]()
    cancelled()
    assert len(pauses) >= 3 and max(pauses) <= LIMIT_S


COMPILED = Scenario("bert-base", batch=8, seq=128, dtype="bf16", training=True, mode="compiled")


def test_a_compiled_sweep_checks_for_cancellation_while_it_fuses(bert: Side) -> None:
    """Fusing one point takes 0.4 s for BERT training and 0.9 s for Llama-3-8B training."""
    predict(COMPILED)  # its family, profile and compiled host are loaded once
    times_s: list[float] = []
    with checking(lambda: times_s.append(time.thread_time())):
        sweep(COMPILED, {"batch": [9, 10]})
        check_cancelled()
    pauses = [after - before for before, after in pairwise(times_s)]
    assert len(pauses) > 40 and max(pauses) <= LIMIT_S


def test_a_sweep_that_is_cancelled_while_it_fuses_can_be_repeated(bert: Side) -> None:
    checks = 0

    def cancel_once() -> None:
        nonlocal checks
        checks += 1
        if checks == 30:
            raise CancelledError

    with checking(cancel_once):
        with pytest.raises(CancelledError):
            sweep(COMPILED, {"batch": [11]})
        again = sweep(COMPILED, {"batch": [11]})
    expected = predict(replace(COMPILED, batch=11)).period_s
    assert again.columns["period_s"][0] == pytest.approx(expected, rel=1e-12)


def test_no_check_outside_a_job() -> None:
    check_cancelled()
    with checking(lambda: None), pytest.raises(CancelledError), checking(_cancel):
        check_cancelled()
    check_cancelled()


def _cancel() -> None:
    raise CancelledError
