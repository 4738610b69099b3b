"""The update of a training step: the ops of its optimizer, apart from those of the network.

An optimizer's ops depend on the parameters, and on the layout and the order of their gradients. One
update completes all families of a network in which these are the same, as a comparison with traces
must show. An update is stored as a trace of these ops. Its storages are all weights, then all
gradients, in the order of the step, then those of the optimizer. Its other fields that depend on
the network are empty.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec.structs import replace as changed

from simulator.errors import InputError
from simulator.formats.atomic import write_whole
from simulator.formats.trace_file import decoded, encoded
from simulator.records import COUNTED, TAIL, Storage, Tensor, Trace
from simulator.symbols.expressions import Expression, constant
from simulator.symbols.family import Family, SignatureTemplate, TensorTemplate
from simulator.symbols.family_file import as_half, unpacked
from simulator.symbols.probes import Tracer
from simulator.symbols.symbolic import Symbolic
from simulator.symbols.templates import ProgramMismatchError, Template

_SHARED = ("weight", "gradient")
"""The roles of the network's storages that an optimizer reads and writes."""
_CHANGED = (*TAIL, "optimizer")
"""The fields of a trace that depend on the optimizer, apart from ops and storages."""


def update_of(step: Trace) -> Trace:
    """The update of a step. Raises ProgramMismatchError if it touches storages of the network other
    than weights and gradients."""
    start = _start([op.phase for op in step.ops])
    network_count = _network_storages(step.storages, start)
    shared = [i for role in _SHARED for i in range(network_count) if step.storages[i].role == role]
    order = [*shared, *range(network_count, len(step.storages))]
    place = {old: new for new, old in enumerate(order)}

    def moved(storage: Storage) -> Storage:
        born, freed = storage.born, storage.freed
        return changed(
            storage,
            born=max(born - start, -1),
            freed=None if freed is None else max(freed - start, 0),
        )

    try:
        ops = [
            changed(op, storages=tuple([place[s] for s in op.storages])) for op in step.ops[start:]
        ]
    except KeyError as error:
        raise ProgramMismatchError(
            f"the optimizer touches storage {error} of the network"
        ) from error
    storages = [moved(step.storages[i]) for i in order]
    empty: dict[str, Any] = {"samples": 0, "tokens": None, "gpu": "", "assumptions": []}
    return changed(step, ops=ops, storages=storages, breaks=[], code={}, asked=[], **empty)


def save_update(update: Trace, path: Path) -> None:
    """Write an update. Raises InputError if writing fails."""
    write_whole(path, lzma.compress(encoded(update), preset=6))


def load_update(path: Path, half: str = "") -> Trace:
    """Read an update; `half` as in `family_file.load`. Raises InputError if the file cannot be
    read or is damaged."""
    try:
        return decoded(as_half(unpacked(path.read_bytes()), half), str(path))
    except (OSError, lzma.LZMAError, ValueError) as error:
        raise InputError(f"cannot read the update {path}: {error}") from error


def with_update(families: Symbolic, update: Trace, tracer: Tracer) -> Symbolic:
    """Families with another update. `tracer` traces points without a family."""
    programs = _Updated(families.programs, update)
    return replace(families, tracer=tracer, programs=programs, _cached={})


class _Updated(Mapping[int, Family]):
    """Families by number; each gets the other update at its first use."""

    def __init__(self, families: Mapping[int, Family], update: Trace) -> None:
        self._families, self._update = families, update
        self._updated: dict[int, Family] = {}

    def __getitem__(self, number: int) -> Family:
        if number not in self._updated:
            self._updated[number] = updated(self._families[number], self._update)
        return self._updated[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._families)

    def __len__(self) -> int:
        return len(self._families)


