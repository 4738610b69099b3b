"""Attention as separate ops, softmax(q·kᵀ/√d + mask)·v, which Inductor replaces by
`scaled_dot_product_attention` (`fuse_attention` of torch/_inductor/fx_passes).

These patterns were compared with the real Inductor (torch 2.13): scores divided by a number, with
or without an added mask; scores multiplied by a number, without a mask. Only half precision matches
(`_sfdp_params_check`), whether the softmax is in float32 or not. Scores without a scale, filled by
a mask, or of scaled queries do not match, nor does any pattern if another op reads one of its
intermediate results. A trace does not record whether a network returns such a result. Heads may
also be flattened into the batch, [b·h, s, d], as in `nn.MultiheadAttention`; then only scores
without a scale and a mask match (`_sfdp_pattern_13`). Training steps are not changed, though
Inductor has patterns for them too.
"""

from __future__ import annotations

from dataclasses import dataclass

from msgspec.structs import replace

from simulator.costs.attention.selection import CUDNN_FIRST, Attention, choose
from simulator.fusion.dataflow import Dataflow, Value, dataflow
from simulator.fusion.graphs import graphs
from simulator.fusion.passes.joint_graph import JointGraph
from simulator.hardware.gpu import GPU
from simulator.records import Op, Signature, Storage, Tensor, Trace, row_major

_HALF = ("float16", "bfloat16")
_SCALES = {"aten.div.Tensor": True, "aten.mul.Tensor": False, "aten.mul.Scalar": False}
"""Whether a mask may be added after the scale."""


@dataclass(frozen=True)
class Match:
    """A match: `ops`, which one call replaces, and the last of them; the call's operands by name,
    with their storages, and its result."""

    ops: frozenset[int]
    last: int
    operands: tuple[tuple[str, Tensor, int], ...]
    result: tuple[Tensor, int]


def attended(trace: Trace, gpu: GPU) -> JointGraph:
    """The step in which calls replace the matches; the step itself if nothing matches."""
    if gpu.vendor != "NVIDIA" or trace.phase != "inference":
        return JointGraph(trace)
    softmaxes = [index for index, op in enumerate(trace.ops) if op.name == "aten._softmax.default"]
    matching = _Matching(trace) if softmaxes else None
    matches = [each for index in softmaxes if matching and (each := matching.around(index))]
    calls = {each.last: (each, name) for each in matches if (name := _kernel(each, gpu))}
    return _with(trace, calls) if calls else JointGraph(trace)


def _kernel(match: Match, gpu: GPU) -> str | None:
    """The kernel that PyTorch selects on this GPU; None if it selects plain products."""
    tensors = {name: tensor for name, tensor, _ in match.operands}
    call = Attention(
        gpu.compute_capability or CUDNN_FIRST[0],
        tensors["query"],
        tensors["key"],
        tensors["value"],
        tensors.get("attn_bias"),
    )
    chosen = choose(call)
    return None if chosen == "math" else chosen


