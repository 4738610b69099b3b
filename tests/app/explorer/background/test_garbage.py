"""Cyclic garbage that a worker's thread allocates is collected in the window's thread."""

import gc
import threading
import time
from typing import ClassVar

from PySide6.QtCore import QCoreApplication, QElapsedTimer

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


def test_garbage_is_collected_in_the_windows_thread_alone() -> None:
    application()
    worker = Worker()

    def allocate(_: object) -> threading.Thread:
        for _ in range(20 * gc.get_threshold()[0]):
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
