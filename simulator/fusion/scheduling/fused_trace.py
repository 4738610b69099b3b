"""A trace whose ops are the launches of a compiled module. Lowering, L2 reuse, memory and the
schedule read it as they read an eager trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, cast

from msgspec.structs import replace

from simulator.fusion.fused import Fused
from simulator.fusion.graphs import graphs
from simulator.fusion.group import Group
from simulator.fusion.lowering.access import region_of, value_of
from simulator.fusion.lowering.epilogue import with_epilogue
from simulator.fusion.lowering.recompute import instructions
from simulator.fusion.node import Key
from simulator.fusion.scheduling.work import arguments
from simulator.records import Op, Signature, Storage, Tensor, Trace


def fused_trace(
    trace: Trace, groups: list[Group], rest: Iterable[int], templates: bool = False
) -> Fused:
    """The groups as ops, then the ops with indices `rest`, unchanged. Products with an epilogue run
    in the library, or in generated `templates`."""
    return _Building(trace, groups, templates).build(list(rest))


class _Building:
    def __init__(self, trace: Trace, groups: list[Group], templates: bool) -> None:
        self.trace, self.groups, self.graphs = trace, groups, graphs(trace)
        self.templates = templates
        self.signatures: dict[object, Signature] = {}
        self.internal: dict[Key, int] = {}
        self.readers: dict[Key, set[int]] = {}
        for number, group in enumerate(groups):
            for node in group.nodes:
                for key in node.reads:
                    self.readers.setdefault(value_of(key), set()).add(number)

    def build(self, rest: list[int]) -> Fused:
        from_outside = {s for i in rest for s in self.trace.ops[i].storages}
        ops = [self._op(number, group, from_outside) for number, group in enumerate(self.groups)]
        ops += [self.trace.ops[index] for index in rest]
        stretches = [self.graphs.of[group.nodes[0].ops[-1]][1] for group in self.groups]
        breaks = self.graphs.breaks_between(self.trace.breaks, stretches)
        place = {
            op: at
            for at, group in enumerate(self.groups)
            for node in group.nodes
            for op in node.ops
        }
        assumed = [replace(each, op=place.get(each.op, 0)) for each in self.trace.assumptions]
        launched = replace(
            self.trace, ops=ops, storages=self._storages(ops), assumptions=assumed, breaks=breaks
        )
        fused = Fused(launched, self.groups, self.trace)
        notes = list(fused.notes)
        if any(self.trace.ops[index].name.startswith("fused.") for index in rest):
            notes = ["compiled by rules like Inductor's, without running it"]
        if self.templates:
            notes.append(self._templates())
        return dataclasses.replace(fused, notes=tuple(notes))

    def _templates(self) -> str:
        count = sum(len(g.nodes) > 1 for g in self.groups if g.library)
        counted = f"{count or 'no'} product{'s' * (count != 1)}"
        return (
            f"max-autotune is approximated: {counted} with loops in a Triton template's epilogue, "
            "timed as the library's product alone; convolutions run in the library"
        )

    def _op(self, number: int, group: Group, from_outside: set[int]) -> Op:
        first = self.trace.ops[group.nodes[0].ops[-1]]
        if self.graphs.eager(group.nodes[0].ops[-1]):
            return first
        if group.library and len(group.nodes) > 1:
            return self._with_epilogue(number, group, from_outside)
        if group.library:
            node = group.nodes[0]
            first = node.call or first
            storages = tuple(self._storage(key) for key in (*node.reads, *node.writes))
            if node.call is None or len(storages) != len(first.storages):
                storages = first.storages
            return replace(
                first, storages=storages, python_calls=0, module_calls=0, autograd_nodes=0
            )
        reads, writes = external(group)
        needed = {
            key: size
            for key, size in writes.items()
            if self.readers.get(key, set()) - {number} or self._lasts(key, from_outside)
        }
        storages = tuple(self._storage(key) for key in (*reads, *needed))
        signature = self._signature(group, tuple(reads.values()), tuple(needed.values()))
        return Op(signature, first.module, first.phase, storages)

    def _with_epilogue(self, number: int, group: Group, from_outside: set[int]) -> Op:
        """The op of a product with loops over its result."""
        node, *loops = group.nodes
        own = node.call or self.trace.ops[node.ops[-1]]
        reads, writes = external(group)
        reads = {key: size for key, size in reads.items() if key not in node.reads}
        needed = {
            key: size
            for key, size in writes.items()
            if self.readers.get(key, set()) - {number} or self._lasts(key, from_outside)
        }
        ops = dict.fromkeys(op for each in group.nodes for op in each.ops)
        names = ", ".join(dict.fromkeys(self.trace.ops[op].name.split(".")[1] for op in ops))
        work = sum(each.flops for each in loops), instructions(loops)
        ins, outs = (tuple(map(in_bytes, each.values())) for each in (reads, needed))
        key = id(own.signature), ins, outs, work
        if key not in self.signatures:
            self.signatures[key] = with_epilogue(own, ins, outs, work, names, self.templates)
        storages = (*own.storages[: len(own.inputs)], *map(self._storage, (*reads, *needed)))
        return Op(self.signatures[key], own.module, own.phase, storages)

    def _lasts(self, key: Key, from_outside: set[int]) -> bool:
        if not isinstance(key, tuple):
            return False
        number = cast("tuple[int, Any]", key)[0]
        storage = self.trace.storages[number]
        unread = key not in self.readers
        lasts = storage.role != "activation" or storage.freed is None
        return lasts or number in from_outside or unread

    def _storage(self, key: Key) -> int:
        if isinstance(key, tuple):
            return cast("tuple[int, Any]", key)[0]
        return self.internal.setdefault(key, len(self.trace.storages) + len(self.internal))

    def _signature(
        self, group: Group, reads: tuple[int, ...], writes: tuple[int, ...]
    ) -> Signature:
        ops = dict.fromkeys(op for node in group.nodes for op in node.ops)
        names = ", ".join(dict.fromkeys(self.trace.ops[op].name.split(".")[1] for op in ops))
        reduction = group.reduces
        work = sum(node.flops for node in group.nodes), instructions(group.nodes)
        args = arguments(group.nodes, len(reads) + len(writes), work, names)
        kind = "pointwise" if reduction is None else "reduction"
        key = kind, reads, writes, tuple(args.values())
        if key not in self.signatures:
            self.signatures[key] = Signature(
                f"fused.{kind}.default",
                tuple(map(in_bytes, reads)),
                tuple(map(in_bytes, writes)),
                ("reads",) * len(reads),
                args,
            )
        return self.signatures[key]

    def _storages(self, ops: list[Op]) -> list[Storage]:
        """Storages alive from the first op that touches them to the last; 0 bytes if no op does."""
        first: dict[int, int] = {}
        last: dict[int, int] = {}
        size: dict[int, int] = {}
        for index, op in enumerate(ops):
            for storage, tensor in zip(op.storages, (*op.inputs, *op.outputs), strict=True):
                first.setdefault(storage, index)
                last[storage] = index
                size[storage] = max(size.get(storage, 0), tensor.nbytes)
        storages: list[Storage] = []
        for number, storage in enumerate(self.trace.storages):
            if storage.born < 0:
                storages.append(
                    storage
                    if storage.freed is None
                    else replace(storage, freed=last.get(number, 0) + 1)
                )
            elif number in first:
                freed = None if storage.freed is None else last[number] + 1
                storages.append(replace(storage, born=first[number], freed=freed))
            else:
                storages.append(replace(storage, nbytes=0, born=0, freed=0))
        for number in self.internal.values():
            begin, end = first.get(number, 0), last.get(number, 0) + 1
            storages.append(Storage(size.get(number, 0), begin, end, "activation"))
        return storages


def external(group: Group) -> tuple[dict[Key, int], dict[Key, int]]:
    """Bytes that a group reads from other groups, and that it writes, by value."""
    reads: dict[Key, int] = {}
    writes: dict[Key, int] = {}
    inside: set[Key] = set()
    for node in group.nodes:
        for key, size in node.reads.items():
            if value_of(key) not in inside and size:
                region = region_of(key)
                reads[region] = max(reads.get(region, 0), size)
        inside.update(node.writes)
        for key, size in node.writes.items():
            if not size:
                continue
            if key == node.piece_of:
                writes[key] = writes.get(key, 0) + size
            elif node.piece_of is None:
                writes[key] = max(writes.get(key, 0), size)
    return reads, writes


def in_bytes(size: int) -> Tensor:
    """A tensor of `size` bytes."""
    return Tensor((size,), "uint8", (1,))
