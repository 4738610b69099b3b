"""The adjacent ops, by name, that save the most time as one kernel throughout a network.

The estimates here select the kernels to try; predictions give their gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from simulator.caches.derived import Derived
from simulator.costs import Work
from simulator.errors import InputError
from simulator.fusion.scheduling.chains import before_loops, chains
from simulator.fusion.scheduling.chosen import Chosen
from simulator.hardware.waits import syncs
from simulator.lowering import launches
from simulator.modes import compiles
from simulator.prediction import Prediction
from simulator.records import Signature, Trace
from simulator.schedule.launch_plan import issued
from simulator.timing.profile import Profile
from simulator.timing.roofline import roofs

Floats = NDArray[np.float64]
Names = tuple[str, ...]

_MOST = 4
_NEARLY = 0.75  # minimum saving of a shorter pattern, as a share of a longer one's
_WORTH = 0.004  # minimum estimated saving of a pattern, as a share of the step
_LOCAL = 0.02  # the same for the pattern that saves the most GPU time, as a share of that time


@dataclass(frozen=True)
class Kernels:
    """Identical sets of ops, each of which can run as one kernel: the members of the first set, the
    number of sets, the fused op's signature, and the name of the matrix product among the ops."""

    members: tuple[int, ...]
    names: Names
    count: int
    fused: Signature
    product: str = ""


@dataclass(frozen=True)
class Pattern:
    """Names of ops to fuse wherever they are adjacent, with the estimated seconds that this saves
    in total on the GPU and on the host."""

    names: Names
    product: str
    gpu_s: float
    host_s: float

    @property
    def ops(self) -> str:
        """The names in the form of `+fuse`."""
        return "+".join(self.names)

    @property
    def how(self) -> str:
        """The effect of fusing the ops into one kernel, in words."""
        loops = [name for name in self.names if name != self.product]
        what = f"{', '.join(loops[:-1])} and {loops[-1]}" if len(loops) > 1 else loops[0]
        run = "runs" if len(loops) == 1 else "run"
        where = f"{self.product}'s kernel" if self.product else "one kernel"
        return f"{what} {run} in {where}, and intermediate values stay out of memory"


def fusible(p: Prediction, profile: Profile) -> list[Pattern]:
    """The patterns that save the most time, best first; no pattern contains another. Savings of GPU
    and host time are weighted by the step's share of overhead. The pattern that saves the most GPU
    time comes last if it saves enough, even if the host hides it. Empty for compiled or fused
    steps."""
    if compiles(p.mode) or p.fusion is not None or not p.period_s:
        return []
    kernels = _kernels(p.trace)
    gpu, host = _saved_gpu_s(p, kernels, profile), _saved_host_s(p, kernels)
    listed = [
        _pattern(names, kernels, gpu, host)
        for names in {frozenset(k.names): k.names for k in kernels}.values()
    ]
    ruled = p.shares["overhead"]

    def weight_s(each: Pattern) -> float:
        return each.gpu_s * (1 - ruled) + each.host_s * ruled

    def simplest(each: Pattern) -> Pattern:
        """The shortest pattern within `each` that saves nearly as much."""
        parts = [
            q
            for q in listed
            if set(q.names) <= set(each.names) and weight_s(q) >= _NEARLY * weight_s(each)
        ]
        return min(parts, key=lambda q: len(q.names))

    ranked = sorted(listed, key=weight_s, reverse=True)
    chosen: list[Pattern] = []
    for each in map(simplest, ranked):
        nested = any(
            set(each.names) <= set(c.names) or set(c.names) <= set(each.names) for c in chosen
        )
        if weight_s(each) > _WORTH * p.period_s and not nested and len(chosen) < _MOST:
            chosen.append(each)
    for local in sorted(listed, key=lambda each: each.gpu_s)[-1:]:
        known = any(set(local.names) <= set(c.names) for c in chosen) or simplest(local) in chosen
        if local.gpu_s > _LOCAL * p.gpu_busy_s and not known:
            chosen.append(local)
    return chosen


_KERNELS = Derived[list[Kernels]]()


