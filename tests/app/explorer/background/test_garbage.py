"""Cyclic garbage that a worker's thread allocates is collected in the window's thread, and all
threads share one heap."""

import ctypes
import gc
import json
import subprocess
import sys
import threading
import time
from typing import ClassVar
from weakref import ref

import pytest
from PySide6.QtCore import QCoreApplication, QElapsedTimer, QObject

from app.explorer.background import garbage
from app.explorer.background.garbage import Collector, count_objects
from app.explorer.background.worker import Worker
from app.widgets.drawing import application
from simulator.scenario import trace_source
from tests.app.explorer.waiting import wait


class Cycle:
    """An object that only the garbage collector deletes; it records the collecting thread."""

    deleted_in: ClassVar[set[threading.Thread]] = set()

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        self.deleted_in.add(threading.current_thread())


def test_objects_are_counted_while_another_thread_builds_tuples():
    ended, errors, built = threading.Event(), list[SystemError](), list[int]()

    def build() -> None:
        while not ended.is_set():
            try:
                built.append(len(tuple([each] for each in range(200))))
            except SystemError as error:  # the tuple had a second reference while it grew
                errors.append(error)

    turn_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    builder = threading.Thread(target=build)
    gc.freeze()  # those of earlier tests are not counted: with millions, a count takes 40 ms
    objects = [[each] for each in range(20_000)]
    builder.start()
    try:
        counts = [count_objects(2) for _ in range(150)]
    finally:
        ended.set()
        builder.join()
        sys.setswitchinterval(turn_s)
    assert min(counts) > len(objects) and not errors and set(built) == {200}


def test_a_collection_waits_for_an_awaited_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    application()
    waiting, now_s = [True], [100.0]
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now_s[0])
    generations: list[int] = []
    monkeypatch.setattr(garbage.gc, "get_count", lambda: (10_000, 0, 0))
    monkeypatch.setattr(garbage.gc, "collect", generations.append)
    parent = QObject()
    collector = Collector(parent, lambda: waiting[0])
    collector.collect()
    assert generations == []
    now_s[0] += 2.1  # the slider pauses, but not for long
    collector.collect()
    assert generations == [0]
    collector.collect()
    assert generations == [0]
    waiting[0] = False
    collector.collect()
    assert generations == [0, 0]
    collector.close()


def test_dead_objects_of_a_slow_user_wait_for_a_minute_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    application()
    now_s = [100.0]
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now_s[0])
    parent, awaited = QObject(), [False]
    collector = Collector(parent, lambda: awaited[0])
    counts = [(0, 0, 0)]
    try:
        dead = ref(Cycle())
        gc.collect(0)
        survivor = Cycle()
        in_use = ref(survivor)
        gc.collect(1)
        assert dead() is None and in_use() is not None
        monkeypatch.setattr(garbage.gc, "get_count", lambda: counts[0])
        del survivor  # it is in the oldest generation by now
        counts[0] = (701, 1, 1)  # as after two events
        for _ in range(299):
            now_s[0] += 0.2
            collector.collect()
        assert in_use() is not None
        awaited[0] = True
        now_s[0] += 0.4
        collector.collect()
        awaited[0] = False  # the slider rests from now on
        for _ in range(2):
            now_s[0] += 0.2
            collector.collect()
        assert in_use() is not None
        now_s[0] += 0.2
        collector.collect()
        assert in_use() is None
    finally:
        collector.close()


def test_an_idle_window_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    application()
    now_s = [100.0]
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(garbage.gc, "get_count", lambda: (700, 0, 0))
    generations: list[int] = []
    monkeypatch.setattr(garbage.gc, "collect", generations.append)
    parent = QObject()
    collector = Collector(parent)
    for _ in range(9):
        now_s[0] += 60.0
        collector.collect()
    assert generations == []
    collector.close()


def test_a_prediction_between_two_ticks_postpones_long_searches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    application()
    now_s = [100.0]
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(garbage.gc, "get_count", lambda: (700, 1, 1))
    generations: list[int] = []
    monkeypatch.setattr(garbage.gc, "collect", generations.append)
    worker = Worker()
    collector = worker.findChild(Collector)
    assert collector is not None
    for _ in range(400):  # a drag of 80 s, whose predictions end before the next tick
        worker.ask("short", lambda _: None, lambda _: None)
        now_s[0] += 0.2
        collector.collect()
    assert generations == []
    wait(worker)
    for _ in range(3):
        now_s[0] += 0.2
        collector.collect()
    assert generations == [2]
    assert worker.close()
    trace_source.trace_elsewhere(False)


