"""Exports, read back by parsers of their formats."""

import csv
import io
import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from app import outputs
from app.answers.subject import Scenario, Subject, predict, subject
from app.report import chrome_trace
from app.report.exports import COLUMNS, as_csv, as_json, row
from simulator.errors import InputError
from simulator.prediction import Prediction


def test_the_json_document(tiny_prediction: Prediction, tiny: Subject) -> None:
    p = tiny_prediction
    parsed = json.loads(as_json(p, tiny))
    assert (parsed["format"], parsed["version"]) == ("ridgepoint-prediction", 1)
    assert set(parsed) == {
        "format",
        "version",
        "scenario",
        "period_s",
        "interval_s",
        "latency_s",
        "gpu_busy_s",
        "host_s",
        "idle",
        "regime",
        "shares",
        "samples_per_s",
        "tokens_per_s",
        "flops",
        "product_flops",
        "product_peak_flops_per_s",
        "flop_utilisation",
        "memory",
        "parameters",
        "op_count",
        "kernel_count",
        "unmodelled",
        "assumptions",
        "notes",
        "provenance",
        "kernels",
        "power",
    }
    assert parsed["scenario"] == {
        "network": "mlp-tiny",
        "batch": 32,
        "seq": None,
        "dtype": "fp32",
        "phase": "inference",
        "optimizer": None,
        "mode": "eager",
        "gpu": "h200_sxm",
        "gpu_name": "H200 SXM 141GB",
        "host": p.host.id,
        "whatifs": [],
    }
    assert parsed["period_s"] == p.period_s and parsed["interval_s"] == list(p.interval_s)
    assert parsed["memory"]["capacity_bytes"] == 141 * 2**30
    assert len(parsed["kernels"]) == parsed["kernel_count"] == p.kernel_count
    assert tuple(parsed["kernels"][0]) == COLUMNS
    assert sum(k["duration_s"] for k in parsed["kernels"]) == pytest.approx(p.gpu_busy_s)


def test_the_csv_rows(tiny_prediction: Prediction) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(tiny_prediction), newline="")))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == tiny_prediction.kernel_count
    for cells, k in zip(rows, tiny_prediction.kernels, strict=True):
        assert cells == {key: str(value) for key, value in row(k).items()}


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1", "@x", "\t=1"])
def test_no_spreadsheet_reads_a_cell_as_a_formula(
    name: str, tiny_prediction: Prediction, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = msgspec.structs.replace(tiny_prediction.kernels[0], module=name, fixed_s=-1.0)
    p = replace(tiny_prediction)
    monkeypatch.setitem(vars(p), "kernels", [odd])
    (cells,) = csv.DictReader(io.StringIO(as_csv(p), newline=""))
    assert cells["module"] == f"'{name}"
    assert cells["fixed_s"] == "-1.0"  # numbers are not changed


def timeline(p: Prediction, subject: Subject) -> list[dict]:
    return json.loads(chrome_trace.as_text(p, subject))["traceEvents"]


def test_the_timeline_has_named_lanes(tiny_prediction: Prediction, tiny: Subject) -> None:
    names = [e for e in timeline(tiny_prediction, tiny) if e["ph"] == "M"]
    assert {(e["pid"], e["name"], str(*e["args"].values())) for e in names} == {
        (1, "process_name", f"host {tiny_prediction.host.id}"),
        (1, "thread_name", "launches"),
        (2, "process_name", "H200 SXM 141GB"),
        (2, "thread_name", "stream"),
        (1, "process_sort_index", "0"),
        (2, "process_sort_index", "1"),
    }


def test_slices_of_a_lane_do_not_overlap(tiny_prediction: Prediction, tiny: Subject) -> None:
    events = timeline(tiny_prediction, tiny)
    stamps = [e["ts"] for e in events if e["ph"] != "M"]
    assert stamps == sorted(stamps)
    for process in (chrome_trace.HOST, chrome_trace.GPU):
        lane = [e for e in events if e["ph"] == "X" and e["pid"] == process]
        assert len(lane) == tiny_prediction.kernel_count
        for before, after in pairwise(lane):
            assert before["ts"] + before["dur"] <= after["ts"] + 1e-6
    lane = [e for e in events if e["ph"] == "X" and e["pid"] == chrome_trace.GPU]
    busy_us = tiny_prediction.gpu_busy_s * 1e6
    assert sum(e["dur"] for e in lane) == pytest.approx(busy_us, abs=1e-3 * len(lane))


def test_slices_do_not_overlap_where_nanoseconds_are_cut_off() -> None:
    scenario = Scenario("bert-base", batch=64, seq=128, dtype="bf16")
    traced = subject(scenario)
    events = timeline(predict(scenario, traced), traced)
    for process in (chrome_trace.HOST, chrome_trace.GPU):
        ends = 0
        for e in (e for e in events if e["ph"] == "X" and e["pid"] == process):
            begin = int(e["ts"] * 1000.0)  # a double, truncated, which is how Perfetto reads it
            assert begin >= ends
            ends = begin + int(e["dur"] * 1000.0)
    assert all(int(chrome_trace._us(ns) * 1000.0) == ns for ns in range(100_000))


def test_an_arrow_leads_from_each_launch_to_its_kernel(
    tiny_prediction: Prediction, tiny: Subject
) -> None:
    events = timeline(tiny_prediction, tiny)
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert starts.keys() == ends.keys() == set(range(tiny_prediction.kernel_count))
    for number, end in ends.items():
        begin = starts[number]
        assert begin["ts"] <= end["ts"]
        for point in (begin, end):  # each end lies in a slice of its lane
            assert any(
                e["ph"] == "X"
                and e["pid"] == point["pid"]
                and e["ts"] <= point["ts"] <= e["ts"] + e["dur"]
                for e in events
            )


def test_a_graph_is_launched_once(tiny: Subject) -> None:
    p = predict(Scenario("mlp-tiny", mode="cuda_graph"), tiny)
    events = timeline(p, tiny)
    assert len([e for e in events if e["ph"] == "X" and e["pid"] == chrome_trace.HOST]) == 1
    assert len([e for e in events if e["ph"] == "s"]) == 1
    gpu = [e for e in events if e["ph"] == "X" and e["pid"] == chrome_trace.GPU]
    assert len(gpu) == p.kernel_count


def test_a_file_appears_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.json"
    outputs.write("--json", str(target), "old")

    def full(self: Path, other: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(InputError) as caught:
        outputs.write("--json", str(target), "new")
    assert str(caught.value) == f"--json {target}: cannot write: No space left on device"
    assert target.read_text() == "old"
    assert [f.name for f in tmp_path.iterdir()] == ["out.json"]
