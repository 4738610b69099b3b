"""Windows and panels of a removed screen reappear on a visible screen, at any scale."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.explorer.state.places import FOLDER_VARIABLE

_PROGRAM = """
import json, sys
from PySide6.QtCore import QCoreApplication
from app.widgets.drawing import application
from app.explorer.window.start import open_window
from simulator.scenario.scenario import Scenario

running = application(on_screen=True)
window = open_window(Scenario("mlp-tiny"))
floating = window.beside[1]
if len(sys.argv) == 1:
    window.show()
    QCoreApplication.processEvents()
    window.setGeometry(1500, 60, 1240, 740)
    floating.setFloating(True)
    floating.move(2100, 300)
    QCoreApplication.processEvents()
    print(json.dumps(window.layout_.current()))
else:
    window.layout_.restore(json.loads(sys.argv[1]))
    window.show()
    QCoreApplication.processEvents()
    boxes = [w.geometry().getRect() for w in (window, floating)]
    print(json.dumps([floating.isFloating(), *boxes]))
window.close()
window.worker.close()
"""


def run(screens: list[tuple[int, int, int, int, int]], folder: Path, *words: str) -> Any:
    """Run the program on screens given as x, y, width, height (logical) and device pixel ratio."""
    path = folder / "screens.json"
    each = ("x", "y", "width", "height", "dpr")
    path.write_text(
        json.dumps(
            {
                "screens": [
                    {
                        "name": str(at),
                        **dict(zip(each, screen, strict=True)),
                        "logicalDpi": 96,
                        "logicalBaseDpi": 96,
                    }
                    for at, screen in enumerate(screens)
                ]
            }
        )
    )
    texts = {
        **os.environ,
        "QT_QPA_PLATFORM": f"offscreen:configfile={path}",
        FOLDER_VARIABLE: str(folder),
    }
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *words],
        capture_output=True,
        text=True,
        env=texts,
        check=True,
        timeout=120,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def on_two_screens(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The layout of a window and a floating panel, both on the second screen."""
    screens = [(0, 0, 1280, 800, 1), (1280, 0, 1920, 1080, 2)]
    return json.dumps(run(screens, tmp_path_factory.mktemp("two")))


def seen(box: list[int], screen: tuple[int, int, int, int, int]) -> bool:
    """Whether the whole box is on a screen."""
    x, y, wide, high, _ = screen
    return (
        x <= box[0] and y <= box[1] and box[0] + box[2] <= x + wide and box[1] + box[3] <= y + high
    )


def test_on_the_same_screens_it_lies_as_it_lay(on_two_screens: str, tmp_path: Path) -> None:
    screens = [(0, 0, 1280, 800, 1), (1280, 0, 1920, 1080, 2)]
    floating, window, panel = run(screens, tmp_path, on_two_screens)
    assert floating and window == [1500, 60, 1240, 740] and panel[:2] == [2100, 300]


def test_from_a_screen_that_is_gone_it_comes_back(on_two_screens: str, tmp_path: Path) -> None:
    screen = (0, 0, 1280, 800, 3)
    floating, window, panel = run([screen], tmp_path, on_two_screens)
    assert floating and seen(window, screen) and seen(panel, screen)
    assert panel[2] == 306  # the width is the same on every screen
