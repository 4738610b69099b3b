"""Memory against torch's own tracker, byte by byte, and against hand-computed sums."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.distributed._tools import mem_tracker
from torch.distributed._tools.mem_tracker import MemTracker

from simulator.hardware.gpu import gpu as find_gpu
from simulator.records import Op, Phase, Signature, Storage, Trace
from simulator.schedule.memory import carried_bytes, memory
from simulator.tracing import trace
from simulator.tracing.loss import default_loss
from simulator.tracing.recorder import Recorder
from simulator.tracing.simulated_gpu import simulated_gpu
from simulator.tracing.step import OPTIMIZERS
from tests.simulator.conftest import Calls, small

# Recurrent layers are left out: their flat weights share a buffer, which the tracker counts twice.
NETWORKS = [
    "mlp-tiny", "bert-base", "gpt2", "llama3-1b", "t5-base", "vit-b16", "swin-t", "resnet18",
    "convnext-t", "convnet-tiny", "dit-xl", "whisper-encoder", "dlrm", "mamba2-130m",
]  # fmt: skip
CARD = find_gpu("h200")


@pytest.fixture
def blocks_on_meta(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The tracker rounds to the allocator's blocks only on "cuda": make it treat "meta" as
    "cuda".
    """
    plain = mem_tracker._WeakRefInfo.__init__

    def on_gpu(self: Any, size: int, element_size: int, device: torch.device, kind: Any) -> None:
        device = torch.device("cuda", 0) if device.type == "meta" else device
        plain(self, size, element_size, device, kind)

    monkeypatch.setattr(mem_tracker._WeakRefInfo, "__init__", on_gpu)
    yield


def tracked_bytes(module: nn.Module, inputs: tuple[Any, ...], optimizer: str | None) -> int:
    """The peak of the second step, from a tracker that starts after the first."""

    def step() -> object:
        if optimizer is None:
            with torch.no_grad():
                return module(*inputs)
        default_loss(module(*inputs)).backward()
        stepper.step()
        return stepper.zero_grad()

    with warnings.catch_warnings(), simulated_gpu(CARD, Recorder({}), module):
        warnings.simplefilter("ignore")
        stepper: Any = OPTIMIZERS[optimizer](list(module.parameters())) if optimizer else None
        step()
        tracker = MemTracker()
        tracker.track_external(module, *([stepper] if stepper else []), *inputs)
        with tracker:
            out = step()
        del out
    peak = tracker.get_tracker_snapshot("peak")
    assert {device.type for device in peak} <= {"cuda", "cpu"}
    return peak[torch.device("cuda", 0)]["Total"]


@pytest.mark.layered(5)
@pytest.mark.parametrize("name", NETWORKS)
def test_inference_peaks_where_torchs_tracker_says(name: str, blocks_on_meta: None) -> None:
    module, inputs = small(name)
    module.eval()
    assert memory(trace(module, inputs)).peak_bytes == tracked_bytes(module, inputs, None)


@pytest.mark.layered(5)
@pytest.mark.parametrize("name", NETWORKS)
def test_training_peaks_where_torchs_tracker_says(name: str, blocks_on_meta: None) -> None:
    module, inputs = small(name, training=True)
    module.train()
    ours = memory(trace(module, inputs, phase="training")).peak_bytes
    assert ours == tracked_bytes(module, inputs, "adamw")


@pytest.mark.parametrize("optimizer", ["adamw_fused", "sgd"])
def test_other_optimizers_peak_where_torchs_tracker_says(
    optimizer: str, blocks_on_meta: None
) -> None:
    module, inputs = small("bert-base", training=True)
    ours = memory(trace(module, inputs, phase="training", optimizer=optimizer)).peak_bytes
    assert ours == tracked_bytes(module.train(), inputs, optimizer)


def bytes_at(module: nn.Module, *inputs: Tensor, **options: Any) -> list[int]:
    return memory(trace(module, inputs, **options)).bytes_at.tolist()


