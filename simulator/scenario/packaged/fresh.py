"""Fresh traces of a request, to compare with packaged families."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from simulator.errors import InputError
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import CATALOGUE
from simulator.records import Trace
from simulator.scenario.few_blocks import Tracer
from simulator.scenario.packaged.contents import line_of
from simulator.scenario.resolved import TraceRequest
from simulator.scenario.trace_module import trace_module, whole_trace


class Fresh:
    """Fresh traces of a request on a GPU, as a tracer of points; each is made once."""

    def __init__(self, request: TraceRequest, gpu: GPU, tracer: Tracer = trace_module) -> None:
        self.gpu = gpu
        self._request, self._tracer = request, tracer
        self._has_seq = line_of(request.network)[0] == "both"
        self._traces: dict[tuple[int, int], Trace] = {}
        self._settled: set[tuple[int, int]] = set()

    def __call__(self, batch: int, seq: int) -> Trace:
        """The trace at a point. Raises InputError if the network cannot be traced there."""
        if (batch, seq) not in self._traces:
            self._traces[batch, seq] = self._trace(batch, seq)
        return self._traces[batch, seq]

    def again(self, batch: int, seq: int) -> Trace:
        """The second trace at a point: the first one of a process may include work that is done
        only once."""
        self(batch, seq)
        if (batch, seq) not in self._settled:
            self._traces[batch, seq] = self._trace(batch, seq)
            self._settled.add((batch, seq))
        return self._traces[batch, seq]

    def equals(self, ours: Trace, batch: int, seq: int) -> bool:
        """Whether a trace equals the fresh one at a point."""
        return any(
            replace(ours, gpu=theirs.gpu) == theirs
            for theirs in (trace(batch, seq) for trace in (self, self.again))
        )

    def error(self, batch: int, seq: int) -> str | None:
        """The error of tracing at a point, or None."""
        try:
            self(batch, seq)
        except InputError as error:
            return str(error)
        return None

    def _trace(self, batch: int, seq: int) -> Trace:
        at = replace(self._request, batch=batch, seq=seq if self._has_seq else None)
        return self._tracer(at, self.gpu)[0]


def calls_attention(request: TraceRequest, gpu: GPU) -> bool:
    """Whether a network selects a kernel of attention anywhere."""
    from simulator.tracing.semantics import attention  # imports torch
    from simulator.tracing.substituted import substituted

    calls: list[Any] = []

    def choose(call: Any) -> str:
        calls.append(call)
        return usual(call)

    usual = attention.choose
    entry = CATALOGUE[request.network]
    with substituted(attention, choose=choose):
        whole_trace(replace(request, batch=request.batch or 2, seq=request.seq or entry.seq), gpu)
    return bool(calls)
