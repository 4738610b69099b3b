"""A packaged trace of a recorded case is the trace of its own code."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from msgspec.structs import replace

from calibration.record.read import recordings
from calibration.validate.trace_fidelity import retrace
from simulator.scenario.packaged.index import read_index, versions_agree
from tests.calibration.validate.known_traces import known

pytestmark = pytest.mark.skipif(
    not versions_agree(read_index()), reason="the files are of another Python or torch"
)


@cache
def cases() -> dict[str, dict[str, Any]]:
    """The recorded cases by name, which are read only by the workers that need them."""
    return {r.name: r.case for suite in ("recordings", "validation") for r in recordings(suite)}


@pytest.mark.layered(5)
@pytest.mark.parametrize(
    "name",
    [
        "mlp-tiny/fp16/inference/b1024s0",
        "gru/fp16/inference/b8s128",
        "dlrm/fp32/training-sgd/b2048s0",
        "lstm/fp32/training-adamw/b16s64",
        "mlp-wide/bf16/training-adamw/b4096s0",
        "resnet50/autocast/inference/b8s0",
    ],
)
def test_a_packaged_trace_is_that_of_the_recorded_case(name: str) -> None:
    case = cases()[name]
    ours, fresh = known(case), retrace(case)
    assert ours is not None and replace(ours, gpu=fresh.gpu) == fresh


def test_most_recorded_networks_are_packaged() -> None:
    missing = [case["network"] for case in cases().values() if known(case) is None]
    assert {*missing} <= {"bert-base", "chain", "dit-xl", "mamba2-130m", "whisper-encoder"}
    assert len(missing) <= 0.15 * len(cases())
