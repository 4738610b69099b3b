"""The process that traces networks for the explorer; it imports torch and writes traces to disk.

Each line of its input is one `TraceJob` as JSON, each line of its output one `Progress`. Finished
traces survive if the process is killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

import msgspec
from msgspec.structs import replace

from simulator.caches.frames import with_room
from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.isolated import ISOLATION
from simulator.scenario import trace_source
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.traces.families import Line


class TraceJob(msgspec.Struct, frozen=True):
    """A request for one trace, or for the trace families along a line."""

    number: int
    request: TraceRequest
    gpu: GPU
    line: Line | None = None


class Progress(msgspec.Struct, frozen=True):
    """The progress of a job: running (`traces` so far), done, or refused with a reason."""

    number: int
    done: bool = False
    refused: str = ""
    traces: int = 0


def encode(job: TraceJob) -> bytes:
    """Encode a job as one line."""
    return msgspec.json.encode(job) + b"\n"


def decode(line: bytes) -> TraceJob:
    """Decode a line. JSON lists inside sizes become tuples again."""
    job = msgspec.json.decode(line, type=TraceJob)
    sizes = tuple((name, _tuples(value)) for name, value in job.request.sizes)
    return replace(job, request=replace(job.request, sizes=sizes))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value  # pyright: ignore


class _TraceCounter:
    """Counts the traces of a job and reports the count."""

    def __init__(self, number: int, report: Callable[[Progress], None]) -> None:
        self.number, self.report, self.traces = number, report, 0

    def count(self) -> None:
        self.traces += 1
        self.report(Progress(self.number, traces=self.traces))


def serve(requests: BinaryIO, report: Callable[[Progress], None]) -> None:
    """Run one job after another until the input ends."""
    trace_source.keep_on_disk()
    for line in requests:
        job = decode(line)
        counter = _TraceCounter(job.number, report)
        try:
            trace_source.make(job.request, job.gpu, job.line, counter.count)
        except InputError as error:
            report(Progress(job.number, refused=str(error)))
        except Exception as error:  # the user's network may raise anything
            report(
                Progress(
                    job.number,
                    refused=f"{job.request.network} cannot be traced: "
                    f"{type(error).__name__}: {error}; expected a network that runs; "
                    "run `ridgepoint trace` to see where it fails",
                )
            )
        else:
            report(Progress(job.number, done=True))


def main() -> None:
    """Serve standard input. The code of users' networks runs in a separate process, whose output
    goes to standard error."""
    ISOLATION.begin()
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    if hasattr(os, "nice"):
        os.nice(5)  # the window has priority

    def report(progress: Progress) -> None:
        out.write(msgspec.json.encode(progress) + b"\n")

    with_room(lambda: serve(sys.stdin.buffer, report))


if __name__ == "__main__":
    main()
