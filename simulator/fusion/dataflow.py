"""A trace as the values that each op reads and writes; views and in-place writes are resolved.

A value is one version of a storage. An op that writes to the storage of an input creates a new
version; a view has the value of its base.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.caches.derived import Derived
from simulator.fusion.costed import costed
from simulator.fusion.graphs import graphs
from simulator.records import Op, Signature, Trace

Value = tuple[int, int]
"""A storage, and the number of writes to it so far."""


@dataclass(frozen=True)
class Dataflow:
    """`reads[i]` and `makes[i]` are the values of op i's inputs and outputs, in their order;
    `users` are the ops that read a value, except views. `computes[i]` is False for views, for ops
    that do nothing on the GPU, and for ops that a compiler removes. `stored` are the values that
    must be in memory: results of the step, gradients, buffers, and values of the forward pass that
    the backward pass reads."""

    reads: list[tuple[Value, ...]] = field(default_factory=list[tuple[Value, ...]])
    makes: list[tuple[Value, ...]] = field(default_factory=list[tuple[Value, ...]])
    users: dict[Value, list[int]] = field(default_factory=dict[Value, list[int]])
    computes: list[bool] = field(default_factory=list[bool])
    stored: set[Value] = field(default_factory=set[Value])


_DATAFLOW = Derived["Dataflow"]()  # by whether the whole step is compiled


def dataflow(trace: Trace, whole: bool = False) -> Dataflow:
    """The dataflow of a trace. If the `whole` step is compiled, ops whose results nothing reads are
    removed."""
    return _DATAFLOW.get(trace, lambda: _dataflow(trace, whole), whole)


def _dataflow(trace: Trace, whole: bool) -> Dataflow:
    flow = Dataflow()
    distinct, rows = trace.signatures
    computing = [_computes(signature) for signature in distinct]
    version: dict[int, int] = {}
    maker: dict[Value, int] = {}
    for index, op in enumerate(trace.ops):
        inputs = len(op.inputs)
        reads = tuple((s, version.get(s, 0)) for s in op.storages[:inputs])
        computes = computing[rows[index]]
        outputs = op.storages[inputs:]
        if computes:
            for storage in dict.fromkeys(outputs):
                old = storage in version or trace.storages[storage].born < index
                version[storage] = version.get(storage, 0) + old
            for value in dict.fromkeys(() if reads_no_input(op) else reads):
                flow.users.setdefault(value, []).append(index)
        makes = tuple((s, version.setdefault(s, 0)) for s in outputs)
        if computes:
            maker |= dict.fromkeys(makes, index)
        flow.reads.append(reads)
        flow.makes.append(makes)
        flow.computes.append(computes)
    _keep(trace, flow, version, maker)
    if whole:
        _remove_unread(trace, flow)
    return flow


def reads_no_input(op: Op) -> bool:
    """Whether an op takes no more than a shape and a dtype from its input, such as `zeros_like`.
    The `ones_like` of the loss is left out, since it begins the backward pass."""
    name = op.name.split(".")[1]
    return name.startswith("new_") or (name.endswith("_like") and not begins_backward(op))


def begins_backward(op: Op) -> bool:
    """Whether an op makes the gradient of the loss."""
    return op.name == "aten.ones_like.default" and op.phase == "backward"


def _computes(op: Signature) -> bool:
    tensors = (*op.inputs, *op.outputs)
    if not op.outputs or all(t.device == "cpu" for t in tensors):
        return False
    return costed(op) != ()


def _remove_unread(trace: Trace, flow: Dataflow) -> None:
    """Mark ops in graphs whose results no op reads, last first, such as the averaged weights that
    `nn.MultiheadAttention` returns and its caller drops. Ops that draw random numbers stay, and
    those whose results go to the CPU, such as to `.item()`."""
    within = graphs(trace)
    needed = flow.stored | {
        value
        for index, computes in enumerate(flow.computes)
        if not computes
        for value in flow.reads[index]
        if all(made[0] != value[0] for made in flow.makes[index])
    }
    for index in reversed(range(len(trace.ops))):
        op = trace.ops[index]
        if not flow.computes[index] or op.phase != "forward" or within.eager(index):
            continue
        if any(value in needed or flow.users.get(value) for value in flow.makes[index]):
            continue
        if any(work.family == "random" for work in costed(op.signature) or ()):
            continue
        flow.computes[index] = False
        for value in set(() if reads_no_input(op) else flow.reads[index]):
            flow.users[value].remove(index)


def _keep(trace: Trace, flow: Dataflow, version: dict[int, int], maker: dict[Value, int]) -> None:
    phases = [op.phase for op in trace.ops]
    last = len(phases)
    boundary = next((i for i, phase in enumerate(phases) if phase != "forward"), last)
    ending: set[Value] = set()
    for value, index in maker.items():
        storage = trace.storages[value[0]]
        newest = value[1] == version[value[0]]
        lasting = storage.freed is None or storage.role != "activation"
        crossing = any(phases[user] != phases[index] for user in flow.users.get(value, ()))
        if crossing or (newest and lasting):
            flow.stored.add(value)
        elif newest and phases[index] == "forward" and storage.freed in (boundary, None):
            ending.add(value)
    for value in sorted(ending, key=maker.__getitem__):
        # Results of the forward pass. A local variable is freed at the same time, but another op of
        # the pass reads it.
        sources = flow.reads[maker[value]]
        if boundary == last:
            if not flow.users.get(value):
                flow.stored.add(value)
        elif not any(source in ending for source in sources):
            flow.stored.add(value)
