"""The storages of a traced step: size, lifetime, role and device of each."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from simulator.records import Op, Role, Storage

_BEFORE_THE_STEP = -1


@dataclass
class _Life:
    """A storage of an unfinished trace; `freed` is None while it is alive."""

    nbytes: int
    born: int
    freed: int | None
    role: Role
    device: str


class Storages:
    """Numbers storages in order of appearance and notes at which op each is born and freed.

    `ops` is the list of recorded ops; its length is the number of the op that runs now.
    """

    def __init__(self, ops: Sequence[Op]) -> None:
        self._ops = ops
        self._numbers: dict[int, int] = {}  # numbers of live storages, by address
        self._lives: list[_Life] = []
        self._on_free: dict[int, weakref.ref[Any]] = {}

    def number(self, tensor: torch.Tensor, born: int = _BEFORE_THE_STEP) -> int:
        """The number of a tensor's storage; a new storage is born at op `born`."""
        storage = tensor.untyped_storage()
        number = self._numbers.get(storage._cdata)
        return self._begin(storage, tensor.device, born) if number is None else number

    def resized(self, storage: torch.UntypedStorage) -> None:
        """Mark a storage whose size has changed as freed, and start a new one. FSDP2 changes sizes
        when it allocates and frees the memory of its unsharded weights."""
        number = self._numbers.pop(storage._cdata, None)
        if number is not None and self._lives[number].nbytes:
            self._lives[number].freed = len(self._ops)
        self._on_free.pop(storage._cdata, None)
        if storage.nbytes():
            self._begin(storage, storage.device, len(self._ops))

    def _begin(self, storage: torch.UntypedStorage, where: torch.device, born: int) -> int:
        address, number = storage._cdata, len(self._lives)
        device = "cpu" if where.type == "cpu" else "cuda"  # "meta" represents the GPU
        self._lives.append(_Life(storage.nbytes(), born, None, "activation", device))
        self._numbers[address] = number

        def freed(_: object) -> None:
            self._numbers.pop(address, None)
            self._on_free.pop(address, None)
            self._lives[number].freed = len(self._ops)

        self._on_free[address] = weakref.ref(storage, freed)
        return number

    def during(self, nbytes: int) -> None:
        """Add a storage of `nbytes` on the GPU that exists only while the op runs that runs now."""
        here = len(self._ops)
        self._lives.append(_Life(nbytes, here, here + 1, "activation", "cuda"))

    def own(self, tensor: torch.Tensor, role: Role) -> int:
        """Give a tensor's storage a role; a storage not seen before is older than the step."""
        is_new = tensor.untyped_storage()._cdata not in self._numbers
        number = self.number(tensor)
        if is_new or role != "activation":
            self._lives[number].role = role
        return number

    def own_view(self, tensor: torch.Tensor) -> None:
        """Record size 0 for a storage whose memory other storages already count."""
        self._lives[self.own(tensor, "weight")].nbytes = 0

    def outlive(self, known: Iterable[torch.Tensor]) -> bool:
        """Whether an activation exists after the step, besides the `known` tensors."""
        numbers = {self.number(tensor) for tensor in known}
        return any(
            life.freed is None and life.born >= 0 and life.role == "activation"
            for number, life in enumerate(self._lives)
            if number not in numbers
        )

    def records(self) -> list[Storage]:
        """All storages seen so far, in order of appearance."""
        return [
            Storage(
                nbytes=life.nbytes,
                born=life.born,
                freed=life.freed,
                role=life.role,
                device=life.device,
            )
            for life in self._lives
        ]
