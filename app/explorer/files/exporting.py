"""Exports of the current prediction: a report, a timeline, data. They are rendered in the
background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.answers.answer import Answer
from app.explorer.background.worker import SLOW, Worker
from app.outputs import write
from app.time_left import running
from app.widgets.save_dialog import ask_where
from simulator.errors import RidgepointError
from simulator.scenario.text.command import as_command

Cancelled = Callable[[], bool]
KEY = "export "
"""Prefix of the worker's key of an export; the name of the export follows."""


class _StoppedError(Exception):
    """The user cancelled an export."""


@dataclass(frozen=True)
class Form:
    """A file format: its name in menus, its suffix, and the function that returns its text."""

    name: str
    suffix: str
    text: Callable[[Answer, Cancelled], str]

    @property
    def lower_name(self) -> str:
        """The name inside a sentence; Perfetto keeps its capital."""
        return self.name[:1].lower() + self.name[1:]


def _report(answer: Answer, cancelled: Cancelled) -> str:
    # imported only for an export: they slow the start
    from app.answers.sweeps.other_sizes import other_sizes
    from app.html.page import as_html

    def counted(done: int, total: int) -> None:
        if cancelled():
            raise _StoppedError
        running().count(done, total, "points")

    others = other_sizes(answer.scenario, answer.prediction, answer.subject, counted)
    return as_html(answer.prediction, answer.subject, as_command(answer.scenario), others)


def _timeline(answer: Answer, _: Cancelled) -> str:
    from app.report.chrome_trace import as_text  # as above

    return as_text(answer.prediction, answer.subject)


def _document(answer: Answer, _: Cancelled) -> str:
    from app.report.exports import as_json  # as above

    return as_json(answer.prediction, answer.subject)


def _kernels(answer: Answer, _: Cancelled) -> str:
    from app.report.exports import as_csv  # as above

    return as_csv(answer.prediction)


FORMS = (
    Form("Report", ".html", _report),
    Form("Timeline for Perfetto", ".json", _timeline),
    Form("Prediction", ".json", _document),
    Form("Kernels", ".csv", _kernels),
)


def ask_and_export(
    form: Form,
    answer: Answer,
    parent: QWidget,
    worker: Worker,
    save: Callable[[Path, Callable[[], object]], None],
    failed: Callable[[RidgepointError], None],
) -> None:
    """Ask for a path and render the text in the background; `save` then receives the path, and the
    function that writes the file and may raise InputError."""
    usual = f"{answer.subject.name}-{form.name.split()[0].lower()}{form.suffix}"
    title = f"Export {form.lower_name}"
    path = ask_where(parent, title, usual, form.suffix)
    if path is not None:
        worker.ask(
            KEY + form.lower_name,
            lambda cancelled: form.text(answer, cancelled),
            lambda text: save(path, lambda: write(title, str(path), text)),
            failed,
            SLOW,
            True,
        )
