"""Pictures of the explorer with real predictions: `python -m app.screenshots [FOLDER]`."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from app.examples import FIRST
from app.places import FOLDER_VARIABLE
from app.session import ThemeChoice

SIZES = ((1280, 800), (1920, 1080))
THEMES: tuple[ThemeChoice, ...] = ("dark", "light")


def main(folder: Path) -> None:
    """One picture for each size and theme."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QCoreApplication

    from app.plots.drawing import application
    from app.start import opened

    os.environ[FOLDER_VARIABLE] = str(folder / "state")  # not the user's own
    running = application()
    folder.mkdir(parents=True, exist_ok=True)
    window = opened(FIRST)
    window.show()
    for theme in THEMES:
        window.session.paint(theme)
        for wide, high in SIZES:
            window.resize(wide, high)
            end = time.monotonic() + 60
            quiet = 0
            while quiet < 20 and time.monotonic() < end:
                QCoreApplication.processEvents()
                quiet = 0 if window.worker.busy() else quiet + 1
                time.sleep(0.02)
            path = folder / f"explore-{theme}-{wide}.png"
            window.grab().save(str(path))
            print(path)
    window.close()
    window.worker.close()
    del running


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "build/screenshots"))
