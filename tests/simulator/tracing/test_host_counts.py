"""The host's work, counted by hand: calls of Python functions and of modules, autograd nodes."""

from __future__ import annotations

import subprocess
import sys

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.records import Trace
from simulator.tracing import trace
from tests.simulator.conftest import small

X = torch.ones(4, 4)


def totals(traced: Trace) -> tuple[int, int, int]:
    """Python calls, module calls and autograd nodes of a step."""
    return (
        sum(op.python_calls for op in traced.ops) + traced.tail_python_calls,
        sum(op.module_calls for op in traced.ops) + traced.tail_module_calls,
        sum(op.autograd_nodes for op in traced.ops),
    )


class Helped(nn.Module):
    """One op, called through two functions."""

    def half(self, x: Tensor) -> Tensor:
        return self.quarter(x)

    def quarter(self, x: Tensor) -> Tensor:
        return x + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.half(x)


def test_calls_of_a_module_and_its_helpers() -> None:
    # the module: _wrapped_call_impl, _call_impl, forward; half and quarter: 5 calls, all before the
    # add
    (op,) = trace(Helped(), (X,)).ops
    assert (op.python_calls, op.module_calls, op.autograd_nodes) == (5, 1, 0)


def test_calls_of_a_linear_layer() -> None:
    # _wrapped_call_impl, _call_impl, forward, and __getattr__ for weight and bias; F.linear is C
    view, product = trace(nn.Linear(4, 4), (X,)).ops
    assert (view.python_calls, view.module_calls) == (5, 1)
    assert (product.python_calls, product.module_calls) == (0, 0)


def test_calls_of_a_sequence() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    t0, mm0, relu, t1, mm1 = trace(module, (X,)).ops
    # the Sequential: _wrapped_call_impl, _call_impl, forward, __iter__; the first layer: 5 calls
    assert (t0.python_calls, t0.module_calls) == (4 + 5, 2)
    # ReLU: _wrapped_call_impl, _call_impl, forward, F.relu
    assert (relu.python_calls, relu.module_calls) == (4, 1)
    assert (t1.python_calls, t1.module_calls) == (5, 1)
    assert mm0.python_calls == mm1.python_calls == 0


def test_a_function_that_torch_overrides_is_one_call() -> None:
    """F.softmax checks whether an argument overrides it, and is then called again: it counts
    once."""

    class Softmax(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.softmax(x, dim=-1)

    (op,) = trace(Softmax(), (X,)).ops
    # _wrapped_call_impl, _call_impl, forward, F.softmax
    assert op.python_calls == 4


def test_the_choice_of_an_attention_kernel_is_not_counted() -> None:
    """ATen chooses in C++; while the step is traced, Python code of the simulator chooses."""

    class Attention(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return F.scaled_dot_product_attention(x, x, x)

    class Product(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.baddbmm(x, x, x)

    (attention,) = trace(Attention(), (torch.ones(1, 2, 2, 64),)).ops
    (product,) = trace(Product(), (torch.ones(2, 4, 4),)).ops
    assert attention.python_calls == product.python_calls == 3
    assert attention.instructions == product.instructions > 0
    assert attention.attributes == product.attributes
    assert attention.cold_instructions == product.cold_instructions == 0


def test_a_wrapper_adds_exactly_its_calls() -> None:
    class Wrapper(nn.Module):
        def __init__(self, inner: nn.Module) -> None:
            super().__init__()
            self.inner = inner

        def forward(self, x: Tensor) -> Tensor:
            return self.inner(x)

    module = nn.Sequential(nn.Linear(4, 4), nn.GELU())
    bare, wrapped, twice = (
        totals(trace(m, (X,))) for m in (module, Wrapper(module), Wrapper(Wrapper(module)))
    )
    # _wrapped_call_impl, _call_impl, forward, and __getattr__ for `inner`
    assert wrapped == (bare[0] + 4, bare[1] + 1, bare[2])
    assert twice == (bare[0] + 8, bare[1] + 2, bare[2])


def test_calls_after_the_last_op_are_the_tail() -> None:
    class Tail(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = x + 1
            for _ in range(3):
                y = self.same(y)
            return self.last(y)

        def same(self, y: Tensor) -> Tensor:
            return y

        def __init__(self) -> None:
            super().__init__()
            self.last = nn.Identity()

    traced = trace(Tail(), (X,))
    # three calls of `same`; __getattr__ finds `last`, whose call runs _wrapped_call_impl,
    # _call_impl and forward
    assert (traced.tail_python_calls, traced.tail_module_calls) == (3 + 4, 1)


def test_autograd_nodes() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    traced = trace(module, (X,), phase="training", optimizer=None)

    def nodes(phase: str) -> list[tuple[str, int]]:
        return [
            (op.name.removeprefix("aten."), op.autograd_nodes)
            for op in traced.ops
            if op.phase == phase and op.autograd_nodes
        ]

    # created in the forward pass: t, addmm, relu, and the loss's pow and mean
    assert nodes("forward") == [
        ("t.default", 1),
        ("addmm.default", 1),
        ("relu.default", 1),
        ("pow.Tensor_Scalar", 1),
        ("mean.default", 1),
    ]
    # run in the backward pass: the same five, and an AccumulateGrad for weight and for bias
    assert sum(count for _, count in nodes("backward")) == 7


def test_a_step_counts_the_same_every_time() -> None:
    module, inputs = small("bert-base", training=True)
    # torch runs a few of its own functions only once: the first trace of a process may count them
    # too
    _, first, second = (trace(module, inputs, phase="training") for _ in range(3))
    assert totals(first) == totals(second)
    assert [op.python_calls for op in first.ops] == [op.python_calls for op in second.ops]


def test_the_first_step_of_a_process_counts_no_imports() -> None:
    code = """
import torch
from simulator.tracing import trace
module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
x = torch.ones(4, 4)
for phase in ("inference", "training", "inference", "training"):
    traced = trace(module, (x,), phase=phase)
    print(sum(op.python_calls for op in traced.ops) + traced.tail_python_calls)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    inference, training, again, training_again = map(int, done.stdout.split())
    # 4 calls for the Sequential, 5 for the layer, 4 for the ReLU
    assert inference == again == 13
    # torch makes a few calls once per process
    assert training_again <= training <= training_again + 20


def test_a_compiled_function_is_called_without_compiling() -> None:
    class Compiled(Helped):
        def __init__(self) -> None:
            super().__init__()
            self.run = torch.compile(self.half)

        def forward(self, x: Tensor) -> Tensor:
            return self.run(x)

    calls, _, _ = totals(trace(Compiled(), (X,)))
    assert calls < 50  # compiling takes tens of thousands
