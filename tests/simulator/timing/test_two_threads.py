"""Results and errors of two threads are those of one."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from simulator.timing import two_threads
from simulator.timing.two_threads import in_two_threads


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(two_threads, "_cores", lambda: 2)


def test_results_are_in_order_and_two_threads_work() -> None:
    both, workers = threading.Barrier(2), set[str]()

    def square(number: int) -> int:
        if number < 2:
            both.wait(60)  # ends only if a second thread takes an item
        workers.add(threading.current_thread().name)
        return number * number

    assert in_two_threads(square, range(50)) == [n * n for n in range(50)]
    assert len(workers) == 2


def test_one_core_or_little_work_starts_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = threading.current_thread()
    assert set(in_two_threads(lambda _: threading.current_thread(), range(9), worth=False)) == {
        mine
    }
    monkeypatch.setattr(two_threads, "_cores", lambda: 1)
    assert set(in_two_threads(lambda _: threading.current_thread(), range(9))) == {mine}


def test_the_error_of_the_first_failing_item_is_raised() -> None:
    def fail(number: int) -> None:
        raise ValueError(f"item {number}")

    with pytest.raises(ValueError, match="item 0"):
        in_two_threads(fail, range(9))
    assert threading.active_count() < 9  # the second thread has ended


def test_both_threads_treat_divisions_by_zero_as_the_caller_does() -> None:
    both = threading.Barrier(2)

    def infinite(_: int) -> bool:
        both.wait(60)
        return bool(np.isinf(np.ones(3) / np.zeros(3)).all())  # else warnings are errors here

    with np.errstate(divide="ignore"):
        assert in_two_threads(infinite, range(2)) == [True, True]
