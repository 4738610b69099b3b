"""Kinds of all-reduce that replace the one of a step, and the host's time for each call."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

Reduce = Callable[[torch.Tensor], object]
_BFLOAT16, _SUM = 9, 0  # from nccl.h
_UNIQUE_BYTES = 128


class _UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_byte * _UNIQUE_BYTES)]


class DirectNccl:
    """All-reduces of bfloat16 by NCCL itself, without torch's process group. Raises OSError if the
    process has no NCCL, and RuntimeError if NCCL fails."""

    def __init__(self, rank: int, ranks: int) -> None:
        try:
            self.library: Any = ctypes.CDLL("libnccl.so.2")  # loaded with torch
        except OSError:
            beside = Path(torch.__file__).parents[1] / "nvidia/nccl/lib/libnccl.so.2"
            self.library = ctypes.CDLL(str(beside))
        unique = _UniqueId()
        if rank == 0:
            self._check(self.library.ncclGetUniqueId(ctypes.byref(unique)))
        shared: list[Any] = [bytes(unique)]
        dist.broadcast_object_list(shared, 0)
        unique = _UniqueId.from_buffer_copy(shared[0])
        self.communicator = ctypes.c_void_p()
        start = self.library.ncclCommInitRank
        start.argtypes = [ctypes.c_void_p, ctypes.c_int, _UniqueId, ctypes.c_int]
        self._check(start(ctypes.byref(self.communicator), ranks, unique, rank))
        self.call = self.library.ncclAllReduce
        self.call.argtypes = [
            *[ctypes.c_void_p] * 2, ctypes.c_size_t, *[ctypes.c_int] * 2, *[ctypes.c_void_p] * 2,
        ]  # fmt: skip

    @staticmethod
    def _check(status: int) -> None:
        if status:
            raise RuntimeError(f"NCCL returned {status}, expected 0")

    def __call__(self, x: torch.Tensor) -> None:
        at, stream = x.data_ptr(), torch.cuda.current_stream().cuda_stream
        self._check(self.call(at, at, x.numel(), _BFLOAT16, _SUM, self.communicator.value, stream))


class Timed:
    """An all-reduce that records the start and the duration of each call on the host, in
    nanoseconds. With `on_gpu`, events of the GPU are recorded before and after each call."""

    def __init__(self, act: Reduce, on_gpu: bool = False) -> None:
        self.act = act
        self.on_gpu = on_gpu
        self.spans: list[tuple[int, int]] = []
        self.events: list[torch.cuda.Event] = []

    def __call__(self, x: torch.Tensor) -> None:
        if self.on_gpu:
            self._mark()
        began = time.perf_counter_ns()
        self.act(x)
        self.spans.append((began, time.perf_counter_ns() - began))
        if self.on_gpu:
            self._mark()

    def _mark(self) -> None:
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        self.events.append(event)

    def clear(self) -> None:
        self.spans.clear()
        self.events.clear()


def exchanges(rank: int, ranks: int) -> dict[str, Reduce]:
    """The kinds of all-reduce by name.

    all_reduce   torch's, over all ranks
    one_rank     torch's, over a group of this rank alone
    direct       NCCL's own call, without torch's process group (absent where it fails)
    add          an addition on this GPU
    nothing      only the hook that makes the call
    """
    groups = [dist.new_group([each]) for each in range(ranks)]
    alone = groups[rank]
    acts: dict[str, Reduce] = {
        "all_reduce": lambda x: dist.all_reduce(x),
        "one_rank": lambda x: dist.all_reduce(x, group=alone),
        "add": lambda x: x.add_(0.0),
        "nothing": lambda x: None,
    }
    try:
        acts["direct"] = DirectNccl(rank, ranks)
    except (OSError, RuntimeError, AttributeError) as error:
        print(f"NCCL cannot be called directly: {error}", flush=True)
    return acts


def spun(nanoseconds: int) -> None:
    """Keep the processor busy in the interpreter."""
    until = time.perf_counter_ns() + nanoseconds
    while time.perf_counter_ns() < until:
        pass


def gaps(rank: int) -> dict[str, Callable[[], object]]:
    """The host's work between two all-reduces by name; "last ..." only on rank 0, which therefore
    arrives last."""
    small = torch.randn(8192, device="cuda")
    a = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)

    def adds(count: int) -> None:
        for _ in range(count):
            small.add_(1.0)

    def products() -> None:
        for _ in range(8):
            a @ a  # pyright: ignore[reportUnusedExpression]

    def last(nanoseconds: int) -> None:
        if rank == 0:
            spun(nanoseconds)
        adds(4)

    return {
        "none": lambda: None,
        "spun 30 us": lambda: spun(30_000),
        "spun 100 us": lambda: spun(100_000),
        "spun 400 us": lambda: spun(400_000),
        "slept 300 us": lambda: time.sleep(300e-6),
        "adds 4": lambda: adds(4),
        "adds 16": lambda: adds(16),
        "adds 64": lambda: adds(64),
        "products 8": products,
        "last 100 us": lambda: last(100_000),
        "last 400 us": lambda: last(400_000),
    }
