"""The session: every change can be undone, drags are merged, valid files are read back and others
are refused.
"""

import gc
import weakref
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QObject

from app.answers.changes import with_field
from app.explorer.state.session import NamedScenario, Session, State
from app.explorer.state.session_file import load, save, text
from app.scenes.timeline.pins import Pin
from app.widgets.drawing import application
from simulator.errors import InputError
from simulator.scenario.scenario import Scenario
from simulator.whatif import apply

START = State((NamedScenario("Today", Scenario("bert-base", batch=64, seq=128, dtype="bf16")),))


def test_undoing_all_gives_the_start_state():
    session = Session(START)
    session.set_scenario(replace(session.state.scenario, batch=8), "batch 8")
    session.add()
    session.rename(1, "Graph")
    session.set_scenario(apply(session.state.scenario, "cuda_graph"), "CUDA graph")
    session.pick(frozenset([3]))
    session.switch_to(0)
    session.remove(1)
    session.set_theme("light")
    session.show("Map")
    assert session.history.count() == 9
    while session.history.canUndo():
        session.history.undo()
    assert session.state == START


def test_a_drag_is_one_step_and_the_next_one_another():
    session = Session(START)
    for batch in (65, 70, 90):
        session.set_scenario(
            replace(session.state.scenario, batch=batch), f"batch {batch}", "batch"
        )
    session.drag_ended()
    session.set_scenario(replace(session.state.scenario, batch=91), "batch 91", "batch")
    assert session.history.count() == 2
    session.history.undo()
    assert session.state.scenario.batch == 90
    session.history.undo()
    assert session.state == START


def _drag(session: Session, *batches: int) -> None:
    for batch in batches:
        changed = replace(session.state.scenario, batch=batch)
        session.set_scenario(changed, f"batch {batch}", "batch")


def test_a_drag_keeps_the_states_at_its_ends_alone_in_memory():
    session = Session(START)
    passed = list[weakref.ref[State]]()
    for batch in range(65, 95):
        _drag(session, batch)
        passed.append(weakref.ref(session.state))
    gc.collect()
    assert [state for state in passed if state()] == passed[-1:]


def test_the_undo_action_follows_a_drag():
    running = application()
    session, parent = Session(START), QObject()
    undo = session.history.createUndoAction(parent, "Undo")
    _drag(session, 65, 70)
    assert undo.text() == "Undo batch 70"
    session.history.undo()
    _drag(session, 90)  # the undone change is not merged with the new one
    assert session.history.count() == 1 and undo.text() == "Undo batch 90"
    session.history.undo()
    assert session.state == START
    del running


def test_a_drag_back_to_its_start_is_no_step():
    session = Session(START)
    session.rename(0, "Yesterday")
    _drag(session, 65, 64)
    assert session.state.scenario == START.scenario
    assert session.history.count() == session.history.index() == 1
    assert session.history.undoText() == "rename scenario A"


def test_four_sides_and_no_fifth_one_and_not_none():
    session = Session(START)
    for _ in range(3):
        session.add()
    with pytest.raises(InputError, match="There are already 4 scenarios, the maximum"):
        session.add()
    session.remove(0)
    assert [side.name for side in session.state.sides] == ["Scenario A", "Variant B", "Variant C"]
    session.rename(1, "Mine")
    session.remove(0)
    assert [side.name for side in session.state.sides] == ["Mine", "Variant B"]
    session.remove(0)
    with pytest.raises(InputError, match="the only scenario"):
        session.remove(0)


def test_a_file_reads_back_byte_for_byte(tmp_path: Path):
    changed = apply(apply(START.scenario, "bandwidth", {"times": 2.0}), "cuda_graph")
    state = State(
        (*START.sides, NamedScenario("<b> & é", changed, "t.json.gz")),
        1,
        frozenset([5, 2]),
        "system",
        "Map",
    )
    save(tmp_path / "one.ridge", state, {"Explore": "AAEC"})
    loaded, docks = load(tmp_path / "one.ridge")
    assert (loaded, docks) == (state, {"Explore": "AAEC"})
    assert text(loaded, docks) == (tmp_path / "one.ridge").read_text("utf-8")


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{", "is not a Ridgepoint session"),
        ('{"format": "ridgepoint-session", "version": 2, "sides": []}', "version 2: expected 1"),
        ('{"format": "ridgepoint-session", "version": 1, "sides": []}', "expected 1 to 4"),
        (text(START).replace("bert-base", "bert-bse"), "unknown network 'bert-bse'"),
        (text(START).replace('"batch"', '"bach"'), "unknown key"),
    ],
)
def test_an_invalid_file_is_refused_with_the_reason(tmp_path: Path, written: str, said: str):
    path = tmp_path / "wrong.ridge"
    path.write_text(written, "utf-8")
    with pytest.raises(InputError, match=said):
        load(path)


def test_a_mode_set_by_a_what_if_can_be_changed():
    fused = apply(Scenario("mlp-tiny"), "fusion", {"level": "compiled"})
    assert with_field(fused, "mode", "eager") == Scenario("mlp-tiny")
    graph = apply(Scenario("mlp-tiny", mode="cuda_graph"), "fusion", {"level": "pointwise"})
    assert with_field(graph, "mode", "cuda_graph") == graph  # a CUDA graph of fused kernels stays
    broken = Scenario("mlp-tiny", gpu="no such card", whatifs=graph.whatifs)
    # another message reports the unknown card
    assert with_field(broken, "mode", "eager").whatifs == graph.whatifs


def test_pins_are_undone_kept_in_files_and_limited(tmp_path: Path):
    session = Session(START)
    session.add()
    for pin in (Pin("gpu", "A"), Pin("host", "B"), Pin("rank", "3")):
        session.pin(pin)
    session.pin(Pin("gpu", "A"))
    assert session.state.pinned == (Pin("host", "B"), Pin("rank", "3"))
    path = tmp_path / "one.ridge"
    save(path, session.state)
    assert load(path)[0] == session.state and text(load(path)[0]) == path.read_text("utf-8")
    session.remove(0)
    assert session.state.pinned == (Pin("host", "A"), Pin("rank", "3"))
    session.history.undo()
    session.unpin_all()
    for rank in range(6):
        session.pin(Pin("rank", str(rank)))
    with pytest.raises(InputError, match="6 lanes are pinned, the maximum; unpin one first"):
        session.pin(Pin("rank", "6"))
    while session.history.canUndo():
        session.history.undo()
    assert session.state == START


def test_pins_of_missing_scenarios_are_ignored_and_unknown_lanes_refused(tmp_path: Path):
    path = tmp_path / "one.ridge"
    save(path, replace(START, pinned=(Pin("gpu", "A"), Pin("gpu", "D"), Pin("rank", "x"))))
    assert load(path)[0].pinned == (Pin("gpu", "A"),)
    path.write_text(path.read_text("utf-8").replace('"track": "gpu"', '"track": "cpu"'), "utf-8")
    with pytest.raises(InputError, match="Invalid enum value 'cpu'"):
        load(path)
