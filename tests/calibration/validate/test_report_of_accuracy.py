"""The README states the measured accuracy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from calibration.outcome import summary, table
from calibration.record.library_samples import Swept, lowered, sampled
from calibration.record.read import Timed, recordings
from calibration.sweeps import Point, points
from calibration.validate import report
from calibration.validate.report import (
    PAGE,
    README,
    alternating,
    calls,
    check_pages,
    host_of,
    outcomes,
)
from calibration.validate.single_ops import ratios
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.costs import Work
from simulator.errors import InputError
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import host as find_host
from simulator.timing.profile import profile
from simulator.timing.roofline import roofs
from simulator.tracing import trace_call
from tests.calibration.validate.known_traces import traced


def test_writing_needs_the_pages_of_a_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    with pytest.raises(InputError) as caught:
        check_pages()
    assert str(caught.value) == (
        f"--write: no file {tmp_path}/README.md: expected a clone of Ridgepoint, whose pages it "
        "changes; run it there, or leave out --write"
    )


@pytest.mark.parametrize(
    ("phase", "cases"), [("inference", 42), pytest.param("", 62, marks=pytest.mark.slow)]
)
def test_the_page_states_the_measured_errors_of_steps(phase: str, cases: int) -> None:
    host = host_of("validation")
    chosen = [r for r in recordings("validation") if r.case["phase"].startswith(phase)]
    assert len(chosen) == cases
    steps = [o for r in chosen for o in outcomes(r, traced(r.case), host)]
    stated = PAGE.read_text()
    rows = [row for row in summary(steps) if row.group.startswith(phase)]
    assert len(rows) >= 6
    for row in table(rows).splitlines()[2:]:
        assert row in stated, "run `ridgepoint validate --write`"


def test_the_pages_state_the_measured_errors_of_single_ops() -> None:
    # a twentieth of the held-out calls; the table contains all of them
    some = [o for o in calls(_some()) if o.group == "single ops, warm"]
    assert len(some) > 100
    stated = PAGE.read_text()
    (row,) = re.findall(r"\| single ops, warm \| GPU time \| (\d+) \| ([\d.]+)% \|", stated)
    assert int(row[0]) == sum(p.held_out for p in _launching())
    median = float(np.median([o.error for o in some])) * 100
    assert median == pytest.approx(float(row[1]), rel=0.35)  # the median of a sample


def test_the_readme_has_rows_of_the_page() -> None:
    stated = PAGE.read_text()
    short = README.read_text().partition("<!-- accuracy -->")[2].splitlines()
    rows = [line for line in short if line.startswith("| ") and not line.startswith("| what")]
    assert len(rows) == 10
    assert all(line in stated for line in rows)


def _launching() -> list[Point]:
    """All points except a few views, which launch no kernel."""
    measured = sampled(find_gpu("h200"))
    return [p for p in points("library") if measured.get(p.name, {}).get("kernels")]


def _some() -> Iterator[Swept]:
    card = find_gpu("h200")
    measured = sampled(card)
    for point in [p for p in _launching() if p.held_out][::20]:
        yield lowered(point, trace_call(point.make), measured[point.name], card)


def test_each_round_is_compared_with_its_own_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step twice as fast as predicted with any host, whose speed-up is 1.5 times the predicted
    one.
    """
    case = {
        "network": "mlp-tiny",
        "precision": "fp32",
        "phase": "inference",
        "batch": 64,
        "seq": 0,
        "optimizer": None,
        "sizes": {},
        "mode": "compiled",
        "name": "made",
    }
    trace, host = retrace(case), find_host()
    rounds: list[tuple[float, float, float]] = []
    for slower in (1.0, 2.0, 3.0):
        then = host.slower(slower)
        fused, eager = (
            predict_trace(trace, mode=m, host=then).period_s for m in ("compiled", "eager")
        )
        work_s = slower * host.reference["linears/fp32/inference/b4s0@cpu"]
        rounds.append((work_s, fused / 2, eager / 2 / 1.5))
    step = Timed(case, 1.0, 1.0, 1.0, 1, 1, [], {}, None, rounds)
    monkeypatch.setattr(report, "timed", lambda suite: [step])
    period, gain = alternating()
    assert (period.figure, period.ratio) == ("period", pytest.approx(2))
    assert (gain.figure, gain.ratio) == ("speed-up", pytest.approx(1.5))


def test_rounds_after_the_profiler_have_its_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One launch: in this round it took the predicted time, plus that of the profiler's hooks."""
    case = {
        "network": "chain",
        "precision": "fp32",
        "phase": "inference",
        "batch": 1,
        "seq": 0,
        "optimizer": None,
        "sizes": {"n": 4, "elements": 64},
        "mode": "compiled",
        "name": "made",
    }
    trace, host = retrace(case), find_host()
    fused_s = predict_trace(trace, mode="compiled", host=host).period_s
    eager_s = predict_trace(trace, host=host).period_s
    work_s = host.reference["linears/fp32/inference/b4s0@cpu"]
    rounds = [(work_s, fused_s + 3.9e-6, eager_s + 4 * 3.9e-6)]
    step = Timed(case, 1.0, 1.0, 1.0, 1, 1, [], {}, None, rounds, twin_profiled=True)
    monkeypatch.setattr(report, "timed", lambda suite: [step])
    period, gain = alternating()
    assert (period.ratio, gain.ratio) == (pytest.approx(1), pytest.approx(1))


def test_single_calls_by_hand() -> None:
    """One call, predicted at 2 µs and measured at 4 µs warm and 1 µs cold."""
    work = Work("fill", write_bytes=4, dims={"elements": 1})
    compute, held, fixed = roofs([work], find_gpu("h200"), profile()).parts(np.ones(1), 0.0)
    predicted = float(max(compute[0], held[0]) + fixed[0])
    one = Swept(Point("none", {}), [(work, 1.0, 1.0)], [("k", 2 * predicted, predicted / 2)])
    by_group = ratios(one, find_gpu("h200"), profile())
    assert by_group == {"warm": pytest.approx(0.5), "cold": pytest.approx(2.0)}
