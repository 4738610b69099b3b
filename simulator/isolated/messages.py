"""Messages to and from the process that runs a user's code.

It reads `Start` and `Job`s, pickled, from a process that it trusts. It writes only data: each
message is its length in 8 bytes, then msgpack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from simulator.errors import InputError
from simulator.isolated.limits import Limits
from simulator.isolated.rank_ops import RankOp
from simulator.networks.loading.loaded import Facts
from simulator.records import Trace

LENGTH_BYTES = 8
MOST_BYTES = 2**29
"""The longest message, in bytes."""
Work = Callable[[], tuple[Trace, Facts] | Facts]
"""Traces a network, or only loads it for its facts. It is sent to the child pickled, by
reference."""


@dataclass(frozen=True)
class Start:
    """The limits, and the file for the stack trace of a crash."""

    limits: Limits
    crash_file: str


@dataclass(frozen=True)
class Job:
    """The work of one request; `limit_s` as in `Watch`, None for no limit."""

    work: Work
    limit_s: float | None


class Progress(msgspec.Struct, frozen=True, tag=True):
    """The progress of a long trace."""

    text: str


class Printed(msgspec.Struct, frozen=True, tag=True):
    """Output of the user's code."""

    text: str


class Refused(msgspec.Struct, frozen=True, tag=True):
    """The text of an InputError. With `ends`, the process ends, and another one takes the next
    job."""

    text: str
    ends: bool = False


class Answered(msgspec.Struct, frozen=True, tag=True):
    """The facts of a network, and its trace as the bytes of a trace file (b"" if only the facts
    were requested). `rank_ops` are the additional fields of ops on several GPUs, `read_files` the
    data files that the user's code has read since the last trace."""

    facts: Facts
    trace: bytes
    rank_ops: list[RankOp] = []
    read_files: list[str] = []


Message = Progress | Printed | Refused | Answered


def encoded(message: Message) -> bytes:
    """Encode a message, preceded by its length. Raises InputError if it is too long."""
    data = msgspec.msgpack.encode(message)
    if len(data) > MOST_BYTES:
        raise InputError(
            f"the trace has {len(data):,} bytes: expected at most {MOST_BYTES:,}, the limit "
            "of a separate process; give fewer layers, or run it with --no-sandbox"
        )
    return len(data).to_bytes(LENGTH_BYTES) + data


def decoded(data: bytes) -> Message:
    """Decode a message without its length. Raises msgspec.MsgspecError if it is invalid."""
    return msgspec.msgpack.decode(data, type=Message)