def _kernels(trace: Trace) -> list[Kernels]:
    """Chains of pointwise ops and reductions, and matrix products with the chain that reads their
    result."""
    return _KERNELS.get(trace, lambda: list(_candidates(trace)))


def _candidates(trace: Trace) -> Iterator[Kernels]:
    chosen = Chosen(trace)
    owner = {
        index: op.phase
        for index, op in enumerate(trace.ops)
        if chosen.flow.computes[index]
        and op.phase != "optimizer"
        and op.name.startswith("aten.")
        and not syncs(op.signature)
    }
    sets = chains(chosen, owner)
    of = {index: members for members in sets for index in members}
    listed = [(members, "") for members in sets if len(members) > 1]
    listed += [
        ({product, *of.get(user, {user})}, _name(trace, product))
        for product, user in before_loops(chosen, owner)
    ]
    by_signature: dict[tuple[int, ...], list[tuple[tuple[int, ...], str]]] = {}
    for members, product in listed:
        ordered = tuple(sorted(members))
        key = tuple(id(trace.ops[index].signature) for index in ordered)
        by_signature.setdefault(key, []).append((ordered, product))
    for equal_sets in by_signature.values():
        members, product = equal_sets[0]
        try:
            fused = chosen.kernel(members).op
        except InputError:
            continue
        names = tuple(dict.fromkeys(_name(trace, index) for index in members))
        yield Kernels(members, names, len(equal_sets), fused.signature, product)


def _name(trace: Trace, index: int) -> str:
    return trace.ops[index].name.split(".")[1]


def _saved_gpu_s(p: Prediction, kernels: Sequence[Kernels], profile: Profile) -> Floats:
    """Estimated GPU seconds that each kernel saves. The saved share of its ops' time is estimated
    without L2 reuse."""
    before, ops = p.columns, p.trace.ops
    op_s = np.bincount(before.op_of, before.duration_s, len(ops))
    listed = [[ops[i].signature for i in each.members] + [each.fused] for each in kernels]
    distinct = {id(s): s for each in listed for s in each}
    launched = {key: launches(s, p.gpu) or () for key, s in distinct.items()}
    works = [work for each in launched.values() for work in each]
    alone = iter(_cold_s(works, p, profile))
    cold = {key: sum(islice(alone, len(each))) for key, each in launched.items()}
    saved: list[float] = []
    for each, signatures in zip(kernels, listed, strict=True):
        *old, new = (cold[id(s)] for s in signatures)
        share = new / max(sum(old), 1e-12)
        saved.append(max(0.0, float(op_s[list(each.members)].sum()) * (1 - share)))
    return np.array(saved)


def _cold_s(works: list[Work], p: Prediction, profile: Profile) -> list[float]:
    if not works:
        return []
    times = roofs(works, p.gpu, profile).parts(np.zeros(len(works)), 0.0)
    return times.duration_s.tolist()


def _saved_host_s(p: Prediction, kernels: Sequence[Kernels]) -> Floats:
    """Host seconds that each kernel saves, if issuing it costs as much as one op; 0 in a CUDA
    graph."""
    if p.mode == "cuda_graph":
        return np.zeros(len(kernels))
    on_gpu = issued(p.trace, p.gpu)
    each_s = p.host.op_s(on_gpu.counts) + p.host.launch_s * on_gpu.launches
    of = [each_s[list(each.members)] for each in kernels]
    return np.array([each.sum() - each.max() for each in of])


def _pattern(names: Names, kernels: Sequence[Kernels], gpu: Floats, host: Floats) -> Pattern:
    """The pattern of these names: each op is fused once, into the largest kernel that can contain
    it."""
    inside = set(names)
    fused_ops: set[int] = set()
    product, gpu_s, host_s = "", 0.0, 0.0
    fits = [i for i, each in enumerate(kernels) if set(each.names) <= inside]
    for i in sorted(fits, key=lambda i: -len(kernels[i].members)):
        each = kernels[i]
        if fused_ops.isdisjoint(each.members):
            fused_ops.update(each.members)
            product = product or each.product
            gpu_s += float(gpu[i]) * each.count
            host_s += float(host[i]) * each.count
    return Pattern(names, product, gpu_s, host_s)
