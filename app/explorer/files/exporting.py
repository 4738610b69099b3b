"""Exports of the current prediction: a report, a timeline, data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtWidgets import QWidget

from app.answers.answer import Answer
from app.outputs import write
from app.report.chrome_trace import as_text
from app.report.exports import as_csv, as_json
from app.widgets.save_dialog import ask_where
from simulator.modes import compiles
from simulator.scenario.text.command import as_command


@dataclass(frozen=True)
class Form:
    """A file format: its name in menus, its suffix, and the function that returns its text."""

    name: str
    suffix: str
    text: Callable[[Answer], str]

    @property
    def lower_name(self) -> str:
        """The name inside a sentence; Perfetto keeps its capital."""
        return self.name[:1].lower() + self.name[1:]


def _report(answer: Answer) -> str:
    # imported only for an export: they slow the start
    from app.answers.sweeps.other_sizes import other_sizes
    from app.html.page import as_html

    step = answer.scenario, answer.prediction, answer.subject
    # a compiled step is fused point by point, which would block the window for seconds
    others = None if compiles(answer.prediction.mode) else other_sizes(*step)
    return as_html(answer.prediction, answer.subject, as_command(answer.scenario), others)


def _timeline(answer: Answer) -> str:
    return as_text(answer.prediction, answer.subject)


def _document(answer: Answer) -> str:
    return as_json(answer.prediction, answer.subject)


def _kernels(answer: Answer) -> str:
    return as_csv(answer.prediction)


FORMS = (
    Form("Report", ".html", _report), Form("Timeline for Perfetto", ".json", _timeline),
    Form("Prediction", ".json", _document), Form("Kernels", ".csv", _kernels),
)  # fmt: skip


def export(form: Form, answer: Answer, path: Path) -> None:
    """Write a file. Raises InputError if writing fails."""
    write(f"Export {form.lower_name}", str(path), form.text(answer))


def ask_and_export(
    form: Form, answer: Answer, parent: QWidget, written: Callable[[Path], None]
) -> None:
    """Ask for a path, write the file, and call `written` with the path."""
    usual = f"{answer.subject.name}-{form.name.split()[0].lower()}{form.suffix}"
    path = ask_where(parent, f"Export {form.lower_name}", usual, form.suffix)
    if path is not None:
        export(form, answer, path)
        written(path)
