"""Wait until opened files are loaded."""

import time
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QElapsedTimer

from app.explorer.files.opening import Opening


def run_it(opening: Opening) -> None:
    """Trust the file, and wait until it is opened or refused, or a dialog asks for a choice."""
    opening.banner.offers.itemAt(0).widget().click()  # pyright: ignore
    settle(opening)


def settle(opening: Opening) -> None:
    """Wait until no file is being opened."""
    networks = opening.networks
    until(lambda: not networks.busy and not networks.worker.busy())


def until(done: Callable[[], bool]) -> None:
    """Process Qt's events until `done` returns True, for at most a minute."""
    clock = QElapsedTimer()
    clock.start()
    while not done() and clock.elapsed() < 60_000:
        QCoreApplication.processEvents()
        time.sleep(0.005)
    assert done()
