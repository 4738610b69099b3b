"""What-ifs in the inspector: controls from their signatures; each change is one undo step, each
what-if can be removed.
"""

from dataclasses import replace

import pytest
from PySide6.QtWidgets import QLabel

from app.answers.changes import with_arguments
from app.examples import FIRST
from app.explorer.inspector.applied import AppliedList
from app.explorer.state.session import NamedScenario, Session, State
from app.theme import DARK
from app.widgets.drawing import application
from app.widgets.fields.parameter_controls import Controls, RangeSlider
from simulator.errors import InputError
from simulator.scenario.parameters import Parameter
from simulator.whatif import apply, whatifs

TWICE = apply(apply(FIRST, "bandwidth", {"times": 2.0}), "no_python")


@pytest.fixture
def listed() -> AppliedList:
    application()
    session = Session(State((NamedScenario("Today", TWICE),)))
    applied_list = AppliedList(session, DARK)
    session.changed.connect(lambda before, after: applied_list.show_scenario(after.scenario))
    applied_list.show_scenario(TWICE)
    return applied_list


def test_a_slider_turns_the_what_if_in_its_place_and_a_drag_is_one_step(listed: AppliedList):
    slider = listed.rows[0].sliders["times"]
    for number in (3.0, 4.0, 5.0):
        slider.setValue(slider.step_of(number))
    slider.sliderReleased.emit()
    now = listed.session.state.scenario
    assert [w.name for w in now.whatifs] == ["bandwidth", "no_python"]
    assert now.whatifs[0].arguments["times"] == pytest.approx(5.0, rel=0.02)
    assert listed.session.history.count() == 1
    listed.session.history.undo()
    assert listed.session.state.scenario == TWICE
    assert listed.rows[0].boxes["times"].text() == "2"


def test_a_unit_that_repeats_the_name_is_left_out(listed: AppliedList) -> None:
    changed = apply(apply(FIRST, "batch", {"samples": 48}), "launch_latency", {"microseconds": 0.5})
    listed.show_scenario(changed)
    texts = [label.text() for row in listed.rows for label in row.findChildren(QLabel)]
    assert texts == ["samples", "microseconds, µs"]


def test_a_typed_number_outside_is_marked_and_nothing_changes(listed: AppliedList):
    box = listed.rows[0].boxes["times"]
    box.setText("99")
    box.editingFinished.emit()
    assert listed.session.state.scenario == TWICE and box.property("look") == "wrong"
    assert "expected 0.1 to 10" in box.toolTip()
    box.setText("3")
    box.editingFinished.emit()
    assert listed.session.state.scenario.whatifs[0].arguments == {"times": 3.0}
    assert not box.property("look")


def test_one_is_removed_and_the_others_stay(listed: AppliedList):
    listed._remove(0)
    assert [w.name for w in listed.session.state.scenario.whatifs] == ["no_python"]
    assert len(listed.rows) == 1


def test_a_change_that_a_later_what_if_refuses_is_reported():
    base = replace(FIRST, dtype="bf16")
    scenario = apply(apply(base, "gpu", {"to": "h100_sxm"}), "fp8")
    with pytest.raises(InputError):
        with_arguments(scenario, 0, {"to": "a100_sxm_80"})


def test_a_slider_goes_from_end_to_end_in_even_factors():
    application()
    slider = RangeSlider(DARK, "x", Parameter("times", "number", 2.0, 0.1, 10.0, log=True))
    assert [slider.number(step) for step in (0, 100, 200)] == [0.1, 1.0, 10.0]
    assert [slider.step_of(n) for n in (0.1, 1.0, 10.0, 99.0)] == [0, 100, 200, 200]
    even = RangeSlider(DARK, "x", Parameter("us", "number", 2.5, 0.0, 1000.0))
    assert [even.number(step) for step in (0, 100, 200)] == [0.0, 500.0, 1000.0]


def test_every_what_if_gets_a_control_for_each_of_its_parameters():
    application()
    for each in whatifs():
        values = {p.name: p.default if p.default is not None else 1 for p in each.parameters}
        controls = Controls(DARK, each.name, each.parameters, values)
        assert controls.grid.count() >= 2 * len(each.parameters)
