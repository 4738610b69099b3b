"""Let opened files finish loading."""

import time
from collections.abc import Callable

from PySide6.QtCore import QCoreApplication, QElapsedTimer

from app.explorer.files.opening import Opening


def run_it(opening: Opening) -> None:
    """Trust the file, and wait until it is opened, refused or asked about."""
    opening.banner.offers.itemAt(0).widget().click()  # pyright: ignore
    settle(opening)


def settle(opening: Opening) -> None:
    """Wait until nothing is under way."""
    networks = opening.networks
    until(lambda: not networks.busy and not networks.worker.busy())


def until(done: Callable[[], bool]) -> None:
    """Let Qt go on until something has happened; a minute at most."""
    clock = QElapsedTimer()
    clock.start()
    while not done() and clock.elapsed() < 60_000:
        QCoreApplication.processEvents()
        time.sleep(0.005)
