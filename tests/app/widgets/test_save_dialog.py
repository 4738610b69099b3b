"""The dialog that asks where to write a file adds the suffix if a name has none."""

from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from app.widgets.drawing import application
from app.widgets.save_dialog import ask_where


@pytest.mark.parametrize(("chosen", "path"), [
    ("a/kernels", Path("a/kernels.csv")), ("a/kernels.csv", Path("a/kernels.csv")),
    ("a/kernels.json", Path("a/kernels.csv")),
    ("a/v1.5 layer", Path("a/v1.5 layer.csv")), ("", None),
])  # fmt: skip
def test_a_suffix_is_added(chosen: str, path: Path | None, monkeypatch: pytest.MonkeyPatch) -> None:
    running = application()
    shown: list[object] = []
    monkeypatch.setattr(
        QFileDialog,
        "getSaveFileName",
        lambda *arguments: shown.append(arguments[1:]) or (chosen, ""),
    )
    assert ask_where(QWidget(), "Export kernels", "kernels.csv", ".csv") == path
    assert shown == [("Export kernels", "kernels.csv", "Files (*.csv)")]
    del running


def test_a_file_named_without_its_suffix_is_replaced_only_after_a_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression: the dialog asked whether to replace "kernels", and then replaced kernels.csv
    silently."""
    running = application()
    path = tmp_path / "kernels.csv"
    path.write_text("of last week")
    typed = str(tmp_path / "kernels")
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (typed, ""))
    questions: list[str] = []
    answer = QMessageBox.StandardButton.No
    monkeypatch.setattr(
        QMessageBox, "question", lambda *arguments: questions.append(arguments[2]) or answer
    )
    assert ask_where(QWidget(), "Export kernels", "kernels.csv", ".csv") is None
    assert questions == [f"kernels.csv already exists in {tmp_path}.\nReplace it?"]
    answer = QMessageBox.StandardButton.Yes
    assert ask_where(QWidget(), "Export kernels", "kernels.csv", ".csv") == path
    del running
