"""Measured steps matched with their predictions. The traces were recorded on an H200 by
calibration/record/profiler_traces.py."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pytest

from simulator import predict_trace
from simulator.errors import InputError
from simulator.measured.overlay import overlay
from simulator.measured.profiler_trace import read
from simulator.networks.loading.load import load
from simulator.prediction import Prediction
from simulator.tracing import trace

TRACES = Path(__file__).parents[1] / "profiler_traces"


def _predicted(name: str, batch: int, seq: int | None, training: bool, **more: Any) -> Prediction:
    dtype = more.pop("dtype", "fp32")
    loaded = load(name, batch=batch, seq=seq, training=training, dtype=dtype, sizes=more)
    autocast = "bf16" if training else None
    phase = "training" if training else "inference"
    return predict_trace(
        trace(loaded.module, loaded.args, phase=phase, autocast=autocast), gpu="h200"
    )


@pytest.mark.parametrize(
    ("name", "sizes", "kernels"),
    [
        ("mlp-tiny", {"batch": 32, "seq": None, "training": False}, 44),
        ("bert-base", {"batch": 8, "seq": 128, "training": False, "dtype": "bf16"}, 168),
        ("gpt2", {"batch": 2, "seq": 256, "training": True, "layers": 4}, 311),
    ],
)
def test_every_measured_kernel_has_its_op(name: str, sizes: dict[str, Any], kernels: int) -> None:
    p, step = _predicted(name, **sizes), read(TRACES / f"{name}.json.gz")
    assert len(step.kernels) == p.kernel_count == kernels
    overlaid = overlay(p, step)
    assert not overlaid.only_predicted and not overlaid.only_measured
    assert overlaid.matched_share == 1.0
    launches = p.columns.op_of.tolist()
    for pair in overlaid.pairs:
        assert len(pair.measured.kernels) == launches.count(pair.op), p.trace.ops[pair.op].name
    assert sum(pair.measured.seconds for pair in overlaid.pairs) == pytest.approx(
        sum(k.duration_s for k in step.kernels)
    )
    assert sum(pair.predicted_s for pair in overlaid.pairs) == pytest.approx(
        float(p.columns.duration_s.sum())
    )


def test_a_missing_op_is_reported_and_the_others_still_match() -> None:
    p = _predicted("bert-base", 8, 128, training=False, dtype="bf16")
    step = read(TRACES / "bert-base.json.gz")
    whole = overlay(p, step)
    victim = next(pair for pair in whole.pairs if "gelu" in p.trace.ops[pair.op].name)
    number = next(k.calls[0].number for k in step.kernels if k.calls[0].name == "gelu")
    less = type(step)(tuple(k for k in step.kernels if k.calls[0].number != number))
    overlaid = overlay(p, less)
    assert overlaid.only_predicted == (victim.op,) and not overlaid.only_measured
    assert len(overlaid.pairs) == len(whole.pairs) - 1


def _event(cat: str, name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": cat, "name": name, "ts": ts, "dur": dur, "tid": 1, "args": args}


def _written(path: Path, events: list[dict[str, Any]]) -> Path:
    path.write_text(json.dumps({"traceEvents": events}))
    return path


def test_the_last_marked_step_is_read(tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    for number in range(2):
        at = 100.0 * number
        events += [
            _event("user_annotation", f"ProfilerStep#{number}", at, 90.0),
            _event("cpu_op", "aten::linear", at + 5, 30.0),
            _event("cpu_op", "aten::addmm", at + 10, 20.0),
            _event("cuda_runtime", "cudaLaunchKernel", at + 20, 5.0, correlation=number),
            _event("kernel", f"gemm{number}", at + 95, 7.0 + number, correlation=number),
        ]
    step = read(_written(tmp_path / "two.json", events))
    (kernel,) = (
        step.kernels
    )  # that of the second step; the first step's kernel ran during the second
    assert kernel.name == "gemm1" and kernel.duration_s == pytest.approx(8e-6)
    assert [call.name for call in kernel.calls] == ["addmm", "linear"]


def test_time_in_which_two_kernels_run_counts_once(tmp_path: Path) -> None:
    events = [
        _event("kernel", "a", 0.0, 10.0),
        _event("kernel", "b", 5.0, 10.0),
        _event("gpu_memset", "c", 20.0, 1.0),
    ]
    step = read(_written(tmp_path / "streams.json", events))
    assert step.gpu_busy_s == pytest.approx(16e-6)  # busy from 0 to 15 µs and from 20 to 21
    assert step.span_s == pytest.approx(21e-6)
    assert step.kernels[0].calls == ()


def test_invalid_profiler_traces_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"cannot read the profiler trace .*: No such file"):
        read(tmp_path / "none.json")
    place = tmp_path / "some.json"
    for text in (b"", b"{", b'{"ops": []}', b"[1]", b"\xff\xfe", b'{"traceEvents": [1]}'):
        place.write_bytes(text)
        with pytest.raises(
            InputError,
            match=r"some\.json is not a profiler trace: .*; expected .* by torch\.profiler's",
        ):
            read(place)
    _written(place, [_event("cpu_op", "aten::add", 0.0, 1.0)])
    with pytest.raises(InputError) as refused:
        read(place)
    assert str(refused.value) == (
        f"{place} has no GPU kernels among 1 events: expected a trace recorded with "
        "ProfilerActivity.CUDA; profile the step again with it"
    )
    place.write_bytes(gzip.compress(b"x" * 5000)[:20])
    with pytest.raises(InputError, match="cannot read the profiler trace"):
        read(place)


def _refusal(path: Path, events: list[dict[str, Any]]) -> str:
    with pytest.raises(InputError) as refused:
        read(_written(path, events))
    return str(refused.value)


def test_a_negative_duration_is_refused_with_its_place(tmp_path: Path) -> None:
    events = [_event("kernel", "a", 0.0, 10.0), _event("kernel", "b", 20.0, -3.0)]
    assert _refusal(tmp_path / "n.json", events) == (
        f"{tmp_path / 'n.json'}: traceEvents[1] ('b'): dur is -3: expected microseconds, 0 or "
        "more; record the trace again"
    )


def test_a_duration_as_text_is_refused_with_its_place(tmp_path: Path) -> None:
    events = [_event("kernel", "a", 0.0, 10.0)]
    events[0]["dur"] = "10"
    assert "Expected `float`, got `str` - at `$.traceEvents[0].dur`" in _refusal(
        tmp_path / "t.json", events
    )


def test_a_correlation_that_is_not_a_number_is_refused(tmp_path: Path) -> None:
    events = [_event("cuda_runtime", "launch", 0.0, 1.0), _event("kernel", "a", 0.0, 10.0)]
    events[0]["args"] = {"correlation": [1]}
    assert "traceEvents[0] ('launch'): correlation is [1]: expected a whole number" in _refusal(
        tmp_path / "c.json", events
    )


def test_a_kernel_that_covers_others_of_its_stream_is_refused(tmp_path: Path) -> None:
    kernels = [_event("kernel", f"k{i}", 20.0 * i, 10.0, device=0, stream=7) for i in range(9)]
    assert len(read(_written(tmp_path / "good.json", kernels)).kernels) == 9
    kernels[2]["dur"] *= (
        1000  # k3 to k8 run within it: 60 of 10,080 µs; then three times all of them
    )
    for each in kernels[3:]:
        each["dur"] = 15.0 * 20
    assert "traceEvents[2] ('k2'): other kernels of its stream run within its 10000 µs" in _refusal(
        tmp_path / "long.json", kernels
    )
    for each in kernels[3:]:
        each["dur"] = 10.0  # six kernels within one: 60 of 10,080 µs
    assert "kernels overlap for 60 of 10080 µs" in _refusal(tmp_path / "one.json", kernels)
    for each in kernels:
        each["args"]["stream"] = each["name"]  # a separate stream for each
    assert len(read(_written(tmp_path / "streams.json", kernels)).kernels) == 9


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match=r"cannot read the profiler trace .*pipe: is a pipe"):
        read(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("dur", 1e300, "dur is 1e+300: expected microseconds, of a day at most"),
        ("ts", -1e18, "ts is -1e+18: expected microseconds of a clock"),
    ],
)
def test_absurd_times_are_refused(field: str, value: float, text: str, tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "k", "ts": 0.0, "dur": 1.0, "args": {"stream": 7}}
    path = tmp_path / "absurd.json"
    path.write_text(json.dumps({"traceEvents": [event | {field: value}]}))
    with pytest.raises(InputError) as error:
        read(path)
    assert str(error.value) == f"{path}: traceEvents[0] ('k'): {text}; record the trace again"
