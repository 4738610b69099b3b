"""Pictures of every workspace with real predictions: `python run.py screenshots`, or
`python -m app.screenshots [FOLDER] [WORKSPACE …]`."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.answers.cluster.choice import ClusterChoice
from app.examples import FIRST
from app.explorer.state.places import FOLDER_VARIABLE
from app.explorer.state.session import ThemeChoice

if TYPE_CHECKING:
    from app.explorer.window.window import Window

    # only for types: the window has loaded these modules
    from app.views.fusion.view import FusionView
    from app.views.lessons.view import Lessons

SIZES = ((980, 700), (1280, 800), (1600, 1000), (1920, 1080))
THEMES: tuple[ThemeChoice, ...] = ("dark", "light")
SCALES = ("1", "2", "3")
LARGE = {"3": ((1280, 700),)}
"""The size of a window without its title bar, on a screen of 3840 × 2160 at a scale of three."""
_SCALE = "QT_SCALE_FACTOR"
_PATIENCE_S = 600.0
"""Longest time that a prediction may take before it counts as an error."""
_QUIET, _DRAWN = 20, 6
"""Numbers of 20 ms turns without a request after which predictions and drawings count as
finished."""
_BEHIND = {"Cluster": ("Rank timeline",)}
"""Further panels to show in pictures, by workspace; they are behind a tab."""
_BEFORE = {"Rank timeline": "The cluster"}
"""The panel in front of each of them."""


def main(folder: Path, workspaces: list[str]) -> int:
    """Every size, theme and scale; Qt requires a process for each scale."""
    words = [sys.executable, "-m", "app.screenshots", str(folder), *workspaces]
    status = 0
    for scale in SCALES:
        places = {_SCALE: scale, "QT_QPA_PLATFORM": "offscreen"}
        places[FOLDER_VARIABLE] = str(folder / "state")  # not the user's settings
        status = status or subprocess.call(words, env={**os.environ, **places})
    return status


def take_pictures(folder: Path, workspaces: list[str]) -> None:
    """Take the pictures at the scale of this process."""
    # imported here, because the process sets the scale of Qt first
    from app.explorer.window.start import open_window
    from app.widgets.drawing import application

    folder.mkdir(parents=True, exist_ok=True)
    running = application(on_screen=True)
    window = open_window(FIRST)
    window.show()
    _settle(window)
    window.session.add("B200, CUDA graph", replace(FIRST, gpu="b200", mode="cuda_graph"))
    _settle(window)
    for workspace in workspaces or list(window.workspaces.docks):
        window.session.show(workspace)
        _settle(window)
        _prepare(window, workspace)
        for theme in THEMES:
            window.session.set_theme(theme)
            for wide, high in LARGE.get(os.environ[_SCALE], SIZES):
                resize(window, wide, high)
                for name in ("", *_BEHIND.get(workspace, ())):
                    _raise(window, name)
                    _settle(window, _DRAWN)
                    words = (workspace, name, theme, str(wide), f"{os.environ[_SCALE]}x")
                    path = folder / "-".join(w.lower().replace(" ", "-") for w in words if w)
                    path = path.with_suffix(".png")
                    window.grab().save(str(path))
                    print(path, flush=True)
                    _raise(window, _BEFORE.get(name, ""))
    window.close()
    window.worker.close()
    del running


def _prepare(window: Window, workspace: str) -> None:
    """Act as a user: join two ops, reveal a lesson, choose a cluster."""
    # imported here, because the process sets the scale of Qt first
    from app.views.fusion.view import FusionView
    from app.views.lessons.view import Lessons

    if workspace == "Cluster":
        training = replace(FIRST, batch=8, training=True)
        window.session.set_scenario(training, "training")
        window.session.set_cluster(ClusterChoice("16xh100-ib", dp=8, tp=2), "cluster")
    for view in window.panels.views.values():
        if workspace == "Fusion" and isinstance(view, FusionView):
            _join(window, view)
        if workspace == "Lessons" and isinstance(view, Lessons):
            _reveal(window, view)
    _settle(window)


def _join(window: Window, view: FusionView) -> None:
    """The first op and a reader of its value that can be one kernel."""
    blocks = view.canvas.scene.blocks
    for flow in view.canvas.scene.flows:
        if flow.maker in blocks and flow.reader in blocks:
            view.canvas.choose(frozenset({flow.maker, flow.reader}))
            _settle(window)
            if view.trial is not None and not view.trial.refused:
                view.fuse()
                return


def _reveal(window: Window, view: Lessons) -> None:
    """Open the first lesson, lock its initial guess, and simulate."""
    view.turn_to(0)
    _settle(window)
    if view.attempt is None:
        return
    view.attempt.moved.update(view.attempt.keys)
    for option in view.page.options[:1]:
        option.click()
    for _ in range(2):
        view.go(1)
        _settle(window)


def _raise(window: Window, title: str) -> None:
    """Bring a panel to the front, unless `title` is empty."""
    for docks in window.workspaces.docks.values():
        for panel in docks.panels:
            if panel.windowTitle() == title:
                panel.raise_()


def resize(window: Window, wide: int, high: int) -> None:
    """Resize the window. The wide layout can keep the window wide until the narrow layout is
    applied, so the size may be reached only at the second attempt."""
    for _ in range(2):
        window.resize(wide, high)
        _settle(window, _DRAWN)
    if (window.width(), window.height()) != (wide, high):
        raise RuntimeError(f"the window stays at {window.width()} x {window.height()} pixels")


def _settle(window: Window, turns: int = _QUIET, patience_s: float = _PATIENCE_S) -> None:
    """Wait until there has been no request for a number of turns. Raises TimeoutError if a
    prediction does not finish."""
    from PySide6.QtCore import QCoreApplication  # as in `taken`

    end, quiet = time.monotonic() + patience_s, 0
    while quiet < turns:
        if time.monotonic() > end:
            raise TimeoutError(f"predictions not finished after {patience_s:.0f} s")
        QCoreApplication.processEvents()
        busy = window.worker.busy() or any(page.busy for page in window.pages.computing)
        quiet = 0 if busy else quiet + 1
        time.sleep(0.02)


if __name__ == "__main__":
    if sys.argv[1:] and sys.argv[1].startswith("-"):
        sys.exit(f"{sys.argv[1]} is not a folder: expected [FOLDER] [WORKSPACE …]")
    place = Path(sys.argv[1] if len(sys.argv) > 1 else "build/screenshots")
    if _SCALE in os.environ:
        take_pictures(place, sys.argv[2:])
    else:
        sys.exit(main(place, sys.argv[2:]))
