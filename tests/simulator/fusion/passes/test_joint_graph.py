"""The tensors that a compiled training step stores for its backward pass, and those that it
recomputes there.
"""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator import predict_trace
from simulator.analysis.fusion_report import explain
from simulator.fusion.passes.joint_graph import joint_graph
from simulator.networks.catalogue import build
from simulator.networks.output import Output
from simulator.prediction import Prediction
from simulator.records import Op
from simulator.scenario.scenario import predict
from simulator.schedule.memory import carried_bytes
from simulator.tracing import trace
from simulator.whatif import apply
from tests.simulator.conftest import small
from tests.simulator.whatif.conftest import small_scenario

ROWS, WIDTH, CLASSES = 64, 32, 1024
ONE = ROWS * WIDTH * 4


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x: Tensor, labels: Tensor) -> Output:
        logits = self.head(x)
        return Output(logits, F.cross_entropy(logits.float(), labels))


class Rectified(nn.Module):
    """A ReLU whose result no product reads."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.second(torch.relu(self.first(x)) * x)


class Weighing(nn.Module):
    """A product whose operand is a softmax in full precision."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(64, 64)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.softmax(self.into(x).float(), -1).to(y.dtype) @ y


def compiled(module: nn.Module, *args: Tensor) -> Prediction:
    step = trace(module, args, phase="training", optimizer=None)
    return predict_trace(step, mode="compiled")


def generated(p: Prediction, phase: str, part: str) -> list[Op]:
    return [
        op
        for op in p.trace.ops
        if op.name.startswith("fused.") and op.phase == phase and part in op.signature.args["ops"]
    ]


def test_the_logits_are_stored_instead_of_their_log_softmax():
    module = Classifier().bfloat16()
    p = compiled(module, torch.zeros(ROWS, WIDTH).bfloat16(), torch.zeros(ROWS, dtype=torch.int64))
    # stored: the logits in bf16, 64·1024·2 = 131,072; the maximum and the logarithm of the sum of
    # each row, 2·64·4 = 512; the loss and the sum of weights, 4 each. Eager mode stores the
    # log-softmax, 64·1024·4 = 262,144
    assert carried_bytes(p.trace) == 131_072 + 512 + 8
    (sums,) = generated(p, "forward", "amax")
    assert sums.signature.write_bytes == 512
    (gradient,) = generated(p, "backward", "_log_softmax_backward_data")
    assert "sub" in gradient.signature.args["ops"]  # recomputed from the logits in bf16
    assert max(t.nbytes for t in gradient.inputs) == 131_072


def test_the_scores_are_stored_instead_of_their_softmax():
    scores = torch.zeros(ROWS, 64, 64).bfloat16()
    p = compiled(Weighing().bfloat16(), scores, torch.zeros(ROWS, 64, WIDTH).bfloat16())
    wide = ROWS * 64 * 64 * 4
    (kernel,) = generated(p, "forward", "amax")
    # in half precision for the product, with the maximum and the sum of each row
    assert sorted(t.nbytes for t in kernel.outputs) == [ROWS * 64 * 4, ROWS * 64 * 4, wide // 2]
    (again,) = generated(p, "backward", "_softmax_backward_data")
    assert "exp" in again.signature.args["ops"]
    assert all(t.nbytes < wide for t in again.inputs)


def test_the_mask_of_a_relu_is_stored_if_nothing_else_reads_its_result():
    p = compiled(Rectified(), torch.zeros(ROWS, WIDTH))
    # stored: the ReLU's result times x, which the second layer's gradient reads; a byte per element
    # for the zeros of the ReLU; y; the loss
    assert carried_bytes(p.trace) == 2 * ONE + ROWS * WIDTH + 4


def test_a_gate_is_computed_again_in_the_backward_kernel():
    module, args = small("llama3-1b", training=True)
    p = compiled(module, *args)
    hidden = 4 * 16 * 192 * 4  # 4 samples of 16 tokens, 192 wide, fp32
    for op in generated(p, "forward", "silu"):
        assert [t.nbytes for t in op.outputs] == [hidden]  # silu(g)·u alone
    for op in generated(p, "backward", "silu_backward"):
        assert "silu, " in op.signature.args["ops"]


def test_kernels_name_the_ops_of_the_eager_step():
    module, args = small("llama3-1b", training=True)
    step = trace(module, args, phase="training", optimizer=None)
    p = predict_trace(step, mode="compiled")
    fusion = p.fusion
    assert fusion.origin.ops is step.ops
    named = {op for group in fusion.groups for node in group.nodes for op in node.ops}
    assert named <= set(range(len(step.ops)))
    softmax = next(i for i, op in enumerate(step.ops) if op.name == "aten._log_softmax.default")
    assert softmax in named
    report = explain(p)
    kernels = sum(m.launches for m in report.merged) + sum(left.launches for left in report.unfused)
    assert kernels == p.kernel_count
    assert report.eager.kernel_count == predict_trace(step).kernel_count
    assert report.recomputed is not None and dict(report.recomputed.ops)["silu"] == 2  # one a block
    assert report.recomputed.bytes < report.recomputed.eager_bytes


def test_a_generated_kernel_has_the_bytes_of_the_summed_parts():
    """The backward pass of a row-wise norm: the kernel has the bytes of the eager op, although
    torch sums its parts."""
    module, args = build("gpt2", layers=1), (torch.zeros(16, 1024, dtype=torch.long),)
    report = explain(predict_trace(trace(module, args, phase="training"), mode="compiled"))
    reasons = {left.op: left.reason for left in report.unfused}
    assert reasons["sum"] == "torch adds up the partial sums of a generated kernel's blocks"
    norms = [m for m in report.merged if "native_layer_norm_backward" in m.ops]
    # two tensors are read, one is written
    assert min(m.bytes_before / m.count for m in norms) > 3 * 16 * 1024 * 768 * 4


def test_a_sum_that_the_level_leaves_as_it_is_adds_up_no_parts():
    scenario = small_scenario("bert-base", seq=16, training=True, sizes={"layers": 1, "vocab": 64})
    report = explain(predict(apply(scenario, "fusion", {"level": "pointwise"})))
    reasons = {left.op: left.reason for left in report.unfused}
    assert (
        reasons["sum"]
        == reasons["native_layer_norm"]
        == "the chosen fusion leaves this op unchanged"
    )
    beginning = "autograd creates the gradient with which the backward pass begins"
    assert reasons["ones_like"] == reasons["zeros"] == beginning


def test_an_inference_step_is_unchanged():
    module, args = small("gpt2")
    step = trace(module, args)
    assert joint_graph(step).trace is step


@pytest.mark.parametrize("name", ["gpt2", "resnet18", "llama3-1b", "dit-xl"])
def test_only_written_tensors_are_read(name: str):
    module, args = small(name, training=True)
    joint = joint_graph(trace(module, args, phase="training", optimizer=None)).trace
    present = {number for number, s in enumerate(joint.storages) if s.born < 0}
    for index, op in enumerate(joint.ops):
        assert present.issuperset(op.storages[: len(op.inputs)])
        present.update(op.storages)
        for storage in op.storages:
            s = joint.storages[storage]
            assert s.born <= index and (s.freed is None or index <= s.freed)
