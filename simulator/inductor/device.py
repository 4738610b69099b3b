"""A fake GPU for Inductor, which writes source code for it, compiles none of it and runs no kernel.

Use it in a separate process, because the patches are not undone.
"""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import torch

from simulator.hardware.gpu import GPU
from simulator.inductor.refusal import RefusalError

FOREVER = ExitStack()
"""Contexts that stay entered for the rest of the process."""
_LIBRARIES: list[torch.library.Library] = []  # a kernel is replaced while its library exists
_CUDA = "12.8"  # the toolkit version of a GPU build; no decision depends on it
_DTYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}


def fake_gpu(gpu: GPU) -> None:
    """Patch torch and Triton so that Inductor compiles for this GPU.

    Raises RefusalError if the GPU is not supported by Inductor's CUDA backend, or Triton is
    missing.
    """
    if gpu.vendor != "NVIDIA" or gpu.compute_capability is None:
        raise RefusalError(f"it supports CUDA GPUs, and {gpu.name} is not one")
    if gpu.compute_capability < (7, 0):
        raise RefusalError(
            f"Triton generates no code for {gpu.name} (compute capability below 7.0)"
        )
    _constants_on_cpu()
    properties = _properties(gpu)
    # torch.cuda.is_available is not patched: if it is True, torch saves the random number state of
    # the GPU, which needs a GPU
    for name, value in {
        "get_device_properties": properties,
        "get_device_capability": gpu.compute_capability,
        "get_device_name": properties.name,
        "device_count": 1,
        "current_device": 0,
        "synchronize": None,
        "is_bf16_supported": gpu.compute_capability >= (8, 0),
    }.items():
        _patch(torch.cuda, name, value)
    amp: Any = import_module("torch.cuda.amp.common")
    _patch(amp, "amp_definitely_not_available", False)
    torch.version.cuda = _CUDA  # pyright: ignore[reportAttributeAccessIssue]
    _triton(gpu)
    interface: Any = import_module("torch._dynamo.device_interface").CudaInterface
    for name, value in {
        "is_available": True,
        "device_count": 1,
        "current_device": 0,
        "get_raw_stream": 0,
        "set_device": None,
        "exchange_device": 0,
        "maybe_exchange_device": 0,
        "synchronize": None,
        "get_device_properties": properties,
    }.items():
        setattr(interface, name, staticmethod(_always(value)))
    interface.Worker.get_device_properties = staticmethod(_always(properties))
    inductor: Any = import_module("torch._inductor.utils")
    inductor.get_gpu_dram_gbps = _always(gpu.bandwidth_bytes_per_s / 1e9)

    def tflops(dtype: torch.dtype) -> float:
        return _tflops(gpu, str(dtype).removeprefix("torch."))

    inductor.get_device_tflops = tflops


def _constants_on_cpu() -> None:
    """Let small constants that a network moves to the GPU, such as `torch.tensor(0.5, device=...)`,
    stay on the CPU: AOTAutograd computes with their values while it traces."""
    library: Any = torch.library.Library("prims", "IMPL")
    _LIBRARIES.append(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the kernel is replaced on purpose
        library.impl("device_put", _copy, "BackendSelect", allow_override=True)


def _copy(tensor: torch.Tensor, device: object, non_blocking: bool = False) -> torch.Tensor:
    return tensor.clone()


def _always(value: object) -> Any:
    def returns(*args: object, **kwargs: object) -> object:
        return value

    return returns


def _patch(owner: Any, name: str, value: object) -> None:
    setattr(owner, name, _always(value))


def _properties(gpu: GPU) -> Any:
    major, minor = gpu.compute_capability or (0, 0)
    return SimpleNamespace(
        name=f"NVIDIA {gpu.name}",
        major=major,
        minor=minor,
        total_memory=gpu.memory_bytes,
        multi_processor_count=gpu.units or 1,
        L2_cache_size=gpu.l2_bytes or 0,
        warp_size=32,
        max_threads_per_multi_processor=_threads(major, minor),
        max_threads_per_block=1024,
        regs_per_multiprocessor=65536,
        shared_memory_per_block=49152,
        shared_memory_per_block_optin=_shared(major, minor),
        shared_memory_per_multiprocessor=_shared(major, minor) + 1024,
        is_integrated=False,
        is_multi_gpu_board=False,
        gcnArchName="",
        uuid="0",
    )


def _threads(major: int, minor: int) -> int:
    """Threads of a streaming multiprocessor (CUDA programming guide, table of capabilities)."""
    if (major, minor) == (7, 5):
        return 1024
    return 1536 if (major, minor) in ((8, 6), (8, 9), (12, 0)) else 2048


def _shared(major: int, minor: int) -> int:
    """Bytes of shared memory that a block may request (the same table)."""
    by_capability = {(7, 0): 98304, (7, 5): 65536, (8, 0): 166912, (9, 0): 232448, (10, 0): 232448}
    return by_capability.get((major, minor), 101376)


def _tflops(gpu: GPU, dtype: str) -> float:
    """The peak in TFLOP/s that torch computes. For a GPU that is not in torch's table by its full
    name, it is a thousandth of the true peak, because torch passes MHz to Triton, which expects kHz
    (`max_clock_rate` of torch/_utils_internal.py and `get_max_tensorcore_tflops` of
    triton/testing.py). As a consequence, Inductor for an H200 pads the product of 1024 × 8192 and
    8192 × 10."""
    name = _DTYPES.get(dtype, dtype)
    engine = "vector" if name in ("fp32", "fp64") else "tensor"
    table: Any = import_module("torch._inductor.analysis.device_info")
    is_in_table = table.lookup_device_info(f"NVIDIA {gpu.name}") is not None
    peak = gpu.peak(engine, name) or gpu.peak("vector", "fp32") or 0.0
    return peak / (1e12 if is_in_table else 1e15)


def _triton(gpu: GPU) -> None:
    try:  # an optional package
        import triton  # pyright: ignore[reportMissingTypeStubs]
        from triton.backends.compiler import GPUTarget  # pyright: ignore[reportMissingTypeStubs]
    except ImportError as error:
        raise RefusalError(f"Triton is not installed ({error}); `pip install triton`") from error
    major, minor = gpu.compute_capability or (0, 0)
    target = GPUTarget("cuda", major * 10 + minor, 32)
    facts = {
        "max_shared_mem": _shared(major, minor),
        "multiprocessor_count": gpu.units or 1,
        "warpSize": 32,
    }

    class Driver:
        """A driver of Triton that names the target and has no GPU."""

        utils = SimpleNamespace(get_device_properties=_always(facts))
        get_current_target = staticmethod(_always(target))
        get_current_device = staticmethod(_always(0))
        get_current_stream = staticmethod(_always(0))
        get_device_properties = staticmethod(_always(facts))
        get_device_interface = staticmethod(lambda: torch.cuda)
        is_active = staticmethod(_always(True))

    triton.runtime.driver.set_active(Driver())  # pyright: ignore
    cache: Any = import_module("torch._inductor.codecache")
    cache.triton_key = _always("")  # would hash Triton's 500 MB for a cache that is off
    yes = _always(True)
    for module in ("torch.utils._triton", "torch._inductor.utils", "torch._inductor.scheduler"):
        owner: Any = import_module(module)
        for name in ("has_triton", "has_triton_package"):
            if hasattr(owner, name):
                setattr(owner, name, yes)
