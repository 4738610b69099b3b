"""CUDA C++ compiled at run time: NVRTC generates the machine code, the driver loads and launches
it.

Both libraries come with any CUDA build of PyTorch. They are called directly, because
`torch.cuda._compile_kernel` requires an installed CUDA toolkit (for include files that no kernel
here needs) and converts every argument again at every launch, which costs more than the launch.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from simulator.errors import InputError

MAX_GRID = 2**31 - 1  # gridDim.x of every GPU since compute capability 3.0
MAX_THREADS = 1024  # threads of one block
Argument = torch.Tensor | int
Launch = Callable[[], tuple[torch.Tensor, ...]]


class CudaError(RuntimeError):
    """Raised if the driver or NVRTC refuses a call: one of our kernels is wrong, or the GPU is
    lost."""


@functools.cache
def multiprocessors() -> int:
    """The number of streaming multiprocessors (SMs) of the current GPU."""
    cuda: Any = torch.cuda  # its properties have no types
    return cuda.get_device_properties(cuda.current_device()).multi_processor_count


@functools.cache
def _driver() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


@functools.cache
def _nvrtc() -> ctypes.CDLL:
    """PyTorch's own NVRTC: already loaded, on the loader's path, or in a wheel next to torch."""
    if torch.version.cuda is None:
        raise InputError(
            f"this PyTorch ({torch.__version__}) has no CUDA, so it cannot compile a kernel: "
            "install a CUDA build of PyTorch"
        )
    name = f"libnvrtc.so.{torch.version.cuda.split('.')[0]}"
    wheels = Path(torch.__file__).parents[1] / "nvidia"
    for candidate in (name, *map(str, sorted(wheels.glob(f"*/lib/{name}")))):
        try:
            return ctypes.CDLL(candidate)
        except OSError:
            continue
    raise InputError(
        f"neither the loader nor {wheels} has {name}: add its folder to LD_LIBRARY_PATH"
    )


def architecture() -> str:
    """NVRTC's target for the current GPU; for Hopper the architecture-specific one, which `wgmma`
    needs."""
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}{'a' if (major, minor) == (9, 0) else ''}"


@functools.cache
def _machine_code(source: str, options: tuple[str, ...]) -> bytes:
    """The cubin of a source for one architecture. Raises an error with the compiler's log if the
    compiler refuses the source."""
    nvrtc, program = _nvrtc(), ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program), source.encode(), b"kernel.cu", 0, None, None
    )
    if status:
        raise CudaError(f"NVRTC could not start: status {status}")
    try:
        flags = (ctypes.c_char_p * len(options))(*(each.encode() for each in options))
        size = ctypes.c_size_t()
        if nvrtc.nvrtcCompileProgram(program, len(options), flags):
            nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
            log = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetProgramLog(program, log)
            raise CudaError(f"NVRTC refused a kernel ({' '.join(options)}):\n{log.value.decode()}")
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        code = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, code)
        return code.raw
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def with_macros(source: str, defines: Mapping[str, int | str]) -> str:
    """The source with its macros in the text, because their values contain quotes and commas."""
    return "".join(f"#define {key} {value}\n" for key, value in defines.items()) + source


def _must(status: int, doing: str) -> None:
    if status:
        text = ctypes.c_char_p()
        _driver().cuGetErrorString(status, ctypes.byref(text))
        raise CudaError(f"{doing}: {(text.value or b'unknown error').decode()} ({status})")


class Kernel:
    """An `extern "C"` entry point on the current GPU, with `defines` set as macros."""

    def __init__(self, source: str, name: str, **defines: int | str) -> None:
        torch.cuda.init()
        torch.cuda.current_stream()  # makes the device's context the current one
        flags = (f"--gpu-architecture={architecture()}", "--std=c++17")
        self.name, self._module, self._function = name, ctypes.c_void_p(), ctypes.c_void_p()
        code = _machine_code(with_macros(source, defines), flags)
        _must(_driver().cuModuleLoadData(ctypes.byref(self._module), code), f"loading {name}")
        status = _driver().cuModuleGetFunction(
            ctypes.byref(self._function), self._module, name.encode()
        )
        _must(status, f"looking for {name}")

    def prepare(self, blocks: int, threads: int, *arguments: Argument) -> Launch:
        """A call that launches the kernel on the stream current at the time of the call, also
        during graph capture, and returns the tensors among its arguments. Integers are passed as C
        `int`."""
        if not (0 < blocks <= MAX_GRID and 0 < threads <= MAX_THREADS):
            raise InputError(
                f"{self.name}: a grid of {blocks} blocks of {threads} threads; "
                f"expected 1 to {MAX_GRID} blocks of 1 to {MAX_THREADS}"
            )
        values = [
            ctypes.c_void_p(each.data_ptr())
            if isinstance(each, torch.Tensor)
            else ctypes.c_int(each)
            for each in arguments
        ]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        tensors = tuple(each for each in arguments if isinstance(each, torch.Tensor))
        launch, function, owner = _driver().cuLaunchKernel, self._function, (self, values)
        device = torch.cuda.current_device()
        stream_of: Any = torch._C._cuda_getCurrentRawStream  # pyright: ignore[reportPrivateUsage]

        def call() -> tuple[torch.Tensor, ...]:
            stream = ctypes.c_void_p(stream_of(device))
            status = launch(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, None)
            if status:
                _must(status, f"launching {owner[0].name}")
            return tensors

        return call


@functools.cache
def kernel(source: str, name: str, **defines: int | str) -> Kernel:
    """A compiled kernel, cached by source and macros."""
    return Kernel(source, name, **defines)
