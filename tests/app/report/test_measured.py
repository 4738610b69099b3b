"""A profiler's trace compared with a prediction, as the command prints it."""

import json
from pathlib import Path
from typing import Any

import pytest

TRACE = Path(__file__).parents[2] / "simulator" / "profiler_traces" / "mlp-tiny.json.gz"


def test_the_table_of_differences(run: Any) -> None:
    shown = run("predict", "mlp-tiny", "--measured", TRACE)
    assert shown.exit_code == 0
    words = " ".join(shown.output.split())
    assert "Measured: the GPU was busy 110 µs in 44 kernels; predicted" in words
    assert "100% of the measured time belongs to ops of the trace." in words
    assert "pred/meas" in words and "32×128" in words
    assert all(len(line) <= 80 for line in shown.output.splitlines())


def test_each_op_in_the_document(run: Any) -> None:
    shown = run("predict", "mlp-tiny", "--measured", TRACE, "--json", "-")
    parsed = json.loads(shown.output)
    assert len(parsed["measured"]) == 17  # eight layers, each a product and a ReLU, and the head
    assert parsed["measured"][0]["name"] == "aten.addmm.default"
    assert sum(row["measured_s"] for row in parsed["measured"]) == pytest.approx(
        110.28e-6, rel=1e-3
    )
    assert "measured" not in json.loads(run("predict", "mlp-tiny", "--json", "-").output)


def test_a_trace_of_another_network(run: Any) -> None:
    other = TRACE.with_name("bert-base.json.gz")
    shown = run("predict", "mlp-tiny", "--measured", other)
    assert shown.exit_code == 0
    assert "only measured:" in shown.output


def test_an_invalid_file_is_refused_before_tracing(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.answers.subject.subject", lambda *_: pytest.fail("traced"))
    shown = run("predict", "mlp-tiny", "--measured", tmp_path / "none.json")
    assert shown.exit_code == 2
    assert "cannot read the profiler trace" in " ".join(shown.output.split())
