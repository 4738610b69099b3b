"""The process that traces for the explorer: it imports torch, and leaves what it makes on disk.

Each line of its input is one `Wanted` as JSON, each line of its output one `Said`. Killing it loses
no trace that was made before.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, BinaryIO

import msgspec

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.scenario import trace_source
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.trace_families import Line


class Wanted(msgspec.Struct, frozen=True):
    """What is to be traced: one trace, or the families along a line."""

    number: int
    ask: TraceRequest
    gpu: GPU
    line: Line | None = None


class Said(msgspec.Struct, frozen=True):
    """How far a request is: under way (`traces` made so far), done, or refused with a reason."""

    number: int
    done: bool = False
    refused: str = ""
    traces: int = 0


def encoded(wanted: Wanted) -> bytes:
    """A request as its line."""
    return msgspec.json.encode(wanted) + b"\n"


def decoded(line: bytes) -> Wanted:
    """The request of a line. Lists within sizes are the tuples that they were."""
    found = msgspec.json.decode(line, type=Wanted)
    sizes = tuple((name, _tuples(value)) for name, value in found.ask.sizes)
    return msgspec.structs.replace(found, ask=replace(found.ask, sizes=sizes))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value  # pyright: ignore


class _Counted:
    """Says how many traces were made for a request."""

    def __init__(self, number: int, say: Callable[[Said], None]) -> None:
        self.number, self.say, self.traces = number, say, 0

    def one_more(self) -> None:
        self.traces += 1
        self.say(Said(self.number, traces=self.traces))


def serve(requests: BinaryIO, say: Callable[[Said], None]) -> None:
    """Answer one request after another until there are no more."""
    trace_source.keep_on_disk()
    for line in requests:
        wanted = decoded(line)
        counted = _Counted(wanted.number, say)
        try:
            trace_source.make(wanted.ask, wanted.gpu, wanted.line, counted.one_more)
        except InputError as error:
            say(Said(wanted.number, refused=str(error)))
        except Exception as error:  # the user's network may raise anything
            say(
                Said(
                    wanted.number,
                    refused=f"{wanted.ask.network} cannot be traced: "
                    f"{type(error).__name__}: {error}; expected a network that runs; "
                    "`ridgepoint trace` shows where it fails",
                )
            )
        else:
            say(Said(wanted.number, done=True))


def main() -> None:
    """Serve standard input; what a user's network prints goes to standard error."""
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(5)  # the window comes first

    def say(said: Said) -> None:
        out.write(msgspec.json.encode(said) + b"\n")

    serve(sys.stdin.buffer, say)


if __name__ == "__main__":
    main()
