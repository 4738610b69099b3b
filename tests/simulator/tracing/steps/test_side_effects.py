"""A trace leaves the user's network and torch's global state as they were."""

from __future__ import annotations

import cProfile
import subprocess
import sys
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from simulator.errors import InputError
from simulator.tracing import trace
from tests.simulator.conftest import Calls


class Ops(TorchDispatchMode):
    """Collects the names of the ops dispatched while the mode is active."""

    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


def dispatched() -> list[str]:
    """The ops that this build itself dispatches instead of those that a trace substitutes."""
    q = torch.empty(2, 4, 16, 64, device="meta", dtype=torch.bfloat16)
    x = torch.empty(2, 3, 8, 8, device="meta")
    with Ops() as ops:
        F.scaled_dot_product_attention(q, q, q)
        F.dropout(x, 0.5, training=True)
        F.rms_norm(x, (8,))
        F.batch_norm(x, None, None, training=True)
        torch.softmax(q, -1, dtype=torch.float32)
        nn.LSTM(8, 8, device="meta")(x[0])
    with Ops() as cast, torch.autocast("cpu", dtype=torch.bfloat16):
        F.linear(torch.ones(2, 2), torch.ones(2, 2))
    return ops.names + cast.names


def state() -> list[object]:
    """Every global that a trace touches."""
    return [
        torch.cuda.is_available(),
        torch.cuda.device_count(),
        torch.cuda.get_device_properties,
        torch.cuda.synchronize,
        torch.cuda.amp.common.amp_definitely_not_available(),
        torch.is_autocast_enabled("cuda"),
        torch.is_autocast_enabled("cpu"),
        torch.is_autocast_enabled("ipu"),
        torch.get_autocast_dtype("cuda"),
        torch.clear_autocast_cache,
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        sys.getprofile(),
        torch.overrides._get_current_function_mode(),
        torch.utils._python_dispatch._get_current_dispatch_mode(),
        dict(nn.modules.module._global_forward_hooks),
        dict(nn.modules.module._global_forward_pre_hooks),
        torch.empty(1, device="meta").device,
    ]


def block(self: Calls, x: Tensor) -> Tensor:
    y = F.dropout(F.linear(x, self.w, self.b), 0.5, self.training)
    return F.scaled_dot_product_attention(y[None, None], y[None, None], y[None, None])


def failing(self: Calls, x: Tensor) -> Tensor:
    block(self, x)
    raise RuntimeError("on purpose")


@pytest.mark.parametrize("phase", ["inference", "training"])
@pytest.mark.parametrize("autocast", [None, "bf16"])
def test_torch_is_as_before(phase: str, autocast: str | None) -> None:
    before, ops = state(), dispatched()
    # a CPU build has neither cuDNN's attention nor its recurrent layers
    assert not any("cudnn" in name or "native_dropout" in name for name in ops)
    trace(Calls(block), (torch.ones(4, 4),), phase=phase, autocast=autocast)
    assert state() == before
    assert dispatched() == ops


@pytest.mark.parametrize("phase", ["inference", "training"])
def test_torch_is_as_before_when_the_forward_raises(phase: str) -> None:
    before, ops = state(), dispatched()
    with pytest.raises(InputError, match="on purpose"):
        trace(Calls(failing), (torch.ones(4, 4),), phase=phase, autocast="fp16")
    assert state() == before
    assert dispatched() == ops
    # and the next trace works
    assert len(trace(Calls(block), (torch.ones(4, 4),)).ops) > 5


def test_a_profiler_of_the_user_stays() -> None:
    seen: list[str] = []

    def profiler(frame: Any, event: str, arg: Any) -> None:
        seen.append(event)

    sys.setprofile(profiler)
    try:
        trace(Calls(block), (torch.ones(4, 4),))
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)


def test_cprofile_continues_after_a_trace() -> None:
    profile = cProfile.Profile()
    traced = profile.runcall(trace, Calls(block), (torch.ones(4, 4),))
    assert len(traced.ops) > 5
    assert sys.getprofile() is None


def test_the_network_is_as_before() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    module[0].weight.requires_grad_(False)
    called: list[str] = []
    handle = module[0].register_forward_hook(lambda *_: called.append("hook"))
    values = {name: value.clone() for name, value in module.state_dict().items()}
    tensors = {name: id(p) for name, p in module.named_parameters()}
    x = torch.randn(8, 4, requires_grad=True)
    copy = x.detach().clone()
    hooks = [list(m._forward_hooks) for m in module.modules()]
    for training in (True, False):
        module.train(training)
        for phase in ("inference", "training"):
            trace(module, (x,), phase=phase)
            assert [m.training for m in module.modules()] == [training] * 4
    assert called == ["hook"] * 4  # hooks are part of the network: they run in the copy
    assert [list(m._forward_hooks) for m in module.modules()] == hooks
    assert {name: id(p) for name, p in module.named_parameters()} == tensors
    assert all(p.grad is None and p.device.type == "cpu" for p in module.parameters())
    assert [p.requires_grad for p in module.parameters()] == [False, True, True, True]
    for name, value in module.state_dict().items():
        assert torch.equal(value, values[name]), name  # running statistics are unchanged too
    assert x.grad is None and torch.equal(x, copy)
    handle.remove()


def test_a_trace_draws_no_random_numbers() -> None:
    module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
    torch.manual_seed(3)
    want = torch.rand(3)
    torch.manual_seed(3)
    trace(module, (torch.ones(4, 4),), phase="training")
    assert torch.equal(torch.rand(3), want)


FIRST = """
from simulator.networks.loading.load import load
from simulator.tracing import trace

def traced():
    loaded = load("resnet18", batch=32)
    traced = trace(loaded.module, loaded.args, loaded.kwargs)
    return traced.ops, traced.storages

assert traced() == traced()
"""


def test_the_first_trace_of_a_process_is_as_any_other() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FIRST], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
