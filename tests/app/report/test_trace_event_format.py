"""The exported timeline against the Trace Event Format, which Perfetto and Chrome's viewer read.

The format is Google's document "Trace Event Format": complete events (X), metadata (M) and flows
(s, f). The types below know each key that a phase may have, and no other.
"""

from typing import Annotated, Any, Literal

import msgspec
import pytest

from app.answers.subject import predict, subject
from app.report import chrome_trace
from simulator.scenario.scenario import Scenario

Count = Annotated[int, msgspec.Meta(ge=0)]
Stamp = Annotated[float, msgspec.Meta(ge=0)]


class Complete(msgspec.Struct, tag_field="ph", tag="X", forbid_unknown_fields=True):
    name: Annotated[str, msgspec.Meta(min_length=1)]
    cat: str
    pid: Count
    tid: Count
    ts: Stamp
    dur: Stamp
    args: dict[str, str | int | float | None]


class Metadata(msgspec.Struct, tag_field="ph", tag="M", forbid_unknown_fields=True):
    name: Literal["process_name", "process_sort_index", "thread_name"]
    pid: Count
    tid: Count
    ts: Stamp
    args: dict[str, str | int]


class Flow(msgspec.Struct, tag_field="ph", forbid_unknown_fields=True):
    name: str
    cat: str
    id: Count
    pid: Count
    tid: Count
    ts: Stamp


class FlowStart(Flow, tag="s"):
    pass


class FlowEnd(Flow, tag="f"):
    bp: Literal["e"]


class TraceFile(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    trace_events: list[Complete | Metadata | FlowStart | FlowEnd]
    display_time_unit: Literal["ms", "ns"]
    other_data: dict[str, str]


def exported(**changes: Any) -> TraceFile:
    scenario = Scenario("mlp-tiny", **changes)
    traced = subject(scenario)
    text = chrome_trace.as_text(predict(scenario, traced), traced)
    return msgspec.json.decode(text, type=TraceFile)


@pytest.mark.parametrize(
    "changes",
    [{}, {"training": True}, {"mode": "cuda_graph"}, {"mode": "compiled"}, {"gpu": "mi300x"}],
    ids=str,
)
def test_every_event_has_the_keys_of_its_phase(changes: dict[str, Any]):
    file = exported(**changes)
    kinds = [type(event).__name__ for event in file.trace_events]
    assert set(kinds) == {"Complete", "Metadata", "FlowStart", "FlowEnd"}
    assert kinds.count("FlowStart") == kinds.count("FlowEnd")
    named = {(e.pid, e.name) for e in file.trace_events if isinstance(e, Metadata)}
    slices = [e for e in file.trace_events if isinstance(e, Complete)]
    for process in {event.pid for event in slices}:  # no lane without a name
        assert {(process, "process_name"), (process, "thread_name")} <= named


def test_a_flow_has_one_identity_and_joins_two_lanes():
    events = exported(training=True).trace_events
    starts = {e.id: e for e in events if isinstance(e, FlowStart)}
    for end in (e for e in events if isinstance(e, FlowEnd)):
        start = starts.pop(end.id)
        assert (start.name, start.cat) == (end.name, end.cat)
        assert start.pid != end.pid and start.ts <= end.ts
    assert not starts


def test_the_types_refuse_a_wrong_event():
    text = '{"traceEvents":[%s],"displayTimeUnit":"ns","otherData":{}}'
    for wrong in (
        '{"ph":"X","name":"a","cat":"","pid":1,"tid":1,"ts":0,"args":{}}',  # no duration
        '{"ph":"X","name":"a","cat":"","pid":1,"tid":1,"ts":0,"dur":-1,"args":{}}',
        '{"ph":"s","name":"a","cat":"","pid":1,"tid":1,"ts":0}',  # no identity
        '{"ph":"Q","name":"a","cat":"","pid":1,"tid":1,"ts":0}',
    ):
        with pytest.raises(msgspec.ValidationError):
            msgspec.json.decode(text % wrong, type=TraceFile)
