"""The host's work to run a compiled module whose graphs are replayed: the guards of the call, the
tree's bookkeeping and one launch for each graph, and the launches between graphs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simulator.fusion.fused import Replays
from simulator.fusion.host.compiled_host import HostCosts, ReplayCosts, compiled_host
from simulator.fusion.host.host_costs import RECORDED, calls_s, ops_s, spread
from simulator.hardware.host import Host
from simulator.schedule.launch_plan import LaunchPlan
from simulator.schedule.timeline import Clock, Launches
from simulator.timing.profile import Profile

_ENDLESS = 1 << 30  # launches; a graph of any size counts as one


REPLAYED = compiled_host().replayed


def replaying(
    plan: LaunchPlan,
    replays: Replays,
    host: Host,
    profile: Profile,
    costs: HostCosts = RECORDED,
    replay: ReplayCosts = REPLAYED,
) -> tuple[Launches, Clock]:
    """The launches, without durations, and the clock of a step whose graphs are replayed. The
    clock's gap is the mean over kernels inside and outside graphs."""
    captured, host = replays.graph_of >= 0, host.in_phase(plan.trace.phase)
    speed = host.seconds["op"] / costs.reference_op_s
    work = np.where(captured, 0.0, ops_s(plan, host, costs))
    for place in replays.copies:
        work[place] = host.seconds["op"] + host.launch_s
    heads = _heads(replays.graph_of, plan.launches)
    for head, tensors in zip(heads, _tensor_counts(plan, replays.graph_of, heads), strict=True):
        work[head] += profile.graph_launch_s + (replay.graph_s + replay.held_s * tensors) * speed
    if heads:
        costs = replace(costs, gradient_s=replay.gradient_s, backward_s=replay.backward_s)
    work += calls_s(plan, host, costs)
    inside = captured[plan.lowered.op_of]
    inside[np.searchsorted(plan.lowered.op_of, heads)] = False  # a graph starts like a kernel
    share = float(inside.mean()) if inside.size else 0.0
    gap_s = share * profile.graph_gap_s + (1 - share) * profile.gap_s
    depth = _ENDLESS if heads else host.depth
    return spread(plan, work, host), Clock(host.latency_s, gap_s, host.sync_s, depth)


def _heads(piece: np.ndarray, launches: np.ndarray) -> list[int]:
    """The first op of each graph that launches a kernel."""
    at = np.flatnonzero((piece >= 0) & (launches > 0))
    _, first = np.unique(piece[at], return_index=True)
    return at[first].tolist()


def _tensor_counts(plan: LaunchPlan, piece: np.ndarray, heads: list[int]) -> list[int]:
    """For each graph, the number of tensors that it passes on or receives: those stored for the
    backward pass, and copies of inputs. Weights are recognized by their addresses at no cost."""
    ops = plan.trace.ops
    touched: dict[int, set[int]] = {}
    by: dict[int, set[int]] = {}
    for op, number in zip(ops, piece.tolist(), strict=True):
        touched.setdefault(number, set()).update(op.storages)
        for storage in op.storages:
            by.setdefault(storage, set()).add(number)
    storages = plan.trace.storages

    def crosses(storage: int) -> bool:
        return len(by[storage]) > 1 and storages[storage].role == "activation"

    return [sum(map(crosses, touched[int(piece[head])])) for head in heads]
