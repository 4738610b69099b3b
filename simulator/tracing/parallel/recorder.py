"""A recorder of one rank, with streams and collectives."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import msgspec
import torch
import torch.distributed as dist
from torch._C._distributed_c10d import _create_work_from_future  # pyright: ignore
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd import _get_sequence_nr as next_sequence  # pyright: ignore
from torch.distributed import distributed_c10d
from torch.utils._pytree import tree_leaves

from simulator.tracing.call_arguments import by_name
from simulator.tracing.parallel.communication import collective, is_collective, runs_async
from simulator.tracing.parallel.streams import Streams
from simulator.tracing.python_code.user_code import is_user_code
from simulator.tracing.recorder import Recorder
from simulator.tracing.substituted import substituted


class RankRecorder(Recorder):
    """Records one rank: each op with its stream, each collective with its group and bytes.

    An op waits for a collective on another stream if it touches memory that the collective reads or
    writes. The program waits too, through a `Work` or, as in DDP, in C++ code that is not observed.
    """

    def __init__(self, streams: Streams, rank: int) -> None:
        super().__init__({})
        self.streams = streams
        self.rank = rank
        self.batch: int | None = None
        self.backward_depth = 0
        self._stream: int | None = None  # stream of the collective being recorded
        self._nccl: dict[tuple[int, ...], int] = {}
        self._wrapped = 0
        self._waited: dict[int, set[int]] = {}  # ops that each stream has waited for
        self._pending: dict[int, int] = {}  # the collective that last touched a storage

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        was_busy, self.busy = self.busy, True
        try:
            if FakeTensor in types:  # DTensor computes shapes
                return func(*args, **(kwargs or {}))
            if any(issubclass(t, torch.Tensor) and t not in _PLAIN for t in types):
                self._wrapped += _subclasses(args, kwargs)
                return NotImplemented  # a DTensor calls ops on its local tensor
            if not is_collective(func):
                return super().__torch_dispatch__(func, types, args, kwargs)
            kwargs = kwargs or {}
            with torch._C.DisableTorchFunction():
                result = _with_future(func(*args, **kwargs))
                plain = [a for a in tree_leaves((args, kwargs)) if isinstance(a, torch.Tensor)]
                if not any(t.device.type == "cpu" for t in plain):  # on the CPU: sizes and objects
                    self._communicate(func, args, kwargs, result)
            return result
        finally:
            self.busy = was_busy

    def start(self) -> None:
        """Reset the counts: the work so far belongs to no step."""
        self.phase = "forward"
        self._counted = self._counts()
        self._next_sequence = next_sequence()

    @contextmanager
    def numbered_batches(self) -> Generator[None]:
        """Number the batches of sends and receives, each of which NCCL runs as one kernel."""
        real = distributed_c10d.batch_isend_irecv
        count = 0

        def batch(operations: list[Any]) -> list[Any]:
            nonlocal count
            count += 1
            self.batch = count
            try:
                return real(operations)
            finally:
                self.batch = None

        with (
            substituted(dist, batch_isend_irecv=batch),
            substituted(distributed_c10d, batch_isend_irecv=batch),
        ):
            yield

    @contextmanager
    def resized_storages(self) -> Generator[None]:
        """Follow the storages whose memory the step allocates and frees."""
        real = torch.UntypedStorage.resize_

        def resize(storage: torch.UntypedStorage, nbytes: int) -> Any:
            result = real(storage, nbytes)
            if self.recording:
                with self.paused():
                    self.storages.resized(storage)
            return result

        with substituted(torch.UntypedStorage, resize_=resize):
            yield

    def _communicate(
        self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
    ) -> None:
        communication = collective(func, args, kwargs, result, self.rank, self.batch, _line())
        here = len(self.ops)
        if communication.batch is not None or runs_async(func, args, kwargs):
            is_pair = communication.kind in ("send", "recv") and communication.batch is None
            ranks = sorted(communication.ranks)
            key = tuple(ranks) if is_pair else (-1, *ranks)
            if key not in self._nccl:
                self._nccl[key] = self.streams.number()
            self._stream = self._nccl[key]
            self.streams.wait(self._stream, self.streams.last_on(self.streams.current.number))
        tensors, names, plain = by_name(func, args, kwargs)
        nested = [t for t in tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
        if len(nested) != len(tensors):  # lists of lists, as in allgather_
            tensors, names = nested, ("tensors",) * len(nested)
        plain = {k: v for k, v in plain.items() if isinstance(v, bool | int | list)}
        outputs = [t for t in tree_leaves(result) if isinstance(t, torch.Tensor)]
        name = str(func)
        self._record(name, tensors, names, plain, outputs)
        self.ops[here] = msgspec.structs.replace(self.ops[here], collective=communication)
        for storage in self.ops[here].storages:
            self._pending[storage] = here
        self._stream = None

    def _record(
        self,
        name: str,
        inputs: list[torch.Tensor],
        names: tuple[str, ...],
        args: dict[str, Any],
        result: Any,
    ) -> None:
        super()._record(name, inputs, names, args, result)
        here = len(self.ops) - 1
        op = self.ops[here]
        if op.name.startswith("fsdp."):
            self._wrapped += _PACKED * len(op.inputs)
        elif self._wrapped and not op.name.partition(".")[2].partition(".")[0].endswith("_"):
            self._wrapped += _CREATED * len(op.outputs)
        stream = self.streams.current.number if self._stream is None else self._stream
        waited = set(self.streams.place(here, stream))
        already_waited = self._waited.setdefault(stream, set())
        for storage in op.storages:
            pending = self._pending.get(storage)
            if pending is not None and self.ops[pending].stream != stream:
                waited.add(pending)
        after = tuple(
            sorted(
                i
                for i in waited - already_waited
                if (-1 - i if i < 0 else self.ops[i].stream) != stream
            )
        )
        already_waited.update(after)
        self.ops[here] = msgspec.structs.replace(
            op, stream=stream, after=after, wrapped=self._wrapped
        )
        self._wrapped = 0


_PACKED, _CREATED = 2, 3
"""The work on a tensor that FSDP2 packs, and on a DTensor that a call returns, relative to the work
on a DTensor argument."""


def _subclasses(args: tuple[Any, ...], kwargs: dict[str, Any] | None) -> int:
    """The number of DTensors and other tensor subclasses among the arguments."""
    leaves = tree_leaves((args, kwargs))
    return sum(isinstance(a, torch.Tensor) and type(a) not in _PLAIN for a in leaves)


_PLAIN = {torch.Tensor, torch.nn.Parameter}


def _line() -> str:
    """The innermost line of user code that runs."""
    frame = sys._getframe(2)
    while frame is not None:
        if is_user_code(frame.f_code) and "typing_extensions" not in frame.f_code.co_filename:
            name = frame.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
            return f"{name}, line {frame.f_lineno}"
        frame = frame.f_back
    return ""


def _with_future(result: Any) -> Any:
    """The result with a `Work` whose future holds its tensors, as DDP expects."""
    if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], list)):
        return result
    tensors = [t for t in tree_leaves(result[0]) if isinstance(t, torch.Tensor)]
    future: torch.futures.Future[list[torch.Tensor]] = torch.futures.Future()
    future.set_result(tensors)
    return result[0], _create_work_from_future(future).boxed()
