"""Groups of the fused trace: literal sums on small modules, kernel counts of the real compiler, and
properties of every network."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from simulator import trace
from simulator.errors import InputError
from simulator.fusion import LEVELS, fused
from simulator.fusion.group import Group
from simulator.fusion.lowering.lowering import Lowering
from simulator.fusion.node import Node
from simulator.fusion.scheduling.partition import partition
from simulator.fusion.scheduling.scheduling import ordered
from simulator.hardware.gpu import gpu
from simulator.lowering import lower
from simulator.networks.catalogue import CATALOGUE
from simulator.records import Trace
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved
from simulator.timing.profile import profile

H200 = gpu("h200")


def network(name: str, **options: object) -> Trace:
    return trace_resolved(resolve(Scenario(name, **options)))  # pyright: ignore[reportArgumentType]


def of(module: nn.Module, *inputs: torch.Tensor) -> Trace:
    return trace(module, inputs)


def generated(groups: list[Group]) -> list[Group]:
    return [group for group in groups if not group.library]


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(64)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return self.norm(x + y)


class Chain(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cos(torch.cos(torch.cos(x)) + 1.0)


class Siblings(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.exp(x), torch.tanh(x)


class Product(nn.Module):
    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.linear = nn.Linear(64, 64, dtype=dtype)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.linear(x))


def test_a_chain_is_one_launch_of_one_read_and_one_write() -> None:
    compiled = fused(of(Chain(), torch.zeros(1000, 10)), H200).trace
    assert [op.name for op in compiled.ops] == ["fused.pointwise.default"]
    signature = compiled.ops[0].signature
    assert (signature.read_bytes, signature.write_bytes) == (40_000, 40_000)  # 10,000 · 4
    assert signature.args["flops"] == 40_000  # three cosines and a sum: 4 · 10,000


def test_a_sum_fuses_into_the_norm_that_reads_it() -> None:
    compiled = fused(of(Residual(), torch.zeros(32, 64), torch.zeros(32, 64)), H200).trace
    assert [op.name for op in compiled.ops] == ["fused.reduction.default"]
    signature = compiled.ops[0].signature
    assert signature.read_bytes == 2 * 32 * 64 * 4 + 2 * 64 * 4  # x and y; weight and bias
    assert signature.write_bytes == 32 * 64 * 4  # in inference no kernel needs the moments
    assert signature.args["rows"] == 32


def test_without_reductions_the_norm_stays_a_call() -> None:
    groups = partition(of(Residual(), torch.zeros(32, 64), torch.zeros(32, 64)), H200, "pointwise")
    assert [group.library for group in groups] == [False, True]


def test_siblings_share_reads_only_when_compiled() -> None:
    step = of(Siblings(), torch.zeros(64, 64))
    counts = [len(partition(step, H200, level)) for level in LEVELS[1:]]
    assert counts == [2, 2, 1]
    assert fused(step, H200).trace.ops[0].signature.read_bytes == 64 * 64 * 4  # once


@pytest.mark.parametrize(("dtype", "name"), [(torch.float32, "mm"), (torch.bfloat16, "addmm")])
def test_only_full_precision_leaves_its_bias_to_the_activation(
    dtype: torch.dtype, name: str
) -> None:
    compiled = fused(of(Product(dtype), torch.zeros(64, 64, dtype=dtype)), H200).trace
    names = [op.name for op in compiled.ops]
    assert names == [f"aten.{name}.default", "fused.pointwise.default"]


def test_fusion_none_returns_the_trace_itself() -> None:
    step = of(Chain(), torch.zeros(8))
    assert fused(step, H200, "none").trace is step


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(InputError) as error:
        partition(of(Chain(), torch.zeros(8)), H200, "all")  # pyright: ignore
    assert str(error.value) == (
        "unknown fusion level 'all': expected one of 'none', 'pointwise', "
        "'pointwise+reductions', 'compiled', 'xla', 'nvfuser', 'tensorrt'"
    )


def test_the_number_of_kernels_is_that_of_inductor() -> None:
    """Triton kernels of one step as torch 2.11's Inductor launched them on an H200
    (calibration/measurements/h200_sxm/compiled.jsonl.gz)."""
    measured = {
        "llama3-1b": (dict(dtype="bf16", batch=1, seq=512), 81),
        "gpt2": (dict(dtype="bf16", batch=4, seq=512), 38),
        "mobilenet-v2": (dict(dtype="fp16", batch=32), 54),
    }
    for name, (options, kernels) in measured.items():
        groups = partition(network(name, **options), H200, profile=profile())
        assert len(generated(groups)) == kernels, name


@pytest.mark.layered(5)
@pytest.mark.parametrize("name", ["bert-base", "resnet18", "t5-base", "swin-t", "mamba2-130m"])
@pytest.mark.parametrize("training", [False, True])
def test_properties_of_every_partition(name: str, training: bool) -> None:
    step = network(name, batch=2, training=training)
    lowering = Lowering(step, H200)
    nodes = lowering.run()
    eager_ops = {
        index
        for index, op in enumerate(step.ops)
        if lowering.flow.computes[index] and op.phase != "optimizer"
    }
    for level in LEVELS[1:]:
        groups = partition(step, H200, level)
        nodes = [node for group in groups for node in group.nodes]
        assert len(nodes) == len(set(map(id, nodes)))
        written_before: set[object] = set()
        written = {key for node in nodes for key in node.writes}
        for group in groups:  # nothing is read before it is written
            for node in group.nodes:
                late = [
                    k
                    for k in node.reads
                    if k in written and k not in written_before and node.reads[k]
                ]
                assert not [k for k in late if k not in node.writes], level
                written_before |= set(node.writes)
        ops = {op for node in nodes for op in node.ops}
        assert ops <= eager_ops
        dead = eager_ops - ops  # all of them are tensors without a reader
        assert all(
            not lowering.flow.users.get(value) or _is_dead(lowering, value, dead)
            for op in dead
            for value in lowering.flow.makes[op]
        )
    assert nodes


def _is_dead(lowering: Lowering, value: tuple[int, int], dead: set[int]) -> bool:
    return all(user in dead for user in lowering.flow.users[value])


@pytest.mark.parametrize("name", sorted(set(CATALOGUE) & {"bert-base", "gpt2", "vit-b16", "unet"}))
def test_fusing_moves_no_more_bytes(name: str) -> None:
    """The networks are in half precision, since cuBLAS may split a product without a bias in single
    precision."""
    step = network(name, batch=2, dtype="bf16")
    moved: list[int] = []
    for level in LEVELS[:3]:
        lowered = lower(fused(step, H200, level).trace, H200)
        moved.append(sum(lowered.works[k].bytes for k in lowered.work_of))
    assert moved == sorted(moved, reverse=True)


def test_kernels_that_wait_for_nothing_run_in_the_order_of_the_program() -> None:
    """The order does not depend on the addresses of the groups, although a set of groups is ordered
    by them."""
    earlier = [Group([Node("library", 1)], place, place) for place in range(40)]
    last = Group([Node("library", 1)], 40, 40, set(earlier))
    assert [each.first for each in ordered([last, *earlier])] == list(range(41))
