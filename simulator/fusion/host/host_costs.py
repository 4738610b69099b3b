"""The host's work to run a compiled module: guards, the generated wrapper, and launches.

Neither the module's Python nor the autograd nodes of its ops run; the whole backward pass is one
node. A library call goes through the dispatcher once, from the wrapper, after its result is
allocated.

If the graph breaks, each graph adds a call, checks of its inputs and weights, and an autograd node;
code between graphs costs as much as in eager mode.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simulator.fusion.graphs import Graph, Graphs, graphs
from simulator.fusion.host.compiled_host import HostCosts, compiled_host
from simulator.hardware.host import Host
from simulator.hardware.host_counts import coldness, tail_s
from simulator.hardware.workspace_config import workspace_parsing_s
from simulator.records import Phase, Trace
from simulator.schedule.launch_plan import Floats, LaunchPlan
from simulator.schedule.timeline import Launches

RECORDED = compiled_host().launched


def launches(plan: LaunchPlan, host: Host, costs: HostCosts = RECORDED) -> Launches:
    """The host's work before each launch of a compiled step; the optimizer's work is as in eager
    mode. Durations are empty."""
    host = host.in_phase(plan.trace.phase)
    return spread(plan, ops_s(plan, host, costs) + calls_s(plan, host, costs), host)


def ops_s(plan: LaunchPlan, host: Host, costs: HostCosts) -> Floats:
    """Host seconds of each op [ops], its launches included."""
    trace, number = plan.trace, plan.launches
    own = host.op_s(plan.counts)
    speed = host.seconds["op"] / costs.reference_op_s
    parts = graphs(trace)
    eager = np.array(
        [op.phase == "optimizer" or parts.eager(index) for index, op in enumerate(trace.ops)], bool
    )
    generated = ~eager & np.array([op.name.startswith("fused.") for op in trace.ops], bool)
    triton_s = costs.triton_s * (number > 0)
    by_kind_s = _by_kind(trace, costs)
    other_s = host.library_call_s(plan.counts) / speed
    called_s = np.where(np.isnan(by_kind_s), other_s, by_kind_s)
    issued = (number > 0) & ~eager
    work_s = np.where(generated, triton_s, called_s) + costs.cold_s * _cold(trace) * issued
    work: Floats = np.where(eager, own, (work_s + tabled(trace) * costs.tabled_s) * speed)
    return work + number * host.launch_s + workspace_parsing_s(trace, host)


def _by_kind(trace: Trace, costs: HostCosts) -> Floats:
    """Host seconds of library calls with a fitted cost [ops]; NaN for other ops."""
    signatures, rows = trace.signatures
    each = [_kind_s(signature.name, costs) for signature in signatures]
    return np.array(each, np.float64)[rows]


def _kind_s(name: str, costs: HostCosts) -> float:
    op = name.split(".")[1] if name.startswith("aten.") else ""
    if op in ("mm", "addmm", "bmm", "baddbmm"):
        return costs.product_s if op == "mm" else costs.further_product_s
    if op.startswith("convolution"):
        return costs.convolution_s
    if op.startswith("_scaled_dot_product"):
        return costs.attention_s
    return float("nan")


def _cold(trace: Trace) -> Floats:
    """How cold the wrapper's code is for each op [ops]; each generated kernel has separate code."""
    signatures, rows = trace.signatures
    kinds = [
        f"{index}" if signature.name.startswith("fused.") else signature.name
        for index, signature in enumerate(signatures)
    ]
    return coldness(kinds, rows)


def calls_s(plan: LaunchPlan, host: Host, costs: HostCosts) -> Floats:
    """Host seconds to enter the forward and the backward pass, at the first op of each [ops]."""
    trace = plan.trace
    entering = _first(np.array([op.phase == "forward" for op in trace.ops], bool))
    backward = _first(np.array([op.phase == "backward" for op in trace.ops], bool))
    roles = [storage.role for storage in trace.storages]
    weights, inputs = roles.count("weight") + roles.count("buffer"), roles.count("input")
    called_s = costs.call_s + costs.input_s * inputs + costs.weight_s * weights
    back_s = costs.backward_s + costs.gradient_s * roles.count("weight")
    entering_s = (entering * called_s + backward * back_s) * (
        host.seconds["op"] / costs.reference_op_s
    )
    parts = graphs(trace)
    return entering_s + _further_graphs_s(trace, parts, host, costs) if parts.cuts else entering_s


def spread(plan: LaunchPlan, work: Floats, host: Host) -> Launches:
    """Distribute the work of each op [ops] over launches: it precedes the op's first launch.
    Durations are empty."""
    op_of = plan.lowered.op_of
    done = np.cumsum(work)
    before = done[op_of] if op_of.size else np.zeros(0)
    tail = float(done[-1] - before[-1]) if before.size else float(work.sum())
    tail += tail_s(plan.trace, host)
    return Launches(np.diff(before, prepend=0.0), np.zeros(0), plan.sync_after, tail)


def tabled(trace: Trace) -> np.ndarray:
    """Whether each op is called through Python's table of operators [ops]."""
    return np.array([op.name == "aten.convolution_backward.default" for op in trace.ops], bool)


def _further_graphs_s(
    trace: Trace, parts: Graphs, host: Host, costs: HostCosts
) -> NDArray[np.float64]:
    """Host seconds that each graph except the first of its pass adds, at its first op [ops]. They
    cover the call, each tensor from another stretch, the backward pass's node, and the autograd
    function in both passes."""
    speed = host.seconds["op"] / costs.reference_op_s
    graph_of: dict[int, Graph] = {}
    first: dict[Graph, int] = {}
    handed: dict[Graph, set[int]] = {}
    for index, op in enumerate(trace.ops):
        graph, inputs = parts.of[index], len(op.inputs)
        if op.phase != "optimizer" and not parts.eager(index):
            first.setdefault(graph, index)
            handed.setdefault(graph, set()).update(
                s for s in op.storages[:inputs] if graph_of.get(s, graph) != graph
            )
        graph_of |= dict.fromkeys(op.storages[inputs:], graph)
    seconds = np.zeros(len(trace.ops))
    passes: dict[Phase, Graph] = {}
    for graph in first:
        passes.setdefault(graph[0], graph)
    for graph, index in first.items():
        if graph != passes[graph[0]]:
            entered_s = costs.node_s if graph[0] == "backward" else costs.resumed_s
            entered_s += costs.call_s + costs.input_s * len(handed[graph])
            seconds[index] = entered_s * speed
            if graph[0] == "backward":
                seconds[index] += host.seconds["backward_node"]
    return seconds


def _first(rows: np.ndarray) -> np.ndarray:
    return rows & (np.cumsum(rows) == 1)
