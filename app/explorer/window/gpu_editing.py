"""Opens the GPU editor for the current scenario."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.answers.changes import gpu_of, with_field
from simulator.scenario.resolve import gpu_of as resolved_gpu

if TYPE_CHECKING:
    from app.explorer.gpu_editor.editor import Editor
    from app.explorer.window.window import Window


class GpuEditing:
    """Opens one modeless editor at a time."""

    def __init__(self, window: Window) -> None:
        self.window = window
        self.editor: Editor | None = None

    def open(self) -> None:
        """Open the editor of the current scenario's GPU, or raise the open one."""
        self.window.opening.attempt(self._open)

    def _open(self) -> None:
        if self.editor is None:
            from app.explorer.gpu_editor.editor import Editor  # imported late for a fast start

            window = self.window
            gpu = resolved_gpu(gpu_of(window.session.state.scenario))
            self.editor = Editor(window.theme, gpu, self.use, self.saved, window)
            self.editor.destroyed.connect(self._closed)
        self.editor.show()
        self.editor.raise_()
        self.editor.activateWindow()

    def use(self, gpu: str | dict[str, Any], name: str) -> None:
        """Use a GPU in the current scenario."""
        session = self.window.session
        session.set_scenario(with_field(session.state.scenario, "gpu", gpu), f"GPU {name}")

    def saved(self, _: Path) -> None:
        """Update the shelf and all predictions after a GPU file was written."""
        window = self.window
        window.shelf.fill()
        window.inspector.list_gpus()
        window.inspector.show_scenario(window.session.state.scenario)
        window.answering.clear()

    def _closed(self) -> None:
        self.editor = None
