"""Make `meta` tensors and torch.cuda answer as on the GPU that is predicted.

Tensors are on `meta`, but `x.device`, `x.is_cuda`, the name of the GPU and so on give the GPU's
answers, so that a network takes the same path as on the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import torch
from torch.overrides import TorchFunctionMode

from simulator.hardware.gpu import GPU
from simulator.networks.known_values import remember
from simulator.tracing.host_counts import NotCounting
from simulator.tracing.substituted import substituted

if TYPE_CHECKING:
    from simulator.tracing.recorder import Recorder

META = torch.device("meta")
CUDA = torch.device("cuda", 0)


class OnGpu(TorchFunctionMode):
    """Returns `cuda:0` for tensors on `meta`, and maps `cuda` arguments to `meta`. Data that the
    host writes to the GPU is recorded as on a GPU: as a copy, or as a scalar."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self.recorder = recorder

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        getter = _GETTERS.get(func)
        if getter is not None:
            return getter(args[0])
        if func is _FORMAT and args[0].dim() == 0 and _on_gpu(args[0]):
            return format(args[0].detach().item(), args[1])
        kwargs = kwargs or {}
        if "device" in kwargs:
            kwargs = {**kwargs, "device": _as_meta(kwargs["device"])}
        if func is _TO and len(args) > 1:
            args = (args[0], _as_meta(args[1]), *args[2:])
        if not self.recorder.recording:
            return func(*args, **kwargs)
        if func is _GETITEM or func is _SETITEM:
            result = func(*self._with_host_data(func, list(args)), **kwargs)
        else:
            result = func(*args, **kwargs)
        if not isinstance(result, torch.Tensor) or result.numel() == 1:
            with NotCounting(self.recorder):
                remember(func, args, kwargs, result, self.recorder.paused)
        if func in _FROM_DATA and _on_gpu(result) and not _has_tensor_data(args, kwargs):
            self._upload(result)
        return result

    def _with_host_data(self, func: Any, args: list[Any]) -> list[Any]:
        """The arguments; numbers that index or fill a tensor become tensors on the host."""
        if func is _GETITEM and _is_index_list(args[1]) and _on_gpu(args[0]):
            args[1] = self._on_host(args[1])
        if func is _SETITEM and _is_masked_fill(*args):
            args[2] = self._on_host(args[2], args[0].dtype)
        return args

    def _on_host(self, data: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
        with self.recorder.paused():
            return torch.tensor(data, dtype=dtype, device="cpu")

    def _upload(self, tensor: torch.Tensor) -> None:
        """Record a tensor that is created on the host and copied, while the host waits
        (`internal_new_from_data` of torch/csrc/utils/tensor_new.cpp)."""
        with self.recorder.paused():
            source = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
        self.recorder.emit("aten._to_copy.default", {"self": source}, {}, tensor)


def _is_index_list(index: Any) -> bool:
    """Whether an index is a list of numbers, which torch turns into a tensor on the host."""
    numbers = isinstance(index, list) and all(isinstance(i, int) for i in cast("list[Any]", index))
    return bool(numbers and index)


def _is_masked_fill(x: torch.Tensor, index: Any, value: Any) -> bool:
    """Whether a call is `x[mask] = number`."""
    masked = isinstance(index, torch.Tensor) and index.dtype in (torch.bool, torch.uint8)
    return masked and isinstance(value, int | float) and _on_gpu(x)


def _has_tensor_data(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether the data passed to `torch.tensor` or a similar function is already a tensor."""
    return any(isinstance(v, torch.Tensor) for v in (*args[-1:], kwargs.get("data")))


class OnRank(OnGpu):
    """`OnGpu` for one rank: tensors are on the GPU of its local rank."""

    def __init__(self, recorder: Recorder, local_rank: int) -> None:
        super().__init__(recorder)
        self._device = torch.device("cuda", local_rank)

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        answer = super().__torch_function__(func, types, args, kwargs)
        return self._device if answer is CUDA else answer


def _on_gpu(x: torch.Tensor) -> bool:
    return x.device.type == "meta"


_TENSOR: Any = torch.Tensor
_FORMAT, _TO = _TENSOR.__format__, _TENSOR.to
_GETITEM, _SETITEM = _TENSOR.__getitem__, _TENSOR.__setitem__
_FROM_DATA: tuple[Any, ...] = (torch.tensor, torch.as_tensor, _TENSOR.new_tensor)
_GETTERS: dict[Any, Callable[[torch.Tensor], Any]] = {
    _TENSOR.device.__get__: lambda x: CUDA if _on_gpu(x) else x.device,
    _TENSOR.is_cuda.__get__: _on_gpu,
    _TENSOR.is_meta.__get__: lambda x: False,
    _TENSOR.get_device: lambda x: 0 if _on_gpu(x) else -1,
    _TENSOR.cuda: lambda x: x.to(META),
}
"""Answers to queries of a tensor, by the function that torch passes (getters compare by value)."""


def _as_meta(device: Any) -> Any:
    if isinstance(device, str) and device.split(":")[0] == "cuda":
        return META
    if isinstance(device, torch.device) and device.type == "cuda":
        return META
    if isinstance(device, int) and not isinstance(device, bool):
        return META  # the ordinal of a GPU
    return device


@contextmanager
def fake_cuda(gpu: GPU) -> Generator[None]:
    """Make torch.cuda answer from the data sheet of this GPU."""
    capability = gpu.compute_capability or (9, 0)
    properties = SimpleNamespace(
        name=gpu.name,
        major=capability[0],
        minor=capability[1],
        total_memory=gpu.memory_bytes,
        multi_processor_count=gpu.units or 1,
        L2_cache_size=gpu.l2_bytes or 0,
        warp_size=32,
        max_threads_per_multi_processor=2048,
        shared_memory_per_block=49152,
        gcnArchName="",
    )

    def answer(value: object) -> Callable[..., object]:
        return lambda *args, **kwargs: value

    def bf16(including_emulation: bool = True) -> bool:
        """Older GPUs emulate bf16: torch tests whether a bf16 tensor can be created."""
        return including_emulation or capability[0] >= 8

    answers = {
        "is_available": True,
        "is_initialized": True,
        "device_count": 1,
        "current_device": 0,
        "get_device_name": gpu.name,
        "get_device_capability": capability,
        "get_device_properties": properties,
        "synchronize": None,
        "empty_cache": None,
    }
    functions = {name: answer(value) for name, value in answers.items()}
    amp: Any = import_module("torch.cuda.amp.common")
    with (
        substituted(torch.cuda, **functions, is_bf16_supported=bf16),
        # otherwise torch.autocast("cuda") disables itself
        substituted(amp, amp_definitely_not_available=answer(False)),
    ):
        yield
