"""The optimizer of a network with more blocks: its lists hold the new blocks' tensors too.

The new tensors follow those of block 1 in each list, a block at a time. The host's work grows with
the number of tensors.
"""

from __future__ import annotations

from typing import Any

import msgspec

from simulator.blocks.chains import Chains
from simulator.blocks.optimizer_lists import lists
from simulator.records import TAIL, Op, Signature, Tensor, Trace

_LOOP = 20
"""If an op runs more instructions per tensor than this, they are assumed to loop over the
tensors."""


def longer_tail(trace: Trace, chains: Chains) -> dict[str, int]:
    """The host's work after the last op, in proportion to the optimizer's tensors."""
    before, after = chains.growth
    return {name: getattr(trace, name) * after // before for name in TAIL}


def with_more_work(op: Op, chains: Chains) -> Op:
    """An op before which the optimizer handles every tensor, with the host's work before it scaled
    to the longer network's number of tensors."""
    before, after = chains.growth
    if before == after:
        return op
    wrapped = op.wrapped * after // before
    counts = _longer_counts(op, before, after) if len(op.storages) < before else {}
    return msgspec.structs.replace(op, wrapped=wrapped, **counts)


def lengthened(op: Op, chains: Chains) -> Op:
    """An op of the optimizer whose lists hold the new blocks' tensors too."""
    signature = op.signature
    tensors = (*signature.inputs, *signature.outputs)
    aliases = signature.aliases or tuple(range(len(tensors)))
    entries: list[tuple[Tensor, int, int, str]] = []  # tensor, storage, old alias, name
    inputs = 0
    for start, length in lists(signature):
        name = signature.names[start] if start < len(signature.inputs) else ""
        listed = op.storages[start : start + length]
        for (place, _), storage in zip(
            _order(listed, chains), longer_list(listed, chains), strict=True
        ):
            at = start + place
            entries.append((tensors[at], storage, aliases[at], name))
        if start < len(signature.inputs):
            inputs = len(entries)
    storages = tuple(s for _, s, _, _ in entries)
    if len(entries) == len(tensors):
        return msgspec.structs.replace(op, storages=storages)
    numbers: dict[tuple[int, int], int] = {}
    lengthened_signature = Signature(
        signature.name,
        tuple(t for t, _, _, _ in entries[:inputs]),
        tuple(t for t, _, _, _ in entries[inputs:]),
        tuple(n for _, _, _, n in entries[:inputs]),
        {name: _longer_argument(value, chains) for name, value in signature.args.items()},
        tuple(numbers.setdefault((s, a), len(numbers)) for _, s, a, _ in entries),
    )
    counts = _longer_counts(op, len(tensors), len(entries))
    return msgspec.structs.replace(op, signature=lengthened_signature, storages=storages, **counts)


def longer_list(listed: tuple[int, ...], chains: Chains) -> list[int]:
    """The storages of a list, with those of the new blocks after block 1's."""
    return [_storage(listed[place], copy, chains) for place, copy in _order(listed, chains)]


def _order(listed: tuple[int, ...], chains: Chains) -> list[tuple[int, int]]:
    """For each entry of the longer list, the old index of the entry that it copies, and the number
    of the copy (0 for the entry itself)."""
    places = set(chains.first_places(listed) or chains.of_block_1.get(len(listed), ()))
    order: list[tuple[int, int]] = []
    group: list[int] = []
    for i in range(len(listed)):
        order.append((i, 0))
        if i in places:
            group.append(i)
        if group and i + 1 not in places:
            order.extend((each, copy) for copy in range(1, chains.added + 1) for each in group)
            group = []
    return order


def _storage(storage: int, copy: int, chains: Chains) -> int:
    """The storage of copy number `copy` of an entry. The entry itself (0) keeps its storage, which
    comes after the new storages of its chain."""
    if not copy:
        _, place = chains.place_of.get(storage, (0, 0))
        copy = chains.added if place > 0 else 0
    return chains.moved((storage,), copy)[0]


def _longer_counts(op: Op, before: int, after: int) -> dict[str, int]:
    """The host's work for a longer list: Python calls in proportion to the tensors, and
    instructions too if a loop over the tensors runs nearly all of them."""
    counts = {"python_calls": op.python_calls + (after - before) * (op.python_calls // before)}
    if op.instructions > _LOOP * before:
        for name in ("instructions", "cold_instructions", "attributes", "c_calls"):
            counts[name] = getattr(op, name) * after // before
    return counts


def _longer_argument(value: Any, chains: Chains) -> Any:
    if not isinstance(value, list) or len(value) not in chains.of_block_1:  # pyright: ignore
        return value  # pyright: ignore
    listed: list[Any] = value  # pyright: ignore
    places = chains.of_block_1[len(listed)]
    return [*listed, *(listed[i] for _ in range(chains.added) for i in places)]