def test_two_layers_by_hand() -> None:
    module = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64))
    traced = trace(module, (torch.ones(32, 256),))
    assert traced.names() == [
        "aten.t.default",
        "aten.addmm.default",
        "aten.relu.default",
        "aten.t.default",
        "aten.addmm.default",
    ]
    # weights 256·512·4 = 524,288 and 512·4 = 2,048; 512·64·4 = 131,072 and 64·4 = 256, which takes
    # a block of 512; in total 657,920; the input 32·256·4 = 32,768
    start = 524288 + 2048 + 131072 + 512 + 32768
    assert start == 690688
    hidden, out = 32 * 512 * 4, 32 * 64 * 4  # 65,536 and 8,192
    usage = memory(traced)
    # the first hidden tensor lives until the ReLU has run, the second until the last product has
    assert usage.bytes_at.tolist() == [
        start,
        start + hidden,
        start + 2 * hidden,
        start + hidden,
        start + hidden + out,
    ]
    assert usage.peak_bytes == 690688 + 2 * 65536 == 821760
    assert usage.peak_op == 2
    assert usage.at_peak == {"weight": 657920, "input": 32768, "activation": 131072}


def test_a_chain_holds_two_tensors_and_its_input() -> None:
    def chain(_: Calls, x: Tensor) -> Tensor:
        for _ in range(4):
            x = x.cos()
        return x

    module = Calls(chain)
    mib, weights = 2**20, 512 * 2  # w and b take one block each
    usage = bytes_at(module, torch.empty(512, 512, device="meta"))
    assert usage == [weights + n * mib for n in (2, 3, 3, 3)]


def test_work_in_place_and_views_allocate_nothing() -> None:
    def in_place(_: Calls, x: Tensor) -> Tensor:
        y = x.view(-1)[:100].t()
        y.add_(1).relu_()
        return x.transpose(0, 1)

    usage = bytes_at(Calls(in_place), torch.empty(512, 512, device="meta"))
    assert len(usage) == 6 and set(usage) == {2 * 512 + 2**20}


def test_blocks_of_512_bytes() -> None:
    # 129 single-precision numbers are 516 bytes, which take two blocks; 128 take one; 0 bytes take
    # none
    module = Calls(lambda _, x: x + 1)
    for numbers, rounded in [(1, 512), (128, 512), (129, 1024), (256, 1024), (0, 0)]:
        assert bytes_at(module, torch.ones(numbers)) == [2 * 512 + 2 * rounded]


def test_an_expanded_tensor_is_stored_once() -> None:
    module = Calls(lambda _, x: x.expand(1000, 128) + 0)
    # x takes 512 bytes, the sum 1000·128·4 = 512,000
    assert bytes_at(module, torch.ones(1, 128)) == [1536, 1536 + 512000]


def test_host_tensors_need_no_gpu_memory() -> None:
    module = Calls(lambda _, x: x.cpu() + torch.ones(1000))
    assert set(bytes_at(module, torch.ones(1000))) == {2 * 512 + 4096}


def test_training_stores_the_tensors_for_backward() -> None:
    module = nn.Sequential(nn.Linear(128, 128, bias=False), nn.Linear(128, 128, bias=False))
    traced = trace(module, (torch.ones(64, 128),), phase="training", optimizer="adamw")
    usage = memory(traced)
    matrix, rows = 128 * 128 * 4, 64 * 128 * 4  # 65,536 and 32,768
    # AdamW's temporary square roots cause the peak: two weights, their gradients, both moments and
    # the roots
    assert traced.ops[usage.peak_op].name == "aten._foreach_sqrt.default"
    assert usage.at_peak == {
        "weight": 2 * matrix,
        "input": rows,
        "gradient": 2 * matrix,
        "optimizer": 4 * matrix,
        "activation": 2 * matrix,
    }
    assert usage.peak_bytes == 10 * matrix + rows == 688128


def test_parts_of_the_peak_add_up() -> None:
    module, inputs = small("gpt2", training=True)
    usage = memory(trace(module, inputs, phase="training"))
    assert sum(usage.at_peak.values()) == usage.peak_bytes == usage.bytes_at.max()
    assert usage.bytes_at[usage.peak_op] == usage.peak_bytes


