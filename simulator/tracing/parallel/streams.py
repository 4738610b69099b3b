"""Fake CUDA streams and events that record which op waits for which."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import torch

from simulator.tracing.device import CUDA
from simulator.tracing.substituted import substituted


class Streams:
    """The streams of one rank, and the ops that each must wait for before its next op."""

    def __init__(self) -> None:
        self.last: dict[int, int] = {}
        self.waits: dict[int, set[int]] = {}
        self.default = Stream(self, 0)
        self.current = self.default
        self.step = 0
        self._count = 1

    def number(self) -> int:
        """The number of a new stream."""
        self._count += 1
        return self._count - 1

    def place(self, op: int, stream: int) -> tuple[int, ...]:
        """Put an op on a stream and return the ops of other streams that it waits for."""
        self.last[stream] = op
        return tuple(sorted(self.waits.pop(stream, ())))

    def wait(self, stream: int, op: int) -> None:
        """Make the next op on `stream` wait for `op`."""
        self.waits.setdefault(stream, set()).add(op)

    def last_on(self, stream: int) -> int:
        """The last op on a stream; −1 − stream is the stream's last op of the previous step."""
        return self.last.get(stream, -1 - stream)

    def forget(self) -> None:
        """Start a new step: drop recorded ops, waits and events."""
        self.step += 1
        self.last.clear()
        self.waits.clear()


class Stream:
    """The interface of torch.cuda.Stream, in terms of ops."""

    def __init__(self, streams: Streams, number: int) -> None:
        self._streams = streams
        self.number = number
        self.device = CUDA
        self.device_index = 0
        self.stream_id = self.cuda_stream = number

    def wait_stream(self, other: Stream) -> None:
        self._streams.wait(self.number, self._streams.last_on(other.number))

    def wait_event(self, event: Event) -> None:
        if event.op is None:
            return  # never recorded
        is_older = event.step != self._streams.step
        self._streams.wait(self.number, -1 - event.stream if is_older else event.op)

    def record_event(self, event: Event | None = None) -> Event:
        return (event or Event(self._streams)).record(self)

    def synchronize(self) -> None:
        """Do nothing: the host's waits are not modelled here."""

    def query(self) -> bool:
        return True

    def __enter__(self) -> Stream:
        self._before, self._streams.current = self._streams.current, self
        return self

    def __exit__(self, *_: object) -> None:
        self._streams.current = self._before


class Event:
    """The interface of torch.cuda.Event: the op that was last on a stream."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self.op: int | None = None
        self.stream = 0
        self.step = streams.step

    def record(self, stream: Stream | None = None) -> Event:
        self.stream = (stream or self._streams.current).number
        self.op = self._streams.last_on(self.stream)
        self.step = self._streams.step
        return self

    def wait(self, stream: Stream | None = None) -> None:
        (stream or self._streams.current).wait_event(self)

    def synchronize(self) -> None:
        """Do nothing: the host's waits are not modelled here."""

    def query(self) -> bool:
        return True

    def elapsed_time(self, other: Event) -> float:
        return 0.0


class _StreamContext:
    """`torch.cuda.stream(s)`, where `s` may be None."""

    def __init__(self, stream: Stream | None) -> None:
        self._stream = stream

    def __enter__(self) -> None:
        if self._stream is not None:
            self._stream.__enter__()

    def __exit__(self, *_: object) -> None:
        if self._stream is not None:
            self._stream.__exit__()


@contextmanager
def fake_streams(streams: Streams, gpus: int, local_rank: int) -> Generator[None]:
    """Replace torch.cuda's functions for streams, events and devices."""

    class StreamOfRank(Stream):
        """A new stream of this rank."""

        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__(streams, streams.number())

    class EventOfRank(Event):
        """An event of this rank."""

        def __init__(self, *_: Any, **__: Any) -> None:
            super().__init__(streams)

    def no_op(*_: Any, **__: Any) -> None:
        return None

    def set_stream(stream: Stream) -> None:
        streams.current = stream

    functions: dict[str, Any] = {
        "Stream": StreamOfRank,
        "Event": EventOfRank,
        "current_stream": lambda *_, **__: streams.current,
        "default_stream": lambda *_, **__: streams.default,
        "stream": _StreamContext,
        "set_stream": set_stream,
        "set_device": no_op,
        "device_count": lambda: gpus,
        "memory_allocated": lambda *_, **__: 0,
        "max_memory_allocated": lambda *_, **__: 0,
        "reset_peak_memory_stats": no_op,
        "manual_seed": no_op,
        "manual_seed_all": no_op,
        "_lazy_init": no_op,
        "current_device": lambda: local_rank,
        "get_rng_state": lambda *_, **__: torch.get_rng_state(),
        "set_rng_state": no_op,
    }
    current = functions["current_stream"]
    with (
        substituted(torch.cuda, **functions),
        substituted(torch.accelerator, current_stream=current, set_device_index=no_op),
        substituted(torch.Tensor, record_stream=no_op),
    ):
        yield
