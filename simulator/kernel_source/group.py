"""A fused group as input for a kernel: its ops with the layouts of their operands in every case,
and the values that it stores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from simulator.errors import InputError
from simulator.fusion import Fused
from simulator.fusion.dataflow import Value, dataflow
from simulator.fusion.group import Group
from simulator.fusion.lowering.access import value_of
from simulator.fusion.offsets import guessed, offsets
from simulator.fusion.scheduling.fused_trace import external
from simulator.kernel_source.layouts import Layout, layout
from simulator.kernel_source.sizes import Size
from simulator.records import ITEM_BYTES, Trace

_CONTINUED = "it continues an op that another kernel began"

BIASED = ("convolution", "addmm")
"""Library calls whose bias a loop may add."""


def before_bias(value: Value) -> Value:
    """The value of a product before its bias is added; the trace does not contain it."""
    return -1 - value[0], value[1]


@dataclass(frozen=True)
class GroupOp:
    """An op: `inputs` and `outputs` are values with their layouts, `names` the argument names of
    the inputs. Integers in `args` that differ between cases are Sizes."""

    number: int
    name: str
    names: tuple[str, ...]
    inputs: tuple[tuple[Value, Layout], ...]
    outputs: tuple[tuple[Value, Layout], ...]
    args: dict[str, Any] = field(hash=False)

    @property
    def short(self) -> str:
        """Its name without namespace, overload and the underscore of in-place ops."""
        return self.name.split(".")[1].strip("_")

    def place(self, name: str) -> int | None:
        """The index of the input with this name; None if it was left out."""
        return self.names.index(name) if name in self.names else None


@dataclass(frozen=True)
class FusedGroup:
    """A group to export.

    makers     the op and output number that compute a value; other values come from memory
    elements   the number of elements in the storage of a value
    stores     the values that the kernel writes, with their layouts
    cases      the names of the traces, the exported one first
    guessed    ops that read one of several parts of a tensor that a trace does not distinguish
    """

    ops: tuple[GroupOp, ...]
    makers: dict[Value, tuple[GroupOp, int]]
    elements: dict[Value, Size]
    stores: tuple[tuple[Value, Layout], ...]
    cases: tuple[str, ...]
    guessed: tuple[str, ...]


def fused_group(fused: Fused, number: int, others: Iterable[tuple[str, Fused]] = ()) -> FusedGroup:
    """Group `number` of a compiled step. `others` are the same step at other sizes; steps with
    other ops are left out. Raises InputError if the group is not a complete kernel."""
    group, trace = fused.groups[number], fused.computed
    members = fused.members(number)
    _refuse_parts(group, trace, members)
    same = [
        (name, other.computed)
        for name, other in others
        if _same_ops(trace, other.computed, members)
    ]
    traces = [trace, *(other for _, other in same)]
    ops = _ops(traces, members)
    reads, writes = external(group)
    stored = _stored(fused, number, writes, trace)
    from_memory = {value_of(key) for key in reads}
    makers = {
        value: (op, place)
        for op in ops
        for place, (value, _) in enumerate(op.outputs)
        if value not in from_memory
    }
    layouts = {value: layout for op in ops for value, layout in (*op.outputs, *op.inputs)}
    for op in ops:
        known = [value in from_memory for value, _ in op.outputs]
        if any(known) and not all(known):
            raise InputError(_CONTINUED)
    elements = {value: _elements(traces, value, layout) for value, layout in layouts.items()}
    elements |= {
        before_bias(op.outputs[0][0]): elements[op.outputs[0][0]]
        for op in ops
        if op.short in BIASED
    }
    return FusedGroup(
        ops=ops,
        makers=makers,
        elements=elements,
        stores=tuple((value, _layout_of(ops, value)) for value in stored),
        cases=("as exported", *(name for name, _ in same)),
        guessed=_guessed(trace, ops),
    )


def _refuse_parts(group: Group, trace: Trace, members: Sequence[int]) -> None:
    """Raise InputError unless the group consists of complete ops."""
    if group.library:
        raise InputError(f"{trace.ops[members[-1]].name} is a library call: no kernel is generated")
    if any(node.partial for node in group.nodes):
        raise InputError(
            "its reductions are split over the GPU's units and completed by a second launch"
        )
    if any(node.atomic for node in group.nodes):
        raise InputError("it scatters: it adds atomically into existing values")
    written = {key for node in group.nodes for key in node.writes}
    products = any(
        "convolution" in trace.ops[i].name or "mm." in trace.ops[i].name for i in members
    )
    parts = any(
        isinstance(key, int) and key not in written
        for node in group.nodes
        for key in map(value_of, node.reads)
    )
    if parts and not products:
        raise InputError(_CONTINUED)


def _same_ops(trace: Trace, other: Trace, members: Sequence[int]) -> bool:
    return len(trace.ops) == len(other.ops) and all(
        trace.ops[i].name == other.ops[i].name
        and trace.ops[i].signature.names == other.ops[i].signature.names
        and [len(t.shape) for t in (*trace.ops[i].inputs, *trace.ops[i].outputs)]
        == [len(t.shape) for t in (*other.ops[i].inputs, *other.ops[i].outputs)]
        for i in members
    )


def _ops(traces: Sequence[Trace], members: Sequence[int]) -> tuple[GroupOp, ...]:
    flow = dataflow(traces[0])
    places = [offsets(trace, flow.computes) for trace in traces]
    group_ops: list[GroupOp] = []
    for i in members:
        alike = [trace.ops[i] for trace in traces]
        reads = [
            layout([op.inputs[k] for op in alike], [where[i][k] for where in places])
            for k in range(len(alike[0].inputs))
        ]
        makes = [
            layout([op.outputs[k] for op in alike], [0] * len(alike))
            for k in range(len(alike[0].outputs))
        ]
        args = {
            name: _varying([op.signature.args.get(name) for op in alike])
            for name in alike[0].signature.args
        }
        group_ops.append(
            GroupOp(
                i,
                alike[0].name,
                alike[0].signature.names,
                tuple(zip(flow.reads[i], reads, strict=True)),
                tuple(zip(flow.makes[i], makes, strict=True)),
                args,
            )
        )
    return tuple(group_ops)


def _guessed(trace: Trace, ops: Sequence[GroupOp]) -> tuple[str, ...]:
    values = guessed(trace, dataflow(trace).computes)
    return tuple(dict.fromkeys(op.short for op in ops if values[op.number]))


def _varying(values: list[Any]) -> Any:
    """The value if it is equal in all cases; a Size for integers that differ."""
    first = values[0]
    if all(value == first for value in values):
        return first
    if isinstance(first, (list, tuple)):
        return [_varying(list(each)) for each in zip(*values, strict=True)]
    return Size(tuple(values))


def _elements(traces: Sequence[Trace], value: Value, layout: Layout) -> Size:
    sizes = [trace.storages[value[0]].nbytes // ITEM_BYTES[layout.dtype] for trace in traces]
    return Size(tuple(sizes))


def _stored(fused: Fused, number: int, writes: Iterable[Any], trace: Trace) -> list[Value]:
    """The values that the kernel writes for others, in the order of the fused op's outputs."""
    op = fused.trace.ops[number]
    storages = op.storages[len(op.inputs) :]
    if any(storage >= len(trace.storages) for storage in storages):
        raise InputError("another kernel computes a part of one of its ops")
    return [key for key in writes if isinstance(key, tuple) and key[0] in storages]


def _layout_of(ops: Sequence[GroupOp], value: Value) -> Layout:
    return next(layout for op in ops for v, layout in op.outputs if v == value)
