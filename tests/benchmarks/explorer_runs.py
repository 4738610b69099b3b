"""The runs of the explorer's benchmarks, each in a separate process:
`python -m tests.benchmarks.explorer_runs RUN`. Each prints one line of JSON per figure."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

from tests.benchmarks.explorer_windows import idle, loop_for, opened, painted, say
from tests.benchmarks.timeline_zoom import zoom


def start(began: str) -> None:
    """Time from the command to a prediction on the screen. The window's modules are imported by the
    command itself, with its settings of the garbage collector."""
    from app.cli import main
    from app.widgets import qt_installed

    need_qt = qt_installed.need_qt

    def need_qt_and_watch(*words: str) -> None:
        need_qt(*words)  # the last step before the command imports the window
        from PySide6.QtCore import QTimer

        import app.explorer.window.start as starting

        open_window = starting.open_window

        def watched(*arguments: Any) -> Any:
            window = open_window(*arguments)

            def over() -> None:
                torch = "imports torch" if "torch" in sys.modules else "without torch"
                took_s = time.time() - float(began)
                say("explorer: command to live prediction", [took_s], torch, 1.2)
                window.close()

            painted(
                window.verdict,
                lambda: window.verdict.answer is not None,
                lambda: QTimer.singleShot(0, over),
            )
            return window

        starting.open_window = watched

    qt_installed.need_qt = need_qt_and_watch
    sys.argv = ["ridgepoint", "explore", "bert-base"]
    main()


def slider(name: str) -> None:
    """Time from a slider's move to the painted verdict, and to the painted roofline, which is the
    first chart. The next move comes immediately after that, as in a drag.
    """
    from PySide6.QtCore import QTimer

    from app.examples import FIRST
    from app.views.roofline.canvas import RooflineCanvas
    from tests.benchmarks.questions import LLAMA

    scenario, required_s = (LLAMA, 0.06) if name == "llama" else (FIRST, 0.025)
    window = opened(scenario)
    box, verdict = window.inspector.batch.slider, window.verdict
    chart = window.findChild(RooflineCanvas)
    verdict_s, chart_s, gui_s, all_s = (list[float]() for _ in range(4))
    first = 1 if name == "llama" else 10
    for value in range(first, first + 40):
        if value == window.session.state.scenario.batch:
            continue
        at, busy, used = time.perf_counter(), time.thread_time(), time.process_time()

        def until(loop: Any, value: int = value, at: float = at) -> None:
            def note() -> None:
                verdict_s.append(time.perf_counter() - at)

            painted(
                verdict,
                lambda: verdict.answer.subject.batch == value,
                lambda: QTimer.singleShot(0, note),
            )
            painted(
                chart,
                lambda: (
                    chart.scene.prediction is verdict.answer.prediction
                    and verdict.answer.subject.batch == value
                ),
                lambda: QTimer.singleShot(0, loop.quit),
            )
            box.setValue(value)

        loop_for(20_000, until)
        chart_s.append(time.perf_counter() - at)
        gui_s.append(time.thread_time() - busy)
        all_s.append(time.process_time() - used)
    kind = "training" if scenario.training else "inference"
    cpu = f"{median(all_s) * 1e3:.0f} ms CPU, {median(gui_s) * 1e3:.0f} of them of the GUI"
    say(f"explorer: {scenario.network} {kind}, slider to verdict", verdict_s, "", required_s)
    say(f"explorer: {scenario.network} {kind}, slider to roofline", chart_s, cpu, required_s)
    window.close()
    window.worker.close()


class Heart:
    """Ticks every 10 ms; a longer time between two ticks is a stall. CPU seconds are those of the
    GUI's thread: on a loaded machine, they show the work of the explorer itself.
    """

    def __init__(self) -> None:
        from PySide6.QtCore import Qt, QTimer

        self.timer = QTimer()
        self.timer.setTimerType(Qt.TimerType.PreciseTimer)
        self.timer.timeout.connect(self.beat)
        self.timer.start(10)
        self.reset()

    def reset(self) -> None:
        self.wall = self.cpu = 0.0
        self.at, self.used = time.perf_counter(), time.thread_time()

    def beat(self) -> None:
        at, used = time.perf_counter(), time.thread_time()
        self.wall, self.cpu = max(self.wall, at - self.at), max(self.cpu, used - self.used)
        self.at, self.used = at, used


def stalls() -> None:
    """The longest time for which the GUI does not respond, by action."""
    from app.examples import FIRST
    from simulator.whatif import apply

    window = opened(FIRST)
    session, heart = window.session, Heart()

    def go(name: str) -> Callable[[], None]:
        return lambda: session.show(name)

    todo: list[tuple[str, Callable[[], object]]] = []
    for times in ("first", "again"):
        todo += [(f"{times} to {name}", go(name)) for name in window.workspaces.docks]
    todo += [
        ("theme in Lessons", window.toggle_theme),
        ("to Explore", go("Explore")),
        ("theme in Explore", window.toggle_theme),
        ("theme again", window.toggle_theme),
    ]
    for batch in (65, 80, 128):
        todo.append(
            (f"batch {batch}", lambda batch=batch: window.inspector.batch.slider.setValue(batch))
        )
    todo += [
        ("copy", lambda: window.strip.copy(0)),
        ("+cuda_graph", lambda: session.set_scenario(apply(FIRST, "cuda_graph"), "graph")),
        ("to Compare with two", go("Compare")),
        ("to Explore with two", go("Explore")),
        ("gpt2", lambda: window.inspector._network("gpt2")),
        ("resnet50", lambda: window.inspector._network("resnet50")),
        ("undo", session.history.undo),
        ("undo", session.history.undo),
        ("search", lambda: window.shelf.search.setText("gpu")),
        ("no search", lambda: window.shelf.search.setText("")),
        ("commands", window.commands.open),
        ("table", window.panels.show_table),
        ("resize", lambda: window.resize(1280, 800)),
        ("pick", lambda: session.pick(frozenset({3, 4, 5}))),
    ]
    for panel in window.panels.panels.values():
        todo.append((f"front: {panel.windowTitle()}", panel.raise_))
    for name, done in todo:
        loop_for(50)
        heart.reset()
        done()
        loop_for(400)
        idle(window, 20.0)
        say(f"explorer: longest stall, {name}", [heart.wall], f"{heart.cpu * 1e3:.0f} ms CPU", 0.1)
    window.close()
    window.worker.close()


def cancel() -> None:
    """Time from Escape until the computing thread is free for the next job."""
    from PySide6.QtCore import QEvent, Qt
    from PySide6.QtGui import QKeyEvent
    from PySide6.QtWidgets import QApplication

    from app.examples import FIRST
    from app.explorer.background.worker import SLOW

    window = opened(FIRST)
    durations_s, idle_runs = list[float](), 0
    for batch in range(90, 110):
        window.inspector.batch.slider.setValue(batch)
        loop_for(750 + 20 * (batch - 90))
        idle_runs += not window.worker.busy()
        at = time.perf_counter()
        QApplication.sendEvent(
            window,
            QKeyEvent(QEvent.Type.KeyPress, Qt.Key.Key_Escape, Qt.KeyboardModifier.NoModifier),
        )

        def until(loop: Any) -> None:
            window.worker.ask("probe", lambda _: None, lambda _: loop.quit(), lane=SLOW)

        loop_for(20_000, until)
        durations_s.append(time.perf_counter() - at)
    say("explorer: Escape until the thread is free", durations_s, f"{idle_runs} were idle", 0.2)
    window.close()
    window.worker.close()


def memory(kind: str, count: str = "200") -> None:
    """Growth of resident memory from the 20th to the last of several sessions that are opened and
    closed.
    """
    import gc
    import tempfile
    from pathlib import Path

    from app.examples import FIRST
    from app.explorer.state.session_file import save
    from app.explorer.window.start import open_window

    window = opened(FIRST)
    folder = tempfile.TemporaryDirectory()
    paths = [Path(folder.name) / f"{name}.ridge" for name in ("one", "two")]
    save(paths[0], window.session.state, window.layout_.current())
    window.strip.copy(0)
    window.inspector.mode.buttons["cuda_graph"].click()
    idle(window)
    window.files.save(paths[1])  # nothing unsaved: opening asks no question
    sizes: list[float] = []
    for number in range(int(count)):
        if kind == "windows":
            other = open_window(FIRST)
            other.show()
            loop_for(150)
            other.close()
            other.worker.close()
            other.deleteLater()
            del other
        else:
            window.opening.open([paths[number % 2]])
        loop_for(50)
        gc.collect()
        assert len(window.session.state.sides) == 1 + number % 2 or kind == "windows"
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        sizes.append(pages * 4096 / 2**20)
    grown = sizes[-1] / sizes[19] - 1
    say(
        f"explorer: memory over {count} {kind}",
        [0.0],
        f"{sizes[19]:.1f} → {sizes[-1]:.1f} MiB, {grown:+.1%}; required: at most 2%",
    )


if __name__ == "__main__":
    RUNS: dict[str, Callable[..., None]] = {
        "start": start,
        "slider": slider,
        "stalls": stalls,
        "cancel": cancel,
        "zoom": zoom,
        "memory": memory,
    }
    RUNS[sys.argv[1]](*sys.argv[2:])
