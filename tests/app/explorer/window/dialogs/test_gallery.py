"""The gallery: every example is predicted without torch, and opens as one step."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtWidgets import QApplication

from app.examples.gallery import GALLERY, Example
from app.explorer.window.dialogs.gallery import Gallery
from app.explorer.window.window import Window
from simulator.scenario import trace_source
from simulator.scenario.scenario import predict
from tests.app.explorer.waiting import wait


@pytest.mark.parametrize("example", GALLERY, ids=lambda example: example.title)
def test_every_example_is_packaged(example: Example, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("RIDGEPOINT_TRACES", "off")
    trace_source.trace_elsewhere(True)  # a step that must be traced raises UntracedError
    try:
        assert predict(example.scenario).period_s > 0
    finally:
        trace_source.trace_elsewhere(False)


def test_the_sentences_of_the_examples_hold():
    steps = {example.title: predict(example.scenario) for example in GALLERY}
    regimes = {
        "A batch of sentences": "compute",
        "One sentence": "overhead",
        "Decode with Llama 3 8B": "memory",
        "Vision transformer, compiled": "compute",
    }
    assert {title: steps[title].regime for title in regimes} == regimes
    half = replace(GALLERY[0].scenario, batch=(GALLERY[0].scenario.batch or 0) // 2)
    assert predict(half).regime == "overhead"
    saved = (
        1 - steps["Decode with 8-bit weights"].period_s / steps["Decode with Llama 3 8B"].period_s
    )
    assert 0.2 < saved < 0.3  # "a quarter"


def test_an_example_opens_in_one_step(window: Window):
    action: Callable[[], None] = window.shortcuts.actions["Examples …"].trigger
    action()
    gallery = next(w for w in QApplication.topLevelWidgets() if isinstance(w, Gallery))
    assert len(gallery.buttons) == len(GALLERY)
    window.session.show("Map")
    before = window.session.history.count()
    gallery.buttons[1].click()
    assert window.session.state.scenario == GALLERY[1].scenario
    assert window.session.state.workspace == "Explore"
    assert window.session.history.count() == before + 1
    wait(window.worker)
    assert window.verdict.answer is not None
    assert window.verdict.answer.scenario == GALLERY[1].scenario
