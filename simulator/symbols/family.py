"""A family of traces: one program whose sizes are expressions of batch and sequence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from simulator.records import (
    COUNTED,
    TAIL,
    Assumption,
    Break,
    Op,
    Signature,
    Storage,
    Tensor,
    Trace,
)
from simulator.schedule.launch_plan import share_structure
from simulator.symbols.expressions import Expression, Point, Search
from simulator.symbols.templates import (
    ProgramMismatchError,
    Slots,
    Template,
    fill,
    slots_in,
    template,
)

_OP_COLUMNS = 3 + len(COUNTED)
TensorTemplate = tuple[tuple[int, ...], tuple[int, ...], str, str]
"""Slots of the shape, slots of the stride, dtype, device."""


@dataclass(frozen=True)
class SignatureTemplate:
    """A signature whose tensors are indices into the family's `tensors`."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    names: tuple[str, ...]
    args: Template
    aliases: tuple[int, ...]


@dataclass(frozen=True)
class Family:
    """The traces of one program. `expressions` holds each distinct size by slot; `tensors` and
    `signatures` hold each distinct tensor and signature; `rows` holds the index of each op's
    signature."""

    expressions: list[Expression]
    tensors: list[TensorTemplate]
    signatures: list[SignatureTemplate]
    rows: list[int]
    storages: list[int]
    header: Template
    assumptions: list[tuple[int, str, Template]]
    _columns: tuple[list[Any], ...]

    @staticmethod
    def fit(points: Sequence[Point], traces: Sequence[Trace]) -> Family:
        """The family of traces with equal programs.

        Raises ProgramMismatchError if a size has no expression.
        """
        first, slots = traces[0], Slots()
        distinct = [trace.signatures[0] for trace in traces]
        # Ops may share a signature at one point by coincidence, if B·S equals a width there.
        joint: dict[tuple[int, ...], int] = {}
        rows = [
            joint.setdefault(kinds, len(joint))
            for kinds in zip(*(trace.signatures[1] for trace in traces), strict=True)
        ]
        tensors: dict[TensorTemplate, int] = {}

        def tensor_index(parts: tuple[Tensor, ...]) -> int:
            form = (
                tuple(slots.slot(sizes) for sizes in zip(*(t.shape for t in parts), strict=True)),
                tuple(slots.slot(steps) for steps in zip(*(t.stride for t in parts), strict=True)),
                parts[0].dtype,
                parts[0].device,
            )
            return tensors.setdefault(form, len(tensors))

        signatures: list[SignatureTemplate] = []
        for kinds in joint:
            variants = [distinct[place][kind] for place, kind in enumerate(kinds)]
            common = variants[0]
            signatures.append(
                SignatureTemplate(
                    common.name,
                    tuple(map(tensor_index, zip(*(s.inputs for s in variants), strict=True))),
                    tuple(map(tensor_index, zip(*(s.outputs for s in variants), strict=True))),
                    common.names,
                    template([s.args for s in variants], slots),
                    common.aliases,
                )
            )
        storages = [
            slots.slot([s.nbytes for s in variants])
            for variants in zip(*(trace.storages for trace in traces), strict=True)
        ]
        assumptions = [
            (variants[0].op, variants[0].name, template([a.taken for a in variants], slots))
            for variants in zip(*(trace.assumptions for trace in traces), strict=True)
        ]
        header = template([_header(trace) for trace in traces], slots)
        columns = (
            [op.module for op in first.ops],
            [op.phase for op in first.ops],
            [op.storages for op in first.ops],
            *([getattr(op, name) for op in first.ops] for name in COUNTED),
            [s.born for s in first.storages],
            [s.freed for s in first.storages],
            [s.role for s in first.storages],
            [s.device for s in first.storages],
        )
        return Family(
            expressions=slots.expressions(Search(points)),
            tensors=list(tensors),
            signatures=signatures,
            rows=rows,
            storages=storages,
            header=header,
            assumptions=assumptions,
            _columns=columns,
        )

    def at(self, batch: int, seq: int) -> Trace:
        """The trace at one point, with its `signatures` set."""
        sizes = [expression.at(batch, seq) for expression in self.expressions]
        kinds: dict[Tensor, Tensor] = {}
        tensors: list[Tensor] = []
        for shape, stride, dtype, device in self.tensors:
            tensor = Tensor(
                tuple([sizes[i] for i in shape]), dtype, tuple([sizes[i] for i in stride]), device
            )
            tensors.append(kinds.setdefault(tensor, tensor))
        unique: dict[Any, int] = {}
        signatures: list[Signature] = []
        places: list[int] = []
        for number, form in enumerate(self.signatures):
            if number in self._alone and number in self._fixed_signatures:
                places.append(len(signatures))
                signatures.append(self._fixed_signatures[number])
                continue
            inputs = tuple([tensors[i] for i in form.inputs])
            outputs = tuple([tensors[i] for i in form.outputs])
            args = fill(form.args, sizes)
            key = (
                form.name,
                *map(id, inputs),
                0,
                *map(id, outputs),
                form.names,
                repr(args),
                form.aliases,
            )
            place = unique.setdefault(key, len(signatures))
            if place == len(signatures):
                signature = Signature(form.name, inputs, outputs, form.names, args, form.aliases)
                if number in self._fixed:  # one object for all points
                    signature = self._fixed_signatures.setdefault(number, signature)
                signatures.append(signature)
            places.append(place)
        rows = self.rows
        if len(signatures) < len(places):  # some signatures are equal at this point only
            rows = [places[row] for row in rows]
        ops, lives = self.op_columns, self.lives
        header: dict[str, Any] = dict(fill(self.header, sizes))
        header["breaks"] = msgspec.convert(header.get("breaks", []), list[Break])
        trace = Trace(
            ops=list(map(Op, map(signatures.__getitem__, rows), *ops)),
            storages=list(map(Storage, map(sizes.__getitem__, self.storages), *lives)),
            assumptions=[
                Assumption(op, name, fill(taken, sizes)) for op, name, taken in self.assumptions
            ],
            **header,
        )
        cached = cast("dict[str, Any]", trace.__dict__)
        cached["signatures"] = signatures, list(rows)  # the cached property, computed already
        share_structure(self, trace)
        return trace

    def with_counts(self, trace: Trace) -> Family:
        """The family with the host's counts, and the lines of code, of a fresh trace at one of its
        points. These change if edited code runs the same ops; the caller must check the ops at
        other points. Raises ProgramMismatchError if the trace has more or fewer ops."""
        if len(trace.ops) != len(self.rows):
            raise ProgramMismatchError(
                f"the trace has {len(trace.ops)} ops, expected {len(self.rows)}"
            )
        counts = [[getattr(op, name) for op in trace.ops] for name in COUNTED]
        names = (*TAIL, "code")
        kind, content = self.header
        if kind == "same":
            header: Template = kind, content | {name: getattr(trace, name) for name in names}
        else:
            header = kind, content | {name: ("same", getattr(trace, name)) for name in names}
        columns = (*self._columns[:3], *counts, *self.lives)
        return replace(self, header=header, _columns=columns)

    def signature(self, number: int, sizes: Sequence[int]) -> Signature:
        """The signature `number` with these sizes, by slot."""
        form = self.signatures[number]

        def tensor(place: int) -> Tensor:
            shape, stride, dtype, device = self.tensors[place]
            return Tensor(
                tuple([sizes[i] for i in shape]), dtype, tuple([sizes[i] for i in stride]), device
            )

        return Signature(
            form.name,
            tuple(map(tensor, form.inputs)),
            tuple(map(tensor, form.outputs)),
            form.names,
            fill(form.args, sizes),
            form.aliases,
        )

    @cached_property
    def varying(self) -> list[tuple[int, ...]]:
        """For each signature, its slots whose sizes vary from point to point."""
        fixed = [not any(atoms for _, atoms in e.terms) for e in self.expressions]
        varying: list[tuple[int, ...]] = []
        for form in self.signatures:
            slots = {
                slot
                for place in (*form.inputs, *form.outputs)
                for part in self.tensors[place][:2]
                for slot in part
            }
            slots |= slots_in(form.args)
            varying.append(tuple(sorted(slot for slot in slots if not fixed[slot])))
        return varying

    @property
    def op_columns(self) -> tuple[list[Any], ...]:
        """Module, phase, storages and counts of each op."""
        return self._columns[:_OP_COLUMNS]

    @property
    def lives(self) -> tuple[list[Any], ...]:
        """Birth, end, role and device of each storage."""
        return self._columns[_OP_COLUMNS:]

    @cached_property
    def _fixed(self) -> frozenset[int]:
        """The signatures without a varying size, such as those of an optimizer."""
        fixed = [not any(atoms for _, atoms in e.terms) for e in self.expressions]
        tensors = [all(fixed[i] for i in (*t[0], *t[1])) for t in self.tensors]
        return frozenset(
            number
            for number, form in enumerate(self.signatures)
            if form.args[0] == "same" and all(tensors[i] for i in (*form.inputs, *form.outputs))
        )

    @cached_property
    def _alone(self) -> frozenset[int]:
        """The signatures in `_fixed` that no other signature equals at any point, because it has
        another name or another number of tensors."""
        shapes = [(form.name, len(form.inputs), len(form.outputs)) for form in self.signatures]
        times = Counter(shapes)
        return frozenset(number for number in self._fixed if times[shapes[number]] == 1)

    @cached_property
    def _fixed_signatures(self) -> dict[int, Signature]:
        return {}

    @property
    def limits(self) -> set[int]:
        """The lengths beyond which a size no longer grows with the sequence."""
        return {atom.most for e in self.expressions for atom in e.adjusted if atom.most}

    def sizes(self, batches: NDArray[np.int64], seqs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Every distinct size at every point, [slots, points]."""
        table = np.empty((len(self.expressions), batches.size), np.int64)
        for row, expression in zip(table, self.expressions, strict=True):
            row[:] = expression.at(batches, seqs)
        return table


def _header(trace: Trace) -> dict[str, Any]:
    columns = ("ops", "storages", "assumptions")
    return {name: getattr(trace, name) for name in trace.__struct_fields__ if name not in columns}