def test_garbage_is_collected_in_the_windows_thread_alone() -> None:
    application()
    worker = Worker()

    def allocate(_: object) -> threading.Thread:
        assert gc.get_threshold()[0] >= 50_000  # as in the commands, which rarely collect
        for _ in range(10_000):
            Cycle()
        return threading.current_thread()

    threads: list[threading.Thread] = []
    worker.ask("allocate", allocate, threads.append)
    wait(worker)
    clock = QElapsedTimer()
    clock.start()
    while not Cycle.deleted_in and clock.elapsed() < 5_000:
        QCoreApplication.processEvents()
        time.sleep(0.01)
    assert worker.close() and gc.isenabled()
    trace_source.trace_elsewhere(False)
    assert threads != [threading.current_thread()]
    assert Cycle.deleted_in == {threading.current_thread()}


@pytest.fixture
def unfrozen():
    """Without the objects that tests/conftest.py leaves out."""
    gc.unfreeze()
    yield
    gc.freeze()


def _is_searched(it: object) -> bool:
    return any(each is it for each in gc.get_objects())


def test_a_full_collection_leaves_out_survivors_of_earlier_ones(
    monkeypatch: pytest.MonkeyPatch, unfrozen: None
) -> None:
    application()
    parent, before = QObject(), Cycle()
    collector = Collector(parent)
    assert not _is_searched(before)
    survivor = Cycle()
    assert _is_searched(survivor)
    with monkeypatch.context() as always:
        always.setattr(garbage, "_THRESHOLDS", (-1, -1, -1))  # every generation exceeds them
        collector.collect()
        assert not _is_searched(survivor)
        second, later = Cycle(), ref(Cycle())
        collector.collect()
        assert later() is None and not _is_searched(second)
    collector.close()
    assert not gc.get_freeze_count() and all(map(_is_searched, (before, survivor, second)))


def test_closing_a_window_frees_what_another_one_left_out(unfrozen: None) -> None:
    application()
    parent = QObject()
    first, second, died = Collector(parent), Collector(parent), ref(Cycle())
    gc.freeze()  # as the first one does after a full collection
    gc.collect()
    assert died() is not None
    second.close()
    assert gc.collect() and died() is None
    first.close()


def test_survivors_that_die_are_collected_when_the_user_waits_for_nothing(
    monkeypatch: pytest.MonkeyPatch, unfrozen: None
) -> None:
    application()
    now_s, awaited = [100.0], [True]
    monkeypatch.setattr(garbage.time, "monotonic", lambda: now_s[0])
    monkeypatch.setattr(garbage.gc, "get_count", lambda: (701, 1, 1))
    parent, survivor = QObject(), Cycle()
    collector = Collector(parent, lambda: awaited[0])
    in_use = ref(survivor)
    del survivor

    def pass_by(seconds: float) -> None:
        for _ in range(round(seconds / 0.2)):
            now_s[0] += 0.2
            collector.collect()

    try:
        pass_by(700.0)  # the user drags a slider during the whole time
        awaited[0] = False
        pass_by(29.0)
        assert in_use() is not None
        pass_by(61.0)  # this happens with the next full collection
        assert in_use() is None
        survivor = Cycle()
        pass_by(120.0)
        in_use = ref(survivor)
        del survivor
        pass_by(300.0)  # the next full collection follows ten minutes after the last one
        assert in_use() is not None
        pass_by(300.0)
        assert in_use() is None
    finally:
        collector.close()


ALLOCATE = """
import ctypes, json, sys, threading
from app.explorer.background.garbage import keep_one_heap

libc = ctypes.CDLL(None)
libc.malloc.restype = libc.sbrk.restype = ctypes.c_void_p
libc.malloc.argtypes, libc.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
if sys.argv[1] == "one heap":
    keep_one_heap()
libc.free(libc.malloc(8 << 20))  # from here on, 8 MiB is the default limit of blocks in a heap
of_thread = []
thread = threading.Thread(target=lambda: of_thread.append(libc.malloc(1000)))
thread.start()
thread.join()
blocks = [*of_thread, libc.malloc(4 << 20)]
print(json.dumps([block < libc.sbrk(0) for block in blocks]))
"""


@pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "malloc_trim"),
    reason="other C libraries have other heaps",
)
@pytest.mark.parametrize(
    ("heaps", "small_is_in_it", "large_is_in_it"),
    [("the default", False, True), ("one heap", True, False)],
)
def test_small_blocks_of_threads_share_the_heap_and_large_ones_leave_no_holes(
    heaps: str, small_is_in_it: bool, large_is_in_it: bool
) -> None:
    command = [sys.executable, "-c", ALLOCATE, heaps]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert json.loads(shown) == [small_is_in_it, large_is_in_it]