def updated(family: Family, update: Trace) -> Family:
    """A family of training steps whose update is replaced. Raises ProgramMismatchError if the
    family has other weights."""
    modules, phases, touched, *counts = family.op_columns
    start = _start(phases)
    sizes = _Sizes(family)
    lives = [Storage(0, *life) for life in zip(*family.lives, strict=True)]
    network_count = _network_storages(lives, start)
    shared = [i for role in _SHARED for i in range(network_count) if lives[i].role == role]
    if [lives[i].role for i in shared] != [s.role for s in update.storages[: len(shared)]] or any(
        s.role in _SHARED for s in update.storages[len(shared) :]
    ):
        raise ProgramMismatchError("the update belongs to other weights")
    place = [*shared, *range(network_count, network_count + len(update.storages) - len(shared))]
    storages = [
        *_freed(lives[:network_count], len(phases), start + len(update.ops)),
        *(_later(storage, start) for storage in update.storages[len(shared) :]),
    ]
    for old, storage in zip(shared, update.storages, strict=False):
        if lives[old].freed == len(phases):  # gradients, which remain without an optimizer
            storages[old] = changed(storages[old], freed=_later(storage, start).freed)
    distinct, rows = update.signatures
    first = 1 + max(family.rows[:start], default=-1)
    signatures = [*family.signatures[:first], *map(sizes.signature, distinct)]
    ops = update.ops
    columns = (
        [*modules[:start], *(op.module for op in ops)],
        [*phases[:start], *(op.phase for op in ops)],
        [*touched[:start], *(tuple([place[s] for s in op.storages]) for op in ops)],
        *(
            [*column[:start], *(getattr(op, name) for op in ops)]
            for name, column in zip(COUNTED, counts, strict=True)
        ),
        [s.born for s in storages],
        [s.freed for s in storages],
        [s.role for s in storages],
        [s.device for s in storages],
    )
    own = [sizes.slot(s.nbytes) for s in update.storages[len(shared) :]]
    return Family(
        expressions=sizes.expressions,
        tensors=sizes.tensors,
        signatures=signatures,
        rows=[*family.rows[:start], *(first + row for row in rows)],
        storages=[*family.storages[:network_count], *own],
        header=_header(family.header, {name: getattr(update, name) for name in _CHANGED}),
        assumptions=family.assumptions,
        _columns=columns,
    )


def _start(phases: Sequence[str]) -> int:
    """The number of the first op of the optimizer."""
    return phases.index("optimizer") if "optimizer" in phases else len(phases)


def _network_storages(storages: Sequence[Storage], start: int) -> int:
    """The number of storages of the network, which come before those of the optimizer."""
    own = (i for i, s in enumerate(storages) if s.role == "optimizer" or s.born >= start)
    return next(own, len(storages))


def _freed(storages: Sequence[Storage], end: int, new_end: int) -> list[Storage]:
    """The storages of the network; those freed at the old end of the step are freed at the new
    one."""
    return [s if s.freed != end else changed(s, freed=new_end) for s in storages]


def _later(storage: Storage, start: int) -> Storage:
    """A storage of an update after `start` ops of the network."""
    born, freed = storage.born, storage.freed
    return changed(
        storage,
        born=born if born < 0 else start + born,
        freed=None if freed is None else start + freed,
    )


def _header(header: Template, fields: Mapping[str, Any]) -> Template:
    kind, content = header
    if kind == "same":
        return kind, content | fields
    return kind, content | {name: ("same", value) for name, value in fields.items()}


class _Sizes:
    """The sizes and tensors of a family, to which those of an update are added."""

    def __init__(self, family: Family) -> None:
        self.expressions: list[Expression] = list(family.expressions)
        self.tensors: list[TensorTemplate] = list(family.tensors)
        self._slots = {e: slot for slot, e in enumerate(self.expressions)}
        self._tensors = {tensor: place for place, tensor in enumerate(self.tensors)}

    def slot(self, size: int) -> int:
        """The slot of a fixed size."""
        expression = constant(size)
        if expression not in self._slots:
            self._slots[expression] = len(self.expressions)
            self.expressions.append(expression)
        return self._slots[expression]

    def tensor(self, tensor: Tensor) -> int:
        """The place of a tensor of fixed shape."""
        slots = [tuple(map(self.slot, sizes)) for sizes in (tensor.shape, tensor.stride)]
        form = (slots[0], slots[1], tensor.dtype, tensor.device)
        if form not in self._tensors:
            self._tensors[form] = len(self.tensors)
            self.tensors.append(form)
        return self._tensors[form]

    def signature(self, of: Any) -> SignatureTemplate:
        """The template of a signature of fixed sizes."""
        inputs, outputs = (tuple(map(self.tensor, each)) for each in (of.inputs, of.outputs))
        return SignatureTemplate(of.name, inputs, outputs, of.names, ("same", of.args), of.aliases)
