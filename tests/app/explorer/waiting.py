"""Wait until a worker is idle."""

import time

from PySide6.QtCore import QCoreApplication, QElapsedTimer

from app.explorer.background.worker import Worker


def wait(worker: Worker) -> None:
    """Process Qt's events until the worker is idle, for at most 20 seconds."""
    clock = QElapsedTimer()
    clock.start()
    while worker.busy() and clock.elapsed() < 20_000:
        QCoreApplication.processEvents()
        time.sleep(
            0.005
        )  # before Python 3.12, each call drops a reference to None (see `qt_repairs`)
    assert not worker.busy()
