"""Waits until a worker has nothing left to do."""

import time

from PySide6.QtCore import QCoreApplication, QElapsedTimer

from app.explorer.background.worker import Worker


def wait(worker: Worker) -> None:
    """Let Qt go on until every answer is there; 20 seconds at most."""
    clock = QElapsedTimer()
    clock.start()
    while worker.busy() and clock.elapsed() < 20_000:
        QCoreApplication.processEvents()
        time.sleep(0.005)  # a call in a tight loop wears None out before Python 3.12
    assert not worker.busy()
