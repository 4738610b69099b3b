"""The rows from which a host is fitted: phases, steps on CPU tensors, and wrappers by statement."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from calibration.cases.case import Case, train
from calibration.fit import compiled_steps, host_rows
from calibration.fit.host import fit, levelled
from calibration.fit.host_rows import PHASES, Row, counts_by_phase
from calibration.record.host_rounds import Round, Step, probed, quiet
from calibration.validate.trace_fidelity import retrace
from simulator.hardware.gpu import gpu
from simulator.hardware.host import COUNTS, host
from simulator.hardware.host_counts import tail_s
from simulator.hardware.host_speed import Parts
from simulator.schedule.launch_plan import issued

QUIET = {name: [seconds] * 3 for name, seconds in quiet().items()}


def _lines(folder: Path, name: str, rows: list[object], machine: str = "h200_sxm") -> None:
    (folder / machine).mkdir(exist_ok=True)
    with gzip.open(folder / machine / f"{name}.jsonl.gz", "wt") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)


def test_the_phases_of_a_step_have_all_of_its_work() -> None:
    trace = retrace(train("mlp-tiny", "fp32", 8, 0, by="sgd")[0].record())
    plan, default = issued(trace, gpu("h200")), host()
    seconds = np.array([default.seconds[name] for name in COUNTS])
    whole_s = default.op_s(plan.counts).sum() + plan.launches.sum() * default.launch_s
    parts = np.array(counts_by_phase(trace))
    assert (parts @ seconds).sum() == pytest.approx(whole_s + tail_s(trace, default), rel=1e-12)
    forward, backward, optimizer = parts
    weights = sum(storage.role == "weight" for storage in trace.storages)
    assert forward[COUNTS.index("forward_node")] == 28
    assert backward[COUNTS.index("backward_node")] == 28 + weights  # each accumulates its gradient
    assert forward[COUNTS.index("optimizer_call")] == backward[COUNTS.index("optimizer_call")] == 0
    assert optimizer[COUNTS.index("backward_node")] == 0


def test_each_phase_of_a_timed_step_is_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = train("mlp-tiny", "fp32", 8, 0, by="sgd")[0].record()
    times = {"forward_s": 1.0, "backward_s": 2.0, "update_s": 3.0, "clear_s": 0.5}
    timed = {"case": case, **times, "probes": [QUIET, QUIET]}
    _lines(tmp_path, "host_phases", [{"machine": {}}, timed, {"case": case, "failed": "no"}])
    monkeypatch.setattr(host_rows, "MEASUREMENTS", tmp_path)
    rows = list(host_rows._phases())
    assert [(row.part, row.seconds.tolist()) for row in rows] == [
        ("forward", [1.0]),
        ("backward", [2.0]),
        ("optimizer", [3.5]),
    ]
    assert set(PHASES) == {row.part for row in rows}
    speed = probed((QUIET, QUIET))
    assert rows[0].times.tolist() == [[speed.of(name) for name in COUNTS]]


def test_the_backward_pass_has_the_speed_of_its_own_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = train("mlp-tiny", "fp32", 8, 0, by="sgd")[0].record()
    quiet_s = quiet()["bytecode"]
    timed = {
        "case": case,
        "placement": "free",
        "main": [[3, quiet_s]] * 3,
        "backward": [[5, 2 * quiet_s]] * 3,
        "phases_s": [[1.0, 2.0, 3.0, 0.5, 9.0], [1.0, 4.0, 3.0, 0.5, 9.0], [1.0, 2.0, 3.0, 0.5, 9]],
    }
    _lines(tmp_path, "host_threads", [{"machine": {}}, {"processors": []}, timed], "h100_sxm")
    for file in ("host_threads_fourth", "host_threads_fifth"):
        _lines(tmp_path, file, [{"machine": {}}], "h100_sxm")
    monkeypatch.setattr(host_rows, "MEASUREMENTS", tmp_path)
    forward, backward, optimizer = host_rows._threads()
    seconds = [row.seconds.tolist() for row in (forward, backward, optimizer)]
    assert seconds == [[1.0], [2.0], [3.5]]
    assert set(forward.times.ravel()) == set(optimizer.times.ravel()) == {1.0}
    launch, call = COUNTS.index("launch"), COUNTS.index("python_call")
    assert backward.times[0, launch] == pytest.approx(2**0.67)
    assert backward.times[0, call] == pytest.approx(2**0.835)


def test_fixed_steps_on_the_cpu_launch_nothing() -> None:
    names = [Case(name, "fp32", "inference", 4).name + "@cpu" for name in host_rows.ON_CPU]
    rows = {row.step.name: row for row in host_rows._on_cpu(dict.fromkeys(names, 2e-4))}
    sums = rows["sums/fp32/inference/b4s0@cpu"].counts
    assert sums[COUNTS.index("cpu_op")] == 201  # 100 sums, 100 additions, and the first addition
    assert sums[COUNTS.index("launch")] == sums[COUNTS.index("op")] == 0
    assert not any(row.micro for row in rows.values())


def test_a_fit_returns_the_costs_that_made_its_rows() -> None:
    """Rows whose counts are independent of each other determine every cost."""
    generator = np.random.default_rng(4)
    costs = generator.uniform(1e-6, 9e-6, len(COUNTS))
    costs[COUNTS.index("launch")] = 2.5e-6
    case = {"name": "any", "network": "any"}
    rows: list[Row] = []
    for _ in range(len(COUNTS) + 2):
        counts = generator.integers(1, 50, len(COUNTS)).astype(float)
        speed = float(generator.uniform(1.0, 2.0))
        seconds = speed * counts @ costs
        step = Step("any", case, (Round(seconds, Parts(speed, speed, speed)),))
        rows.append(host_rows._row(step, counts))
    assert fit(rows) == pytest.approx(costs, rel=1e-6)
    assert [row.ratio(costs) for row in rows] == pytest.approx([1.0] * len(rows))


def test_phases_of_processes_are_levelled_to_their_mean() -> None:
    """One process takes 1.44 times as long as another at the same speed: both count with 1.2."""
    generator = np.random.default_rng(5)
    costs = generator.uniform(1e-6, 9e-6, len(COUNTS))
    costs[COUNTS.index("launch")] = 2.5e-6
    rows: list[Row] = []
    for times in (1.0, 1.44):
        for _ in range(len(COUNTS) + 2):
            counts = generator.integers(1, 50, len(COUNTS)).astype(float)
            counts[COUNTS.index("launch")] = 0.0
            step = Step(f"{times}", {"name": "any", "network": "any"}, ())
            seconds = np.array([times * counts @ costs])
            rows.append(Row(step, counts, np.ones((1, len(COUNTS))), seconds, "backward"))
    fitted = fit(levelled(rows))
    predicted = np.array([row.counts @ fitted / (row.counts @ costs) for row in rows])
    assert predicted == pytest.approx(1.2, rel=0.02)


def test_the_clock_is_subtracted_from_the_statements_of_a_wrapper(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case("mlp-tiny", "fp32", "inference", 4, mode="compiled").record()
    lines = [["buf0 = empty()", 5e-6], ["del buf0", 1e-6], ["kernel.run(buf0)", 15e-6]]
    timed = {"case": case, "lines": lines, "probes": [QUIET, QUIET]}
    _lines(tmp_path, "wrapper_lines", [{"machine": {}}, timed])
    _lines(tmp_path, "wrapper_lines", [{"machine": {}}], "h100_sxm")
    monkeypatch.setattr(compiled_steps, "MEASUREMENTS", tmp_path)
    (step,) = compiled_steps.wrapped()
    assert step.seconds == pytest.approx(21e-6 - 3 * 0.96e-6)
    assert not step.warm
