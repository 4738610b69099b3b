"""The minimum cut: hand-computed cases, torch's own partitioner as an oracle, and properties of any
network."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.costs import traits_of, works
from simulator.costs.movement.views import nothing
from simulator.costs.registry import COSTS
from simulator.fusion.passes.budget import _left_out  # pyright: ignore[reportPrivateUsage]
from simulator.fusion.passes.op_types import is_view
from simulator.fusion.passes.rematerialization import Joint, repeated, saved_within
from simulator.records import Trace
from simulator.schedule.memory import carried_bytes, memory
from simulator.tracing import trace
from tests.simulator.conftest import small
from tests.simulator.fusion.passes.torch_partition import loss_of, torch_keeps

ROWS, WIDTH = 64, 32
ONE = ROWS * WIDTH * 4  # bytes of an activation in fp32: 64·32·4 = 8192


class Between(nn.Module):
    """A function between two linear layers."""

    def __init__(self, function: Callable[[Tensor], Tensor], last: bool = True) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.second.requires_grad_(last)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.function(self.first(x)))


class Gated(nn.Module):
    """x + W(silu(g(n(x))) * u(n(x)))."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.down = nn.LayerNorm(WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.gate, self.up = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(WIDTH, 4 * WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        h = self.norm(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class Scaled(nn.Module):
    """A root-mean-square norm in small ops, then a linear layer with a residual connection."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.linear = nn.Parameter(torch.ones(WIDTH)), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        return x + self.linear(y * self.weight)


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.softmax((self.q(x) @ self.k(x).mT) * 0.125, -1) @ self.v(x)


def gelu_by_hand(x: Tensor) -> Tensor:
    return 0.5 * x * (1.0 + torch.tanh(0.79788456 * (x + 0.044715 * torch.pow(x, 3))))


def stepped(module: nn.Module, *args: Tensor) -> Trace:
    return trace(
        module, args or (torch.zeros(ROWS, WIDTH),), phase="training", optimizer=None, loss=loss_of
    )


def cut(traced: Trace, budget: float = 1.0) -> tuple[int, Trace, list[str]]:
    """The stored bytes (without the 4 bytes of the loss), the new trace, and the recomputed ops
    without views."""
    joint = Joint(traced)
    saved = saved_within(joint, budget)
    values = {joint.tensors[t].value for t in saved}
    nbytes = sum(traced.storages[v[0]].nbytes for v in values if joint.computed_forward(v)) - 4
    new = repeated(joint, saved)
    return nbytes, new, again(traced, new)


def again(before: Trace, after: Trace) -> list[str]:
    extra = Counter(_computing(after)) - Counter(_computing(before))
    return sorted(name.split(".")[1] for name in extra.elements())


def _computing(traced: Trace) -> list[str]:
    return [op.name for op in traced.ops if not is_view(op)]


# -- compared with results worked out by hand ------------------------------------------------------


def sin_cos_exp(x: Tensor) -> Tensor:
    return torch.exp(torch.cos(torch.sin(x)))


def test_between_two_products_the_pointwise_results_are_computed_again():
    # sin' reads the product, cos' reads sin, exp' reads exp, as does the second product's gradient
    # (which does not fuse, so exp is stored); (y²)' reads y. Stored: product, exp, y
    saved, _, ran = cut(stepped(Between(sin_cos_exp)))
    assert (saved, ran) == (3 * ONE, ["sin"])


def test_without_the_second_gradient_only_the_products_are_stored():
    # every reader of exp fuses with it: sin, cos and exp are computed from the product
    saved, _, ran = cut(stepped(Between(sin_cos_exp, last=False)))
    assert (saved, ran) == (2 * ONE, ["cos", "exp", "sin"])


def test_the_narrow_side_of_a_cast_is_stored():
    # in bf16 the product has half the bytes of its fp32 results: 64·32·2 = 4096; y.float()² needs
    # only y in bf16
    def wide(x: Tensor) -> Tensor:
        return torch.sin(torch.cos(x.float())).bfloat16()

    saved, _, ran = cut(
        stepped(Between(wide, last=False).bfloat16(), torch.zeros(ROWS, WIDTH).bfloat16())
    )
    assert (saved, ran) == (2 * 4096, ["_to_copy", "_to_copy", "cos"])


def test_a_reduction_is_stored_and_the_scaled_tensor_is_not():
    # the mean of each row is 32 times smaller than the row: the mean, or a result computed from it,
    # is stored, 64·4 = 256. Also stored are the first product and y; x·rsqrt, which sin' reads, is
    # not
    def scaled(x: Tensor) -> Tensor:
        return torch.sin(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)))

    saved, _, ran = cut(stepped(Between(scaled, last=False)))
    assert (saved, ran) == (2 * ONE + 256, ["mul"])


def test_a_random_op_does_not_run_again():
    # stored: the first product, the mask (a byte per element), the result of dropout, which the
    # second gradient reads, and y
    dropped = Between(lambda x: F.dropout(torch.tanh(x), 0.1)).train()
    saved, _, ran = cut(stepped(dropped))
    assert (saved, ran) == (3 * ONE + ROWS * WIDTH, ["tanh"])
    assert cut(stepped(dropped), 0.0)[2].count("native_dropout") == 0


def test_overwritten_values_are_not_recomputed():
    _, _, ran = cut(stepped(Between(lambda x: torch.sin(torch.cos(x).relu_()), last=False)))
    assert "relu_" not in ran and "cos" not in ran


# -- oracles ---------------------------------------------------------------------------------------

MODULES: dict[str, Callable[[], nn.Module]] = {
    "chain": lambda: Between(sin_cos_exp),
    "branches": lambda: Between(lambda x: gelu_by_hand(x) * torch.sigmoid(x)),
    "gated": lambda: nn.Sequential(Gated(), Gated()),
    "scaled": lambda: nn.Sequential(Scaled(), Scaled()),
    "attending": Attending,
    "dropout": lambda: Between(lambda x: F.dropout(torch.tanh(x).relu(), 0.1)),
    "first": lambda: nn.Sequential(nn.Tanh(), nn.Sigmoid(), nn.SiLU(), nn.Linear(WIDTH, WIDTH)),
    "long": lambda: Between(lambda x: _often(x)),
}


def _often(x: Tensor) -> Tensor:
    for _ in range(52):
        x = torch.sin(torch.cos(x))
    return x


@pytest.mark.layered(5)
@pytest.mark.parametrize("name", MODULES)
def test_stored_bytes_equal_those_of_torchs_partitioner(name: str):
    module = MODULES[name]()
    assert cut(stepped(module))[0] == torch_keeps(module, (torch.randn(ROWS, WIDTH),))


def test_the_ops_that_may_run_again_are_those_of_torchs_list():
    listed = _recomputable()
    for overload in COSTS:
        space, name, _ = overload.split(".")
        packet = getattr(torch.ops.aten, name, None)
        if space == "aten" and packet is not None and not name.endswith("_"):
            launches = COSTS[overload] is not nothing or name in ("empty", "empty_like")
            if name == "to":  # autograd decomposes it: no joint graph contains it
                continue
            runs_again = traits_of(name).recompute == "listed"
            assert runs_again == (name in listed and launches), name


RECORDED = Path(__file__).parent / "recomputable.txt"


def _recomputable() -> set[str]:
    """torch's list, recorded for a version of torch; another version is asked in a new process,
    because other imports, such as Inductor's decompositions, extend it."""
    version, *names = RECORDED.read_text("utf-8").split()
    if version == torch.__version__.partition("+")[0]:
        return set(names)
    code = (
        "from torch._functorch.partitioners import get_default_op_list\n"
        "for each in get_default_op_list().recomputable_ops: print(each)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {line.removeprefix("aten.") for line in run.stdout.split()}


def test_the_knapsack_takes_the_most_valuable_set_that_fits():
    sizes, values = [0.5, 0.3, 0.25, 0.2, 0.0], [5, 4, 3, 2, 1]
    for most in (0.0, 0.25, 0.5, 0.75, 1.0):
        left = _left_out(sizes, values, most)
        taken = sum(values) - sum(values[i] for i in left)
        best = max(
            sum(values[i] for i in chosen)
            for n in range(6)
            for chosen in combinations(range(5), n)
            if sum(sizes[i] for i in chosen) <= most
        )
        assert taken == best


# -- any network -----------------------------------------------------------------------------------

NETWORKS = ("gpt2", "llama3-1b", "resnet18", "convnext-t", "dit-xl")


@cache
def network(name: str) -> Trace:
    module, args = small(name, training=True)
    return trace(module, args, phase="training", optimizer=None)


@pytest.mark.layered(5)
@pytest.mark.parametrize("budget", [1.0, 0.3, 0.0])
@pytest.mark.parametrize("name", NETWORKS)
def test_only_recomputed_ops_are_new(name: str, budget: float):
    before = network(name)
    _, after, _ = cut(before, budget)
    assert flops(after) >= flops(before)
    assert carried_bytes(after) <= carried_bytes(before)
    assert memory(after).bytes_at[0] <= memory(before).bytes_at[0]
    old = iter(before.ops)
    expected = next(old)
    for op in after.ops:  # all original ops remain, in their order
        if op.signature is expected.signature and op.phase == expected.phase:
            expected = next(old, expected)
    assert next(old, None) is None
    assert not [op for op in after.ops if op.phase == "forward" and op not in before.ops]
    for index, op in enumerate(after.ops):  # the storages of each op are alive while it runs
        for storage in op.storages:
            s = after.storages[storage]
            assert s.born <= index and (s.freed is None or index < s.freed)
    present = {n for n, s in enumerate(after.storages) if s.born < 0}
    for op in after.ops:  # the inputs of each op were written before
        assert present.issuperset(op.storages[: len(op.inputs)])
        present.update(op.storages)


def flops(traced: Trace) -> int:
    return sum(w.flops for op in traced.ops for w in works(op.signature) or ())


def test_a_smaller_budget_keeps_no_more():
    before = network("llama3-1b")
    saved = [cut(before, budget)[0] for budget in (1.0, 0.7, 0.4, 0.1, 0.0)]
    assert saved == sorted(saved, reverse=True) and saved[-1] < 0.3 * saved[0]


def test_a_step_in_which_nothing_runs_again_is_itself():
    step = stepped(nn.Linear(WIDTH, WIDTH))
    joint = Joint(step)
    assert repeated(joint, saved_within(joint)) is step
