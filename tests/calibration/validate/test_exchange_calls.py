"""The time of one all-reduce within a step, from cases of known times."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.validate.exchange_calls import (
    MeasuredStep,
    exchange_s,
    measured_steps,
    rows,
    undisturbed_s,
)


def case(
    exchange: str, issued_s: list[list[float]], run: str = "plain", how: str = "", step: int = 11
) -> dict[str, Any]:
    """A case of ranks that took `issued_s` per block and step [ranks, blocks], with 4 exchanges per
    step; each rank waits 1 s for its GPU."""
    each = [
        {"steps": 2, "issued_s": own, "done_s": [x + 1 for x in own], "host_ns": [5] * 8}
        for own in issued_s
    ]
    row = {"part": "step", "run": run, "ranks": len(each), "step": step, "exchange": exchange}
    return {**row, "how": how, "each": each}


PROFILE: dict[str, Any] = {"part": "profile", "run": "plain", "step": 11, "each": []}


def test_an_exchange_takes_what_the_undisturbed_step_takes_beyond_one_without() -> None:
    cases = [
        # the median of both ranks' fastest blocks: (3.0 + 3.3) / 2 = 3.15
        case("all_reduce", [[3.0, 9.0, 3.2], [3.4, 3.3, 8.0]]),
        case("nothing", [[2.0, 2.1, 2.2], [2.6, 2.5, 2.4]]),  # (2.0 + 2.4) / 2 = 2.2
        case("add", [[2.4, 2.4, 2.4]] * 2),
    ]
    assert undisturbed_s(cases[0]) == pytest.approx(3.15)
    (of, seconds), *others = exchange_s(cases).items()
    assert of == ("plain", 11)
    assert not others
    # (3.15 - 2.2) / 4 and (2.4 - 2.2) / 4
    assert seconds == pytest.approx({"all_reduce": 0.2375, "add": 0.05})


def test_a_measured_step_is_the_slowest_rank_of_the_middle_block() -> None:
    cases = [
        case("all_reduce", [[3.0, 9.0, 3.2], [3.4, 3.3, 8.0]]),  # the blocks take 4.4, 10 and 9
        case("direct", [[1.0] * 3]),
        case("all_reduce", [[2.0] * 3], how="on GPU"),
        case("all_reduce", [[2.0] * 3], run="one processor"),
        case("all_reduce", [[6.0] * 3], how="again"),
        case("all_reduce", [[7.0] * 3] * 2, run="two ranks"),
    ]
    expected = [MeasuredStep(11, 2, 9.0), MeasuredStep(11, 1, 7.0), MeasuredStep(11, 2, 8.0)]
    assert list(measured_steps(cases)) == expected


def test_cases_after_the_profiler_of_their_run_do_not_count() -> None:
    after = [case("all_reduce", [[2.0] * 3]), case("nothing", [[1.0] * 3])]
    assert not list(measured_steps([PROFILE, *after]))
    assert not exchange_s([PROFILE, *after])
    assert len(list(measured_steps([*after, PROFILE]))) == 1


def test_on_four_h200s_half_of_an_all_reduce_is_outside_nccl() -> None:
    seconds = exchange_s(rows())
    # steps 24 and 35 ran after the profiler
    assert {step for run, step in seconds if run == "plain"} == {11}
    quiet = seconds["one processor", 24]
    assert quiet["all_reduce"] == pytest.approx(87e-6, abs=1e-6)
    assert quiet["direct"] == pytest.approx(51e-6, abs=1e-6)
    assert quiet["add"] == pytest.approx(19e-6, abs=1e-6)
