"""The host's time for the kernels and library calls of a compiled step."""

from dataclasses import fields, replace

import pytest
import torch
from torch import nn

from simulator.fusion import fused
from simulator.fusion.host.compiled_host import HostCosts
from simulator.fusion.host.host_costs import ops_s
from simulator.hardware.gpu import gpu
from simulator.hardware.host import host
from simulator.schedule.launch_plan import issued
from simulator.timing.profile import profile
from simulator.tracing import trace

FREE = HostCosts(**dict.fromkeys((field.name for field in fields(HostCosts)), 0.0))


class Chain(nn.Module):
    def __init__(self, biased: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(64, 64, biased) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


@pytest.mark.parametrize(
    ("biased", "cost", "each_s"),
    [(False, "product_s", 8e-6), (True, "further_product_s", 13e-6)],
)
def test_a_library_call_takes_its_own_cost_and_no_python_of_the_module(
    biased: bool, cost: str, each_s: float
) -> None:
    step = trace(Chain(biased), (torch.empty(4, 64),), run="compiled")
    plan = issued(fused(step, gpu("h200"), "compiled", profile()).trace, gpu("h200"))
    driver = host()
    costs = replace(FREE, reference_op_s=driver.seconds["op"], **{cost: each_s}, cold_s=2e-6)
    launched = plan.launches * driver.launch_s
    took = ops_s(plan, driver, costs) - launched
    # the first op of a kind is cold; the next ones directly follow one of their kind
    assert took[plan.launches > 0].tolist() == pytest.approx([each_s + 2e-6, each_s, each_s])


class Sorted(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sort(x)[0]


@pytest.mark.parametrize("faster", [1.0, 4.0])
def test_a_library_call_without_a_fitted_cost_takes_the_time_of_this_host(faster: float) -> None:
    """The fitted costs are scaled from the reference host; the time of a call that is derived from
    its counts is not scaled."""
    step = trace(Sorted(), (torch.empty(4, 64),), run="compiled")
    plan = issued(fused(step, gpu("h200"), "compiled", profile()).trace, gpu("h200"))
    driver = host()
    costs = replace(FREE, reference_op_s=driver.seconds["op"] * faster)
    calls = plan.launches > 0
    took = (ops_s(plan, driver, costs) - plan.launches * driver.launch_s)[calls]
    assert took.tolist() == pytest.approx(driver.library_call_s(plan.counts)[calls].tolist())
    assert (took > 0).all()
