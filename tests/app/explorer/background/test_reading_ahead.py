"""Files of pages that are not shown yet are read in the background after the start."""

import pytest
from PySide6.QtWidgets import QApplication

from app import lessons
from app.answers.cluster import fields
from app.answers.plan import scenario_draft
from app.examples import FIRST
from app.explorer.window.start import open_window
from app.widgets.drawing import application
from simulator.hardware import gpu
from tests.app.explorer.files.settling import until


def test_pages_that_are_not_shown_find_their_files_read(monkeypatch: pytest.MonkeyPatch):
    running = application()
    assert isinstance(running, QApplication)
    lessons._read_packaged.cache_clear()
    fields.shipped.cache_clear()
    monkeypatch.setattr(scenario_draft, "_last", None)
    window = open_window(FIRST)
    try:
        until(lambda: lessons._read_packaged.cache_info().currsize == len(lessons.packaged()))
        until(lambda: fields.shipped.cache_info().currsize == 1)
        until(lambda: scenario_draft._last is not None)
        assert window.session.state.workspace == "Explore"
    finally:
        window.close()
        window.worker.close()


def test_the_draft_of_a_scenario_is_written_once(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(scenario_draft, "_last", None)
    one = scenario_draft.of_scenario(FIRST)
    assert scenario_draft.of_scenario(FIRST) is one
    other = scenario_draft.of_scenario(FIRST.__class__("gpt2"))
    assert other != one and scenario_draft.of_scenario(FIRST) == one
    again = scenario_draft.of_scenario(FIRST)
    gpu._parsed.cache_clear()  # as if the files of the GPUs had changed
    fresh = scenario_draft.of_scenario(FIRST)
    assert fresh is not again and fresh == again
