"""The steps of a lesson show their names; if there is little room, only the current step does."""

from typing import Any

import pytest

from app.scenes.lessons.attempt import STEPS
from app.theme import BODY_PX, DARK
from app.views.lessons.pieces import Steps
from app.widgets.paint import width


@pytest.mark.parametrize("step", list(STEPS))
def test_no_name_is_cut(application: Any, step: Any):
    steps = Steps(DARK)
    steps.show_step(step)
    every = sum(28 + width(words, BODY_PX, 600) for words in STEPS.values())
    for wide in (int(every) + 31, 404, 265, 200):
        steps.resize(wide, 32)
        shown = steps.shown_words()
        assert len(shown) == 4 and shown[list(STEPS).index(step)] == STEPS[step]
        used = sum(22 + (6 + width(words, BODY_PX, 600) if words else 0) for words in shown)
        assert used + 3 * 10 <= wide
    assert shown.count("") == 3
    assert "4 Try it" in steps.toolTip()
