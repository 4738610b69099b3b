"""The trace of a deep network of the catalogue from that of a few of its equal blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from simulator.blocks.growth import Growth, growth
from simulator.blocks.runs import LEAST, UnequalBlocksError, path_of_blocks
from simulator.caches.lru import LRUCache
from simulator.hardware.gpu import GPU
from simulator.networks.catalogue import depth
from simulator.networks.loaded import Facts
from simulator.records import Trace
from simulator.scenario.gpu_class import seen
from simulator.scenario.resolved import TraceRequest

Tracer = Callable[[TraceRequest, GPU], tuple[Trace, Facts]]

_SHALLOW = 2 * LEAST + 1
"""Blocks up to which tracing all takes no longer than tracing a few twice."""
_DEEPEST = 1024
_GROWTHS: LRUCache[Growth | None] = LRUCache(64)
_LAST: LRUCache[tuple[Trace, Facts]] = LRUCache(1)


def trace_of_few_blocks(
    request: TraceRequest, gpu: GPU, tracer: Tracer
) -> tuple[Trace, Facts] | None:
    """What `tracer` gives for the request, of whose blocks it traces a few; None if the network is
    shallow, its blocks differ, or the request names blocks or sizes of their data."""
    layers = depth(request.network, dict(request.sizes))
    if layers is None or not _SHALLOW < layers <= _DEEPEST:
        return None
    if request.frozen or request.module_dtypes or request.data_sizes or request.checkpoint:
        return None
    request = _with_layers(request, LEAST)
    card = seen(request.network, gpu)
    each = _GROWTHS.get(
        (replace(request, batch=None, seq=None), card), lambda: _growth(request, gpu, tracer)
    )
    if each is None:
        return None
    few, facts = _LAST.get((request, card), lambda: tracer(request, gpu))
    try:
        return each.grown(few, layers), facts
    except UnequalBlocksError:
        return None


def _growth(few: TraceRequest, gpu: GPU, tracer: Tracer) -> Growth | None:
    """What one more block adds. A process does some work once, and the first trace counts it: two
    attempts."""
    for _ in range(2):
        more, _ = tracer(_with_layers(few, LEAST + 1), gpu)
        trace, facts = tracer(few, gpu)
        try:
            each = growth(trace, more, path_of_blocks(trace))
        except UnequalBlocksError:
            continue
        _LAST.get((few, seen(few.network, gpu)), lambda: (trace, facts))  # noqa: B023
        return each
    return None


def _with_layers(request: TraceRequest, layers: int) -> TraceRequest:
    sizes = {**dict(request.sizes), "layers": layers}
    return replace(request, sizes=tuple(sorted(sizes.items())))