class _Matching:
    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.flow: Dataflow = dataflow(trace, whole=True)
        self.maker: dict[Value, int] = {
            value: index
            for index, makes in enumerate(self.flow.makes)
            if self.flow.computes[index]
            for value in makes
        }

    def around(self, softmax: int) -> Match | None:
        """The attention that a softmax is part of."""
        op = self.trace.ops[softmax]
        shape = op.inputs[0].shape
        if len(shape) not in (3, 4) or op.signature.arg("dim") not in (-1, len(shape) - 1):
            return None
        flat = len(shape) == 3
        shape = (1, *shape) if flat else shape
        before, after = self._scores(softmax, flat), self._weighed(softmax)
        if before is None or after is None:
            return None
        inside, mask, copies = before
        scores, product = inside[-1], after[-1]
        if self.trace.ops[scores].inputs[0].dtype not in _HALF:
            return None
        ops = {softmax, *inside, *after}
        query, key = (self._operand(scores, place, shape, copies, ops) for place in (0, 1))
        value = self._operand(product, 1, shape, copies, ops)
        result = self._result(product, shape, copies or flat, ops)
        if len({graphs(self.trace).of[index] for index in ops}) > 1:
            return None
        if graphs(self.trace).eager(product):
            return None
        turned = _turned(key[0])
        if turned.stride[-1] != 1:  # a copy by a loop, which can write another layout
            turned = replace(turned, stride=row_major(turned.shape))
        operands = [("query", *query), ("key", turned, key[1]), ("value", *value)]
        if mask is not None:
            operands.append(("attn_bias", *mask))
        return Match(frozenset(ops), product, tuple(operands), result)

    def _scores(
        self, softmax: int, flat: bool
    ) -> tuple[list[int], tuple[Tensor, int] | None, bool] | None:
        """The ops from the softmax back to the product of queries and keys, the mask that is added,
        and whether the call also replaces copies before products. Scores of `flat` heads have no
        scale and no mask."""
        inside: list[int] = []
        mask: tuple[Tensor, int] | None = None
        divides: bool | None = None
        at = softmax
        while True:
            producer = self._only(at, 0)
            if producer is None:
                return None
            inside.append(producer)
            op = self.trace.ops[producer]
            if flat:
                return (inside, None, False) if op.name == "aten.bmm.default" else None
            if op.name == "aten.bmm.default" and divides is not None:
                return (inside, mask, divides) if divides or mask is None else None
            if op.name in _SCALES and divides is None and len(op.inputs) == 1:
                divides = _SCALES[op.name]
            elif op.name == "aten.add.Tensor" and divides is None and mask is None:
                if len(op.inputs) != 2 or op.inputs[0].shape != self.trace.ops[at].inputs[0].shape:
                    return None
                mask = op.inputs[1], op.storages[1]
            elif op.name != "aten._to_copy.default" or op.outputs[0].dtype != "float32":
                return None
            at = producer

    def _weighed(self, softmax: int) -> list[int] | None:
        """The ops after the softmax, up to the product with the values."""
        after: list[int] = []
        at = softmax
        while True:
            value = self.flow.makes[at][0]
            users = self.flow.users.get(value, [])
            if len(users) != 1 or value in self.flow.stored:
                return None
            at = users[0]
            after.append(at)
            op = self.trace.ops[at]
            if op.name == "aten.bmm.default":
                return after if self.flow.reads[at][0] == value else None
            if op.name != "aten._to_copy.default" or op.outputs[0].dtype not in _HALF:
                return None

    def _only(self, user: int, place: int) -> int | None:
        """The op that computes an input of `user`; None if other ops read the input too."""
        value = self.flow.reads[user][place]
        alone = self.flow.users.get(value) == [user] and value not in self.flow.stored
        return self.maker.get(value) if alone else None

    def _operand(
        self, product: int, place: int, shape: tuple[int, ...], copies: bool, ops: set[int]
    ) -> tuple[Tensor, int]:
        """An operand [b, h, rows, cols] in its layout before it was copied for the product."""
        producer = self._only(product, place)
        op = self.trace.ops[product]
        if (
            copies
            and producer is not None
            and self.trace.ops[producer].name == "aten.clone.default"
        ):
            source = self.trace.ops[producer]
            if len(source.inputs[0].shape) == 4:
                ops.add(producer)
                return source.inputs[0], source.storages[0]
        flat = op.inputs[place]
        strides = (flat.stride[0] * shape[1], *flat.stride)
        tensor = replace(flat, shape=(*shape[:2], *flat.shape[1:]), stride=strides)
        return tensor, op.storages[place]

    def _result(
        self, product: int, shape: tuple[int, ...], copies: bool, ops: set[int]
    ) -> tuple[Tensor, int]:
        """The result of the call. It is stored token by token if a copy after the product stores it
        so (flat heads are [1, b·h]), else in the order of the product's result."""
        flat = self.trace.ops[product].outputs[0]
        value = self.flow.makes[product][0]
        b, h, s, d = (*shape[:2], *flat.shape[1:])
        users = self.flow.users.get(value, [])
        if copies and len(users) == 1 and value not in self.flow.stored:
            copy = self.trace.ops[users[0]]
            joined = copy.outputs[0].shape in ((b, s, h, d), (b * s, h, d))
            if copy.name == "aten.clone.default" and joined:
                ops.add(users[0])
                out = replace(flat, shape=(b, h, s, d), stride=(s * h * d, d, h * d, 1))
                return out, copy.storages[-1]
        out = replace(flat, shape=(b, h, s, d), stride=(h * s * d, s * d, d, 1))
        return out, self.trace.ops[product].storages[-1]


def _turned(key: Tensor) -> Tensor:
    """Transpose kᵀ to k."""
    (b, h, d, s), strides = key.shape, key.stride
    return replace(key, shape=(b, h, s, d), stride=(*strides[:2], strides[3], strides[2]))


def _with(trace: Trace, calls: dict[int, tuple[Match, str]]) -> JointGraph:
    """The trace with these calls, without the ops that they replace and views of removed
    results."""
    removed = frozenset[int]().union(*(match.ops for match, _ in calls.values()))
    dead = {s for i in removed for s in trace.ops[i].storages[len(trace.ops[i].inputs) :]}
    dead -= {match.result[1] for match, _ in calls.values()}
    ops: list[Op] = []
    source: list[int] = []
    place: list[int] = []
    members: dict[int, tuple[int, ...]] = {}
    kinds: dict[str, Signature] = {}
    for index, op in enumerate(trace.ops):
        place.append(len(ops))
        if index in calls:
            match, name = calls[index]
            members[len(ops)] = tuple(sorted(match.ops))
            op = _call(op, match, name, kinds)
        elif index in removed or dead.intersection(op.storages):
            continue
        ops.append(op)
        source.append(index)
    place.append(len(ops))
    storages = [
        Storage(0, 0, 0, s.role, s.device) if number in dead else s.moved(place)
        for number, s in enumerate(trace.storages)
    ]
    for last, (match, _) in calls.items():
        here = place[last]
        for _, _, number in match.operands:
            s = storages[number]
            if s.freed is not None and s.freed <= here:
                storages[number] = replace(s, freed=here + 1)
        storages[match.result[1]] = replace(storages[match.result[1]], born=here)
    return JointGraph(trace.with_ops(ops, storages, place), source, members)


def _call(like: Op, match: Match, kernel: str, kinds: dict[str, Signature]) -> Op:
    names, tensors, numbers = zip(*match.operands, strict=True)
    args = {} if kernel == "flash" else {"compute_log_sumexp": False}
    signature = Signature(
        f"aten._scaled_dot_product_{kernel}_attention.default",
        tensors,
        (match.result[0],),
        names,
        args,
    )
    signature = kinds.setdefault(repr(signature), signature)
    return Op(signature, like.module, like.phase, (*numbers, match.result[1]))
