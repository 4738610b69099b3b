"""The form of the GPU in the window: opened for the scenario that is worked on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.answers.changes import gpu_of, with_field
from simulator.scenario.resolve import gpu_of as found

if TYPE_CHECKING:
    from app.explorer.gpu_editor.editor import Editor
    from app.explorer.window.window import Window


class GpuEditing:
    """One form at a time, beside which the window goes on."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.editor: Editor | None = None

    def open(self) -> None:
        """A form of the current scenario's GPU, or the one that is open."""
        self.window.opening.tried(self._open)

    def _open(self) -> None:
        if self.editor is None:
            from app.explorer.gpu_editor.editor import Editor

            window = self.window
            card = found(gpu_of(window.session.state.scenario))
            self.editor = Editor(window.theme, card, self.use, self.keep, window)
            self.editor.destroyed.connect(self._closed)
        self.editor.show()
        self.editor.raise_()
        self.editor.activateWindow()

    def use(self, gpu: str | dict[str, Any], name: str) -> None:
        """The scenario that is worked on takes a GPU."""
        session = self.window.session
        session.ask(with_field(session.state.scenario, "gpu", gpu), f"gpu {name}")

    def keep(self, _: Path) -> None:
        """A file was written: it lies on the shelf, and what was answered with it is asked
        again."""
        window = self.window
        window.shelf.fill()
        window.inspector.list_gpus()
        window.inspector.show_scenario(window.session.state.scenario)
        window.answering.forget()

    def _closed(self) -> None:
        self.editor = None
