"""One command compares stored predictions with the later measurements."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from calibration.measure.log import encoded
from calibration.stored_predictions import write
from calibration.sweeps.registry import Point
from calibration.validate import blind_calls, packages


def test_calls_are_tabled_by_state_and_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    point: dict[str, Any] = {
        "operation": "blind_unary",
        "params": {
            "name": "relu",
            "dtype": "fp32",
            "sizes": [2, 3],
            "layout": "contiguous",
        },
    }
    name = "blind_unary(name=relu,dtype=fp32,sizes=[2, 3],layout=contiguous)"
    drawn_points = [Point(**point)]
    monkeypatch.setattr(blind_calls, "points", lambda kind: drawn_points)
    monkeypatch.setattr(blind_calls, "PREDICTED", tmp_path / "kept.jsonl.gz")
    monkeypatch.setattr(blind_calls, "MEASURED", tmp_path / "measured.jsonl")
    write(tmp_path / "kept.jsonl.gz", [{"call": name, "warm": 3e-6, "cold": 2e-6, "kernels": 1}])
    rows = [{"header": {"version": 1}}, {"point": point, "kernels": [["relu", 2e-6, 4e-6]]}]
    (tmp_path / "measured.jsonl").write_bytes(b"".join(map(encoded, rows)))
    monkeypatch.setattr(sys, "argv", ["blind_calls"])
    blind_calls.main()
    assert capsys.readouterr().out == (
        f"  1.50  blind calls, warm   {name}\n"
        f"  0.50  blind calls, cold   {name}\n"
        f"  1.00  blind calls         {name}\n"
        "| what | figure | cases | median error | p90 | bias | in the 80% interval |\n"
        "|---|---|---|---|---|---|---|\n"
        "| blind calls, warm | all calls | 1 | 50.0% | 50.0% | +50.0% |  |\n"
        "| blind calls, cold | all calls | 1 | 50.0% | 50.0% | -50.0% |  |\n"
        "| blind calls, warm | unary | 1 | 50.0% | 50.0% | +50.0% |  |\n"
        "| blind calls, cold | unary | 1 | 50.0% | 50.0% | -50.0% |  |\n"
        "| blind calls | kernels | 1 | 0.0% | 0.0% | +0.0% |  |\n"
    )


def test_steps_without_a_measurement_are_listed_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"case": "own-ppo/fp32/inference/b256s0", "mode": "eager", "period_s": 2e-3}
    path = tmp_path / "kept.jsonl"
    path.write_text(
        json.dumps({**row, "interval_s": [1e-3, 3e-3], "gpu_busy_s": 1e-3, "kernels": 9}) + "\n"
    )
    monkeypatch.setattr(packages, "measured", lambda suite, gpu: {})
    monkeypatch.setattr(
        sys, "argv", ["packages", "own-ppo.*inference/b256s0$", "--before", str(path)]
    )
    packages.main()
    assert capsys.readouterr().out == (
        "own-ppo/fp32/inference/b256s0 eager: 2.000 ms  \n"
        "own-ppo/fp32/inference/b256s0 cuda_graph: no prediction was stored\n"
    )
