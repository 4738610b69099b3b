"""Constants that a network moves to the GPU, in the real compiler; takes a quarter of a minute. Run
it by name: `pytest -m slow tests/simulator/inductor/test_constants.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from simulator.inductor.child import Child
from simulator.inductor.exact import question_of
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario

NETWORK = '''
import torch


class Scaled(torch.nn.Module):
    """Joins an empty tensor, as a new key-value cache does, and scales by a number."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(64, 64)

    def forward(self, x):
        empty = torch.tensor([], device=x.device)
        return torch.cat([empty, self.layer(x)], dim=-2) * torch.tensor(0.5, device=x.device)

    def example_inputs(self, batch, seq):
        return (torch.empty(batch, seq, 64),)
'''


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="Inductor runs on Linux")
def test_a_constant_on_the_gpu_is_compiled(tmp_path: Path) -> None:
    path = tmp_path / "scaled.py"
    path.write_text(NETWORK)
    scenario = Scenario(f"{path}:Scaled", batch=4, seq=16, mode="compiled")
    schedule = Child(question_of(resolve(scenario))).result().schedule
    assert schedule is not None
    # the product, and a loop that scales it; the join copies nothing
    assert len(schedule.launches) == 2
