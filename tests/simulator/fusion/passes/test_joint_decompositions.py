"""Decompositions of the ops of a compiled training step: launches and bytes of small modules."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from simulator.fusion import fused
from simulator.fusion.passes.functional import functional
from simulator.fusion.passes.joint_decompositions import decompose
from simulator.hardware.gpu import gpu
from simulator.networks.output import Output
from simulator.records import Op, Trace
from simulator.schedule.memory import carried_bytes
from simulator.tracing import trace
from tests.simulator.conftest import Calls

H200 = gpu("h200")
ELEMENTS = 4 * 8 * 16 * 16  # bytes of an image of 4 samples, 8 channels, 16 by 16


def step(module: nn.Module, *args: Tensor) -> Trace:
    return trace(module, args, phase="training", optimizer=None)


def launches(traced: Trace, phase: str, part: str) -> list[Op]:
    ops = [op for op in fused(traced, H200).trace.ops if op.phase == phase]
    return [op for op in ops if part in op.signature.args.get("ops", op.name)]


def sizes(op: Op) -> tuple[list[int], list[int]]:
    return [t.nbytes for t in op.inputs], [t.nbytes for t in op.outputs]


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(8, 8, 1, bias=False), nn.Conv2d(8, 8, 1, bias=False)
        self.norm, self.clamp = nn.BatchNorm2d(8), nn.ReLU6(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.clamp(self.norm(self.a(x)))).mean()


class Pooled(nn.Module):
    def __init__(self, window: int) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(8, 8, 1, bias=False), nn.Conv2d(8, 8, 1, bias=False)
        self.window = window

    def forward(self, x: Tensor) -> Tensor:
        return self.b(F.max_pool2d(F.relu(self.a(x)), self.window)).mean()


class Classifier(nn.Module):
    def __init__(self, logits: bool) -> None:
        super().__init__()
        self.head, self.logits = nn.Linear(32, 64), logits

    def forward(self, x: Tensor, labels: Tensor) -> Output | Tensor:
        logits = self.head(x)
        loss = F.cross_entropy(logits.float(), labels)
        return Output(logits, loss) if self.logits else loss


def test_a_batch_norm_of_row_major_images_is_a_kernel_in_each_pass() -> None:
    """As Inductor schedules this step (torch 2.13): a channel's elements are adjacent, so no sum is
    split, and the norm, the clamp and their backward pass loop next to the sums."""
    row = step(Normed().bfloat16(), torch.zeros(4, 8, 16, 16).bfloat16())
    (forward,) = launches(row, "forward", "hardtanh")
    half, weight, moment = ELEMENTS * 2, 8 * 2, 8 * 4
    assert sizes(forward) == ([half, weight, weight], [moment, moment, half])
    # the norm's result is not stored: it is computed again from x, weight, bias, mean and rstd
    (backward,) = launches(row, "backward", "batch_norm_elemt")
    reads, writes = sizes(backward)
    assert reads[:6] == [half, weight, weight, moment, moment, half]
    assert writes == [weight, weight, half]
    assert [op.signature.args[name] for op in (forward, backward) for name in ("rows", "cols")] == [
        8,
        1024,
        8,
        1024,
    ]
    assert not launches(row, "backward", "hardtanh")  # it is comparisons and a selection
    # stored: the clamped image, x, two moments of 8 channels, and the loss in bf16
    assert carried_bytes(fused(row, H200).trace) == 2 * half + 2 * moment + 2


def test_a_clamp_in_place_becomes_one_out_of_place() -> None:
    row = step(Normed(), torch.zeros(4, 8, 16, 16))
    plain = functional(row)
    names = [op.name for op in plain.ops]
    assert "aten.hardtanh.default" in names and "aten.hardtanh_.default" not in names
    at = names.index("aten.hardtanh.default")
    read, written = plain.ops[at].storages
    assert read != written
    assert plain.ops[at + 1].storages[0] == written  # the convolution reads the copy
    assert plain.storages[written].born == at
    assert len(plain.ops) == len(row.ops)


def test_a_trace_without_loops_in_place_is_functional() -> None:
    row = step(Classifier(False), torch.zeros(16, 32), torch.zeros(16, dtype=torch.int64))
    assert functional(row) is row


def test_a_pool_keeps_a_byte_for_each_place_and_its_backward_adds_atomically() -> None:
    row = step(Pooled(2), torch.zeros(4, 8, 16, 16))
    whole, quarter = ELEMENTS * 4, ELEMENTS  # a quarter of the elements, 4 bytes each
    (pool,) = launches(row, "forward", "max_pool2d_with_indices")
    # the ReLU's result is computed again for the windows, which read only the convolution's result
    assert sizes(pool) == ([whole], [quarter, quarter // 4])
    zeros, added = launches(row, "backward", "max_pool2d_with_indices_backward")
    assert sizes(zeros) == ([], [whole])
    # reads a gradient, an index and the previous value; writes the new value
    assert sizes(added) == ([quarter, quarter // 4, quarter], [quarter])


def test_places_in_windows_above_25_stay_numbers() -> None:
    (pool,) = launches(step(Pooled(8), torch.zeros(4, 8, 16, 16)), "forward", "max_pool2d")
    assert sizes(pool)[1] == [128 * 4, 128 * 8]  # 4 · 8 · 2 · 2 = 128


def test_the_gradient_of_returned_logits_is_zeros_that_are_added() -> None:
    args = torch.zeros(16, 32).bfloat16(), torch.zeros(16, dtype=torch.int64)
    logits = 16 * 64 * 2
    row = step(Classifier(True).bfloat16(), *args)
    (zeros,) = launches(row, "backward", "aten.zeros.default")
    assert sizes(zeros) == ([], [logits])
    (gradient,) = launches(row, "backward", "_log_softmax_backward_data")
    assert "add" in gradient.signature.args["ops"].split(", ")
    assert sizes(gradient)[0].count(logits) == 2  # the logits and a tensor of zeros
    alone = step(Classifier(False).bfloat16(), *args)
    assert not launches(alone, "backward", "aten.zeros.default")
    (gradient,) = launches(alone, "backward", "_log_softmax_backward_data")
    assert sizes(gradient)[0].count(logits) == 1


class Halves(nn.Module):
    """Two batch norms that share a gradient, in half precision."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = (nn.Conv2d(8, 8, 1, bias=False) for _ in range(2))
        self.norm, self.beside = nn.BatchNorm2d(8), nn.BatchNorm2d(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.norm(self.one(x)) + self.beside(self.other(x)))


def test_a_gradient_that_two_norms_read_is_widened_once() -> None:
    row = step(Halves().bfloat16(), torch.zeros(4, 8, 16, 16, dtype=torch.bfloat16))
    casts = [
        op
        for op in decompose(row).trace.ops
        if op.phase == "backward"
        and op.name == "aten._to_copy.default"
        and op.outputs[0].dtype == "float32"
    ]
    assert len(casts) == 1


def test_a_clamp_in_place_of_the_first_ops_result_becomes_one_out_of_place() -> None:
    row = trace(Calls(lambda _, x: (x * 2).relu_()), (torch.zeros(100),))
    assert [op.name for op in row.ops] == ["aten.mul.Tensor", "aten.relu_.default"]
    plain = functional(row)
    assert [op.name for op in plain.ops] == ["aten.mul.Tensor", "aten.relu.default"]
    # an input is written in place, since the caller sees it
    own = trace(Calls(lambda _, x: x.relu_() + 1), (torch.zeros(100),))
    assert functional(own) is own
