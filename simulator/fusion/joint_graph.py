"""A training step as Inductor's partitioner leaves it: the joint graph of forward and backward,
with what is computed again in the backward pass repeated there.

Ops with a result that the cut may take apart are taken apart first, as Inductor's decompositions do
it (torch/_inductor/decomposition.py, torch/_decomp/decompositions.py): a log-softmax is its row
sums and a loop, of which the loop runs again; the backward of a ReLU reads where it was zero.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from msgspec.structs import replace

from simulator.fusion.dataflow import dataflow
from simulator.fusion.fused_trace import Fused
from simulator.fusion.kinds import kind
from simulator.records import Op, Signature, Storage, Tensor, Trace, row_major

if TYPE_CHECKING:
    from simulator.rematerialization import Joint


@dataclass(frozen=True)
class JointGraph:
    """`source[i]` is the op of the eager trace that op i of `trace` is, or a part of; empty where
    `trace` is that trace. `members[i]` are the ops of it that op i stands for, where it is one of
    the compiler's own."""

    trace: Trace
    source: Sequence[int] = ()
    members: Mapping[int, Sequence[int]] = field(default_factory=dict)

    def of_origin(self, found: Fused, origin: Trace) -> Fused:
        """What the joint graph was fused to, its groups naming the ops of the eager trace."""
        if not self.source:
            return found
        for group in found.groups:
            for node in group.nodes:
                node.ops = tuple(dict.fromkeys(
                    each for op in node.ops for each in self.members.get(op, (self.source[op],))
                ))  # fmt: skip
        made = Fused(found.trace, found.groups, origin, found.notes)
        made.trace.kept["fusion"] = made
        return made


def joint_graph(trace: Trace) -> JointGraph:
    """The step to compile; an inference step is what it was."""
    from simulator.rematerialization import Joint, kept_within, repeated_from  # it needs dataflow

    if trace.phase != "training" or not any(op.phase == "backward" for op in trace.ops):
        return JointGraph(trace)
    apart = _decomposed(trace)
    joint = Joint(apart.trace, _fuses)
    found, source = repeated_from(joint, kept_within(joint))
    return JointGraph(_unreturned(joint, found), [apart.source[index] for index in source])


def _unreturned(joint: Joint, after: Trace) -> Trace:
    """What ends with the forward pass is taken for a result of it (`dataflow`): what was none ends
    an op earlier, now that what it is made of may live longer and the backward pass reads less."""
    ends = [_backward(each) for each in (joint.trace, after)]
    results = {storage for storage, _ in joint.flow.kept
               if joint.trace.storages[storage].freed == ends[0]}  # fmt: skip
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


class _Taking:
    """Collects the ops of the decomposed graph."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.fresh: list[Storage] = []
        self.parts: dict[int, Sequence[Op]] = {}
        self.signatures: dict[str, Signature] = {}

    def storage(self, tensor: Tensor) -> int:
        self.fresh.append(Storage(tensor.nbytes, 0, 0, "activation"))
        return len(self.trace.storages) + len(self.fresh) - 1

    def op(
        self, like: Op, name: str, inputs: Sequence[tuple[str, Tensor, int]],
        output: tuple[Tensor, int], args: dict[str, object] | None = None,
    ) -> Op:  # fmt: skip
        made = Signature(name, tuple(t for _, t, _ in inputs), (output[0],),
                         tuple(n for n, _, _ in inputs), args or {})  # fmt: skip
        made = self.signatures.setdefault(repr(made), made)
        return Op(made, like.module, like.phase, (*(s for _, _, s in inputs), output[1]))


def _decomposed(trace: Trace) -> JointGraph:
    taking, flow = _Taking(trace), dataflow(trace)
    relus: dict[tuple[int, int], int] = {}
    for index, op in enumerate(trace.ops):
        if op.name == "aten._log_softmax.default" and op.phase == "forward":
            taking.parts[index] = _log_softmax(taking, op)
        elif op.name in ("aten.relu.default", "aten.relu_.default") and op.phase == "forward":
            relus[flow.makes[index][0]] = index
        elif op.name == "aten.threshold_backward.default" and not op.signature.arg("threshold", 0):
            made = relus.get(flow.reads[index][1])
            if made is not None and made not in taking.parts:
                _relu(taking, made, index)
        elif op.name == "aten.detach.default" and op.phase == "backward":
            taking.parts[index] = ()  # of what autograd saved; it reads nothing
    return _put_together(taking)


def _log_softmax(taking: _Taking, op: Op) -> tuple[Op, Op]:
    """log(sum(exp(x))) of each row, and x minus it."""
    source, out = op.inputs[0], op.outputs[0]
    dim = int(op.signature.arg("dim", -1)) % len(source.shape)
    shape = tuple(1 if d == dim else size for d, size in enumerate(source.shape))
    rows = Tensor(shape, out.dtype, row_major(shape), out.device)
    held = taking.storage(rows)
    given = ("self", source, op.storages[0])
    sums = taking.op(op, "aten.logsumexp.default", [given], (rows, held),
                     {"dim": [dim], "keepdim": True})  # fmt: skip
    minus = taking.op(op, "aten.sub.Tensor", [given, ("other", rows, held)], (out, op.storages[1]))
    return sums, minus


def _relu(taking: _Taking, made: int, read: int) -> None:
    """Where a ReLU's result is zero, a byte an element; its gradient is zero there."""
    forward, backward = taking.trace.ops[made], taking.trace.ops[read]
    result, place = forward.outputs[0], forward.storages[-1]
    mask = Tensor(result.shape, "bool", result.stride, result.device)
    held = taking.storage(mask)
    zero = taking.op(forward, "aten.le.Scalar", [("self", result, place)], (mask, held),
                     {"other": 0})  # fmt: skip
    gradient = ("self", backward.inputs[0], backward.storages[0])
    masked = taking.op(backward, "aten.masked_fill.Scalar", [gradient, ("mask", mask, held)],
                       (backward.outputs[0], backward.storages[-1]), {"value": 0})  # fmt: skip
    taking.parts[made] = forward, zero
    taking.parts[read] = (masked,)


def _put_together(taking: _Taking) -> JointGraph:
    ops: list[Op] = []
    source: list[int] = []
    place: list[int] = []
    for index, op in enumerate(taking.trace.ops):
        place.append(len(ops))
        found = taking.parts.get(index, (op,))
        ops += found
        source += [index] * len(found)
    place.append(len(ops))
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for index, op in enumerate(ops):
        for storage in op.storages:
            first.setdefault(storage, index)
            last[storage] = index
    storages = [
        replace(s, born=s.born if s.born < 0 else max(place[s.born], first.get(number, 0)),
                freed=None if s.freed is None else place[s.freed])
        for number, s in enumerate(taking.trace.storages)
    ]  # fmt: skip
    for offset, s in enumerate(taking.fresh):
        number = len(taking.trace.storages) + offset
        storages.append(replace(s, born=first[number], freed=last[number] + 1))
    assumed = [replace(a, op=place[a.op]) for a in taking.trace.assumptions]
    breaks = [each.moved(place) for each in taking.trace.breaks]
    made = replace(taking.trace, ops=ops, storages=storages, assumptions=assumed, breaks=breaks)
    return JointGraph(made, source)
