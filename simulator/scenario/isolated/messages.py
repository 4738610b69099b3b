"""Messages to and from the process that runs a user's code.

It reads `Start` and `Job`s, pickled, from a process that it trusts. It writes data alone: each
message is its length in 8 bytes, then msgpack.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from simulator.hardware.gpu import GPU
from simulator.networks.loading.loaded import Facts
from simulator.scenario.isolated.limits import Limits
from simulator.scenario.resolved import TraceRequest

LENGTH_BYTES = 8
MOST_BYTES = 2**29
"""The longest message, in bytes."""


@dataclass(frozen=True)
class Start:
    """The limits, and the file for the stack of a crash."""

    limits: Limits
    crash_file: str


@dataclass(frozen=True)
class Job:
    """A request to trace, or to load the network for its facts alone; `limit_s` as in `Watch`."""

    request: TraceRequest
    gpu: GPU
    facts_only: bool
    limit_s: float | None


class Progress(msgspec.Struct, frozen=True, tag=True):
    """The progress of a long trace."""

    text: str


class Printed(msgspec.Struct, frozen=True, tag=True):
    """Output of the user's code."""

    text: str


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The text of an InputError."""

    text: str


class Answered(msgspec.Struct, frozen=True, tag=True):
    """The facts of a network and its trace, as in a file; b"" for the facts alone."""

    facts: Facts
    trace: bytes


Message = Progress | Printed | Refused | Answered


def encoded(message: Message) -> bytes:
    """Encode a message, with its length in front."""
    data = msgspec.msgpack.encode(message)
    return len(data).to_bytes(LENGTH_BYTES) + data


def decoded(data: bytes) -> Message:
    """Decode a message without its length. Raises msgspec.MsgspecError if it is invalid."""
    return msgspec.msgpack.decode(data, type=Message)
