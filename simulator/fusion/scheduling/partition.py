"""The kernels of a compiled step."""

from __future__ import annotations

from simulator.caches.cancelling import check_cancelled
from simulator.caches.derived import Derived, twin
from simulator.errors import InputError
from simulator.fusion.fused import Fused
from simulator.fusion.group import Group
from simulator.fusion.lowering.library.padding import timer
from simulator.fusion.lowering.lowering import Lowering
from simulator.fusion.passes.attention import attended
from simulator.fusion.passes.dot_products import dot_products
from simulator.fusion.passes.functional import functional
from simulator.fusion.passes.joint_graph import JointGraph, joint_graph
from simulator.fusion.passes.single_joins import without_single_joins
from simulator.fusion.rules import LEVELS, LIKE, RULES, WHOLE, Level
from simulator.fusion.scheduling.epilogue_fusion import absorbed
from simulator.fusion.scheduling.fused_trace import fused_trace
from simulator.fusion.scheduling.scheduling import groups
from simulator.fusion.scheduling.templates import faster
from simulator.hardware.gpu import GPU
from simulator.records import Trace
from simulator.timing.profile import Profile

__all__ = ["LEVELS", "Level", "fused", "partition"]


def partition(
    trace: Trace, gpu: GPU, level: Level = "compiled", profile: Profile | None = None
) -> list[Group]:
    """Groups of loop nests and library calls, each one kernel (a library call may be several), in
    launch order. "pointwise" fuses loops over elements only, "pointwise+reductions" also loops
    before and after reductions, "compiled" also siblings that read the same memory;
    `simulator.fusion.rules` has the other levels. The optimizer is not in the compiled module.
    Without a profile no product is padded.

    Raises InputError if the level is unknown, or if the step trains and the level does not support
    it.
    """
    rule = RULES.get(level)
    if rule is None:
        known = ", ".join(map(repr, (*LEVELS, *LIKE)))
        raise InputError(f"unknown fusion level {level!r}: expected one of {known}")
    if trace.phase == "training" and not rule.training:
        raise InputError(
            f"fusion={level}: {LIKE[level]} runs no backward pass: expected inference; choose "
            "another level"
        )
    seconds = timer(gpu, profile) if profile and level in WHOLE else None
    lowering = Lowering(trace, gpu, rule.reductions, seconds, inductor=rule.inductor)
    parts = groups(lowering.run(), lowering.graphs.of, rule.siblings, rule.after)
    if rule.templates and seconds:
        return absorbed(parts, trace, faster(trace, seconds))
    return absorbed(parts, trace) if rule.epilogues else parts


def _joint(trace: Trace, gpu: GPU, level: Level) -> JointGraph:
    if level in LIKE:
        return JointGraph(trace)
    if level in WHOLE and trace.phase == "inference":
        plain = functional(without_single_joins(trace), parts_only=True)
        joint = attended(plain, gpu)
        if plain is trace or joint.source:
            return joint
        return JointGraph(plain, range(len(plain.ops)))
    return joint_graph(trace)


_FUSED = Derived[Fused](own=True)  # by level and kind of GPU


def fused(
    step: Trace | Fused, gpu: GPU, level: Level = "compiled", profile: Profile | None = None
) -> Fused:
    """Fuse a traced step into kernels. A fused step is returned unchanged; level "none" fuses
    nothing."""
    if isinstance(step, Fused):
        return step
    if level == "none":
        return Fused(step, [], step)
    kind = (
        gpu.vendor,
        gpu.units,
        gpu.compute_capability,
        tuple(gpu.tensor_flops_per_s),
        gpu.boost_hz,
    )
    key = level, kind, profile and profile.id
    return _FUSED.get(step, lambda: _fused(twin(step), gpu, level, profile), key)


def _fused(trace: Trace, gpu: GPU, level: Level, profile: Profile | None) -> Fused:
    joint = _joint(trace, gpu, level)
    if RULES[level].templates:
        joint = dot_products(joint)
    rest = [i for i, op in enumerate(joint.trace.ops) if op.phase == "optimizer"]
    check_cancelled()
    groups = partition(joint.trace, gpu, level, profile)
    check_cancelled()
    fusion = fused_trace(joint.trace, groups, rest, RULES[level].templates)
    return joint.of_origin(fusion, trace)
