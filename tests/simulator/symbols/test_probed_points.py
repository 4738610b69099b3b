"""Points whose traces have different ops are named by the sizes in which they differ."""

from __future__ import annotations

import pytest
import torch

from simulator.records import Trace
from simulator.symbols.expressions import Point
from simulator.symbols.probes import Probes
from simulator.symbols.templates import ProgramMismatchError
from simulator.tracing import trace
from tests.simulator.conftest import Calls


def tracer(batch: int, seq: int) -> Trace:
    """One more op for each sample and each token."""

    def chain(net: Calls, x: torch.Tensor) -> torch.Tensor:
        for _ in range(batch * seq):
            x = x.exp()
        return x

    return trace(Calls(chain), (torch.ones(2, 2),))


@pytest.mark.parametrize(
    ("points", "text"),
    [
        ([(1, 1), (2, 1)], "its ops at batch 1 differ from those at batch 2"),
        ([(2, 1), (2, 3)], "its ops at seq 1 differ from those at seq 3"),
        ([(1, 2), (2, 3)], "its ops at batch 1 × seq 2 differ from those at batch 2 × seq 3"),
    ],
)
def test_points_that_differ(points: list[Point], text: str) -> None:
    with pytest.raises(ProgramMismatchError) as raised:
        Probes(tracer, lambda count: None).of_one_program(points)
    assert str(raised.value) == text
