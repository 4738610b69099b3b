"""Replace ops of a trace and update the lifetimes of storages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from simulator.records import Op, Role, Signature, Storage, Tensor, Trace, row_major, touches


@dataclass
class Rewriting:
    """Collects changes; `done()` returns the changed trace and leaves `trace` unchanged.

    `put(i, ops)` replaces op i by `ops`, or removes it if `ops` is empty. `storage(...)` is the id
    of a new allocation, which lives from its first to its last use, or through the whole step if
    `permanent`. `resize` changes the size of an allocation from before the step.
    """

    trace: Trace
    _groups: dict[int, Sequence[Op]] = field(default_factory=dict[int, Sequence[Op]])
    _fresh: list[tuple[int, Role, bool]] = field(default_factory=list[tuple[int, Role, bool]])
    _sizes: dict[int, int] = field(default_factory=dict[int, int])

    def put(self, index: int, ops: Sequence[Op]) -> None:
        self._groups[index] = ops

    def storage(self, nbytes: int, role: Role = "activation", permanent: bool = False) -> int:
        self._fresh.append((nbytes, role, permanent))
        return len(self.trace.storages) + len(self._fresh) - 1

    def resize(self, storage: int, nbytes: int) -> None:
        self._sizes[storage] = nbytes

    def done(self) -> Trace:
        """The changed trace; the old one if nothing changed."""
        if not self._groups and not self._sizes:
            return self.trace
        old = self.trace
        ops: list[Op] = []
        place: list[int] = []  # index of the first op that replaces each old op
        for index, op in enumerate(old.ops):
            place.append(len(ops))
            ops.extend(self._groups.get(index, (op,)))
        place.append(len(ops))
        storages = [
            replace(s.moved(place), nbytes=self._sizes.get(number, s.nbytes))
            for number, s in enumerate(old.storages)
        ]
        first, last = touches(ops)
        for offset, (nbytes, role, permanent) in enumerate(self._fresh):
            number = len(old.storages) + offset
            born = -1 if permanent else first.get(number, -1)
            freed = None if permanent else last.get(number, -1) + 1
            storages.append(Storage(nbytes, born, freed, role))
        return replace(
            old.with_ops(ops, storages, place),
            weight_bytes=old.weight_bytes
            + sum(
                size - old.storages[n].nbytes
                for n, size in self._sizes.items()
                if old.storages[n].role == "weight"
            ),
        )


def dense(shape: tuple[int, ...], dtype: str) -> Tensor:
    """A contiguous tensor on the GPU."""
    return Tensor(shape, dtype, row_major(shape))


def call(
    like: Op,
    name: str,
    inputs: Mapping[str, tuple[Tensor, int]],
    outputs: Sequence[tuple[Tensor, int]],
    args: Mapping[str, object] | None = None,
    counted: bool = False,
) -> Op:
    """An op in the module and phase of another op; each tensor comes with its storage.

    With `counted`, the Python and module calls before the other op are counted for it.
    """
    storages = tuple(s for _, s in (*inputs.values(), *outputs))
    order: dict[int, int] = {}
    aliases = tuple(order.setdefault(s, len(order)) for s in storages)
    signature = Signature(
        name,
        tuple(t for t, _ in inputs.values()),
        tuple(t for t, _ in outputs),
        tuple(inputs),
        dict(args or {}),
        aliases,
    )
    if counted:
        return replace(like, signature=signature, storages=storages)
    return Op(signature, like.module, like.phase, storages)


class Shared:
    """Makes equal signatures one object, since the ops of a trace are costed once per object."""

    def __init__(self) -> None:
        self._signatures: dict[str, Signature] = {}

    def __call__(self, op: Op) -> Op:
        signature = self._signatures.setdefault(repr(op.signature), op.signature)
        return op if signature is op.signature else replace(op, signature=signature)
