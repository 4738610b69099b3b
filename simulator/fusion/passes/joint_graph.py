"""A training step after Inductor's partitioner: the joint graph of forward and backward, in which
recomputed ops are repeated in the backward pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from simulator.caches.cancelling import check_cancelled
from simulator.fusion.fused import Fused
from simulator.fusion.kinds import kind
from simulator.fusion.passes.functional import functional
from simulator.fusion.passes.joint_decompositions import decompose
from simulator.fusion.passes.rematerialization import Joint, repeated_from, saved_within
from simulator.fusion.passes.single_joins import without_single_joins
from simulator.records import Op, Trace


@dataclass(frozen=True)
class JointGraph:
    """`source[i]` is the op of the eager trace that is, or contains, op i of `trace`; empty if
    `trace` is the eager trace. `members[i]` are the eager ops that op i replaces, if the compiler
    created op i."""

    trace: Trace
    source: Sequence[int] = ()
    members: Mapping[int, Sequence[int]] = field(default_factory=dict[int, Sequence[int]])

    def of_origin(self, fused: Fused, origin: Trace) -> Fused:
        """The fused joint graph, with groups that refer to ops of the eager trace."""
        if not self.source:
            return fused
        members = tuple(map(fused.members, range(len(fused.groups))))
        for group in fused.groups:
            for node in group.nodes:
                node.ops = tuple(
                    dict.fromkeys(
                        each for op in node.ops for each in self.members.get(op, (self.source[op],))
                    )
                )
        return Fused(fused.trace, fused.groups, origin, fused.notes, (self.trace, members))


def joint_graph(trace: Trace) -> JointGraph:
    """The step to compile; an inference step is unchanged."""
    if trace.phase != "training" or not any(op.phase == "backward" for op in trace.ops):
        return JointGraph(trace)
    plain = functional(without_single_joins(trace))
    check_cancelled()
    decomposed = decompose(plain)
    check_cancelled()
    joint = Joint(decomposed.trace, _fuses)
    check_cancelled()
    saved = saved_within(joint)
    check_cancelled()
    repeated, source = repeated_from(joint, saved)
    return JointGraph(_unreturned(joint, repeated), [decomposed.source[index] for index in source])


def _unreturned(joint: Joint, after: Trace) -> Trace:
    """The trace with only those results that the eager step has too. `dataflow` treats a storage
    that is freed at the end of the forward pass as a result of that pass. Other storages that
    recomputation frees there are therefore freed one op earlier here."""
    ends = [_backward(each) for each in (joint.trace, after)]
    results = {
        storage
        for storage, _ in joint.flow.stored
        if joint.trace.storages[storage].freed == ends[0]
    }
    storages = [
        replace(s, freed=ends[1] - 1) if s.freed == ends[1] and number not in results else s
        for number, s in enumerate(after.storages)
    ]
    return replace(after, storages=storages)


def _backward(trace: Trace) -> int:
    return next(i for i, op in enumerate(trace.ops) if op.phase == "backward")


def _fuses(op: Op) -> bool:
    """Whether an op fuses: in the decomposed graph all loops and reductions consist of fusible ops,
    except ops that are missing from the partitioner's list."""
    unlisted = any(part in op.name for part in ("embedding", "pool", ".cat."))
    return kind(op.signature) != "library" and not unlisted