def test_a_network_without_ops() -> None:
    usage = memory(trace(nn.Identity(), (torch.ones(4),)))
    assert usage.peak_bytes == 512 and usage.bytes_at.tolist() == [512]


def test_a_pool_of_graphs_keeps_its_largest_size_over_the_step() -> None:
    module = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 64))
    traced = trace(module, (torch.ones(32, 256),))
    activations = [n for n, s in enumerate(traced.storages) if s.role == "activation"]
    start, hidden, out = 690688, 32 * 512 * 4, 32 * 64 * 4  # as computed by hand above
    # all activations: at most two hidden tensors, plus weights and input at every op
    usage = memory(traced, frozenset(activations))
    assert usage.bytes_at.tolist() == [start + 2 * hidden] * 5
    assert usage.at_peak == {"weight": 657920, "input": 32768, "activation": 2 * hidden}
    # only the first hidden tensor; the second one and the output are added
    usage = memory(traced, frozenset(activations[:1]))
    assert usage.bytes_at.tolist() == [
        start + hidden,
        start + hidden,
        start + 2 * hidden,
        start + 2 * hidden,
        start + 2 * hidden + out,
    ]
    assert (usage.peak_op, usage.peak_bytes) == (4, start + 2 * hidden + out)
    assert usage.at_peak == {"weight": 657920, "input": 32768, "activation": 2 * hidden + out}


def test_what_the_forward_pass_leaves_to_the_backward_pass() -> None:
    plain = Signature("aten.relu.default", (), (), (), {})
    phases: tuple[Phase, ...] = ("forward", "forward", "backward", "optimizer")
    ops = [Op(plain, "", phase) for phase in phases]
    storages = [
        # alive at the start of op 2, the first op of the backward pass
        Storage(1, 0, 3, "activation"),
        Storage(2, 1, None, "activation"),
        # freed before op 2, or allocated later
        Storage(4, 0, 2, "activation"),
        Storage(8, 2, 3, "activation"),
        Storage(16, 3, None, "activation"),
        # from the previous step, with another role, or on the host
        Storage(32, -1, None, "activation"),
        Storage(64, 0, None, "gradient"),
        Storage(128, 0, None, "activation", "cpu"),
    ]
    step = Trace(ops, storages, "training", None, 1, None, 0, 0, [], "", "")
    assert carried_bytes(step) == 1 + 2
    assert carried_bytes(step.with_ops(ops[:2], storages, range(5))) == 0


def test_storages_without_bytes_and_on_the_cpu_have_no_role_at_the_peak() -> None:
    """600 bytes are two blocks of 512; the gradient is empty, the buffer on the CPU."""
    storages = [
        Storage(600, -1, None, "weight"),
        Storage(0, -1, None, "gradient"),
        Storage(600, -1, None, "buffer", "cpu"),
        Storage(512, 0, 1, "activation"),
    ]
    op = Op(Signature("aten.exp.default", (), (), (), {}), "", "forward", ())
    step = Trace([op, op], storages, "inference", None, 1, None, 0, 0, [], "", "")
    used = memory(step)
    assert used.at_peak == {"weight": 1024, "activation": 512}
    assert (used.bytes_at.tolist(), used.peak_op, used.peak_bytes) == ([1536, 1024], 0, 1536)


def test_a_storage_that_is_freed_before_the_peak_is_not_alive_at_it() -> None:
    storages = [
        Storage(512, 0, 1, "activation"),  # freed when the second op begins
        Storage(2048, 1, 2, "gradient"),
        Storage(1024, 0, 2, "optimizer"),
        Storage(1536, 2, None, "buffer"),
    ]
    op = Op(Signature("aten.exp.default", (), (), (), {}), "", "forward", ())
    step = Trace([op] * 3, storages, "inference", None, 1, None, 0, 0, [], "", "")
    used = memory(step)
    assert (used.bytes_at.tolist(), used.peak_op) == ([1536, 3072, 1536], 1)
    assert used.at_peak == {"gradient": 2048, "optimizer": 1024}
