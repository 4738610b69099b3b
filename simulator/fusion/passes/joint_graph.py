"""A training step as Inductor's partitioner leaves it: the joint graph of forward and backward,
with what is computed again in the backward pass repeated there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from simulator.fusion.fused import Fused
from simulator.fusion.kinds import kind
from simulator.fusion.passes.functional import functional
from simulator.fusion.passes.joint_decompositions import decompose
from simulator.fusion.passes.rematerialization import Joint, kept_within, repeated_from
from simulator.records import Op, Trace


@dataclass(frozen=True)
class JointGraph:
    """`source[i]` is the op of the eager trace that op i of `trace` is, or a part of; empty where
    `trace` is that trace. `members[i]` are the ops of it that op i stands for, where it is one of
    the compiler's own."""

    trace: Trace
    source: Sequence[int] = ()
    members: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def of_origin(self, fused: Fused, origin: Trace) -> Fused:
        """What the joint graph was fused to, its groups naming the ops of the eager trace."""
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
    """The step to compile; an inference step is what it was."""
    if trace.phase != "training" or not any(op.phase == "backward" for op in trace.ops):
        return JointGraph(trace)
    decomposed = decompose(functional(trace))
    joint = Joint(decomposed.trace, _fuses)
    repeated, source = repeated_from(joint, kept_within(joint))
    return JointGraph(_unreturned(joint, repeated), [decomposed.source[index] for index in source])


def _unreturned(joint: Joint, after: Trace) -> Trace:
    """What ends with the forward pass is taken for a result of it (`dataflow`): what was none ends
    an op earlier, now that what it is made of may live longer and the backward pass reads less."""
    ends = [_backward(each) for each in (joint.trace, after)]
    results = {
        storage for storage, _ in joint.flow.kept if joint.trace.storages[storage].freed == ends[0]
    }
    storages = [
        replace(s, freed=ends[1] - 1) if s.freed == ends[1] and number not in results else s
        for number, s in enumerate(after.storages)
    ]
    return replace(after, storages=storages)


def _backward(trace: Trace) -> int:
    return next(i for i, op in enumerate(trace.ops) if op.phase == "backward")


def _fuses(op: Op) -> bool:
    """In the decomposed graph all that becomes loops and reductions is made of fusible ops, but for
    those of which the partitioner's list has none."""
    unlisted = any(part in op.name for part in ("embedding", "pool", ".cat."))
    return kind(op.signature) != "library" and not unlisted
