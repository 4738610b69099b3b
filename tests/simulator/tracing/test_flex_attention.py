"""`flex_attention`: all scores in eager mode, one kernel over the mask's blocks in compiled
mode.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from simulator.modes import Run
from simulator.records import Op, Trace
from simulator.tracing import trace
from tests.simulator.conftest import Calls

Q = torch.empty(2, 4, 1024, 64, dtype=torch.bfloat16)
Mask = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
compiled = torch.compile(flex_attention)


def causal(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return q >= k


def window(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
    return (q >= k) & (q - k < 128)


def traced(mask: Mask | None, run: Run = "eager", phase: str = "inference") -> Trace:
    function = flex_attention if run == "compiled" else compiled

    def forward(_: Calls, x: Tensor) -> Tensor:
        blocks = None
        if mask is not None:
            blocks = create_block_mask(mask, None, None, 1024, 1024, device=x.device)
        out = function(x, x, x, block_mask=blocks)
        assert isinstance(out, Tensor)
        return out

    network = Calls(forward)
    return trace(network, (Q.clone().requires_grad_(phase == "training"),), run=run, phase=phase)


def flex(step: Trace) -> list[Op]:
    return [op for op in step.ops if op.name.startswith("compiled.")]


@pytest.mark.parametrize("run", ["eager", "compiled"])
@pytest.mark.parametrize(
    ("mask", "share"),
    [
        (None, 1.0),
        (causal, 36 / 64),  # 8·9/2 of 8·8 blocks of size 128
        (window, 15 / 64),  # each block and the previous one: 8 + 7
    ],
)
def test_one_kernel_computes_the_blocks_that_are_seen(
    mask: Mask | None, share: float, run: Run
) -> None:
    step = traced(mask, run)
    (op,) = flex(step)
    assert op.signature.args == {"share": share}
    assert [t.shape for t in op.outputs] == [(2, 4, 1024, 64), (2, 4, 1024)]
    assert f"{share:.3g} of the blocks" in [a.taken for a in step.assumptions]


def test_a_mask_of_data_on_the_gpu_is_taken_whole() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        document = torch.zeros(1024, dtype=torch.int64, device=x.device)

        def same(b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
            return document[q] == document[k]

        blocks = create_block_mask(same, None, None, 1024, 1024, device=x.device)
        out = compiled(x, x, x, block_mask=blocks)
        assert isinstance(out, Tensor)
        return out

    step = trace(Calls(forward), (Q,))
    assert flex(step)[0].signature.args == {"share": 1.0}
    assert "all blocks of the mask computed" in [a.taken for a in step.assumptions]


def test_eager_mode_materializes_the_scores() -> None:
    def forward(_: Calls, x: Tensor) -> Tensor:
        out = flex_attention(x, x, x)
        assert isinstance(out, Tensor)
        return out

    step = trace(Calls(forward), (Q,))
    assert flex(step) == []
    scores = [op for op in step.ops if op.outputs and op.outputs[0].shape == (2, 4, 1024, 1024)]
    assert any(op.outputs[0].dtype == "float32" for op in scores)
    assert sum(op.name == "aten.bmm.default" for op in step.ops) == 2


def test_its_gradient_is_one_kernel_too() -> None:
    forward, backward = flex(traced(causal, phase="training"))
    assert forward.name == "compiled.flex_attention.default"
    assert backward.name == "compiled.flex_attention_backward.default"
    assert backward.signature.args == {"share": 36 / 64}
    assert [t.shape for t in backward.outputs] == [(2, 4, 1024, 64)] * 3


CODE = """
import torch
from torch import nn
from simulator.tracing import trace
class Network(nn.Module):
    def forward(self, x):
        from torch.nn.attention.flex_attention import flex_attention
        return flex_attention(x, x, x)
ops = trace(Network(), (torch.empty(1, 1, 128, 64),)).ops
print(sum(op.name == "aten.bmm.default" for op in ops))
"""


def test_a_network_that_imports_it_in_forward_is_traced() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"
