"""A network of equal blocks from the trace of a few: block 2's ops are repeated.

The ops of a trace fall into runs, one each time that the step enters another block, forward or
backward. Runs of block 1 and block 2 that follow each other must be equal, op by op; copies of the
later one go between them. Storages at the same place in both runs are a chain, one element a block,
such as the residual stream or the first weight. Copies take new elements of the chain; what comes
before the copies refers to the elements before, and the rest to those after. Lists of the optimizer
take each block's elements in turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Any

import msgspec

from simulator.records import TAIL, Op, Signature, Storage, Tensor, Trace

LEAST = 4
"""Blocks that a trace must have: the first, two to compare, and the last."""
_LOOP = 20  # instructions a tensor, from which on they are a loop's
_NEAR = 3  # runs back in which a wait is for the neighbours' ops


class UnequalBlocksError(ValueError):
    """Blocks 1 and 2 of a trace do different things."""


@dataclass(frozen=True)
class Run:
    """Ops [start, end) that belong to one entry into a block; `block` is None in the optimizer."""

    block: int | None
    phase: str
    start: int
    end: int


def block_of(path: str, blocks: str) -> int | None:
    """The number of the block that a module path lies in, the blocks being "layers.0", …"""
    head, found, tail = path.partition(f"{blocks}.")
    number = tail.partition(".")[0]
    return int(number) if found and number.isdigit() and (not head or head[-1] == ".") else None


def runs(trace: Trace, blocks: str) -> list[Run]:
    """The runs of a trace in order; ops outside of all blocks belong to the run before."""
    starts: list[tuple[int, int | None, str]] = []
    now: tuple[int | None, str] = (0, "forward")
    for place, op in enumerate(trace.ops):
        block = block_of(op.module, blocks)
        here: tuple[int | None, str] = (None if op.phase == "optimizer" else block, op.phase)
        if (block is not None or op.phase == "optimizer") and (here != now or not starts):
            starts.append((place if starts else 0, here[0], here[1]))
            now = here
    ends = [start for start, _, _ in starts[1:]] + [len(trace.ops)]
    return [
        Run(block, phase, start, end)
        for (start, block, phase), end in zip(starts, ends, strict=True)
    ]


@dataclass
class Chains:
    """The elements of each chain, and where each storage lies: (chain, place)."""

    of: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    elements: list[list[int]] = field(default_factory=list[list[int]])
    fresh: list[list[int]] = field(default_factory=list[list[int]])

    def add(self, elements: list[int], more: int, first_free: int) -> int:
        """Add a chain with `more` new elements; returns the next free number."""
        self.of.update((s, (len(self.elements), i)) for i, s in enumerate(elements))
        self.elements.append(elements)
        self.fresh.append(list(range(first_free, first_free + more)))
        return first_free + more

    def at(self, chain: int, place: int) -> int:
        """The storage at a place of the longer chain: the first old one, the new ones, the rest."""
        fresh, old = self.fresh[chain], self.elements[chain]
        if place <= 0:
            return old[0]
        return fresh[place - 1] if place <= len(fresh) else old[place - len(fresh)]

    def moved(self, storages: tuple[int, ...], shift: int) -> tuple[int, ...]:
        """The storages, those of chains `shift` places further."""
        of = self.of
        return tuple([s if s not in of else self.at(of[s][0], of[s][1] + shift) for s in storages])


def repeated(trace: Trace, blocks: str, count: int) -> Trace:
    """The trace of the network with `count` blocks. Raises UnequalBlocksError where that cannot be
    told from this one."""
    found = runs(trace, blocks)
    here = 1 + max((run.block for run in found if run.block is not None), default=-1)
    more = count - here
    if more == 0:
        return trace
    if here < LEAST or more < 0:
        raise UnequalBlocksError(f"{here} blocks")
    pairs = _pairs(found)
    chains, free = _chains(trace, pairs, more)
    order = _listed(trace, found, chains)
    free = _state_chains(trace, found, chains, order, more, free)
    ops = _ops(trace, found, pairs, chains, order, more)
    storages = _storages(trace, ops, chains, free)
    return msgspec.structs.replace(
        trace,
        ops=ops,
        storages=storages,
        **_longer_tail(trace, order, more),
    )


def _pairs(found: list[Run]) -> list[tuple[Run, Run]]:
    """Runs of block 1 and block 2 that follow each other, in order of time."""
    pairs = [
        (a, b) for a, b in pairwise(found) if {a.block, b.block} == {1, 2} and a.phase == b.phase
    ]
    if 2 * len(pairs) != sum(run.block in (1, 2) for run in found) or not pairs:
        raise UnequalBlocksError("blocks 1 and 2 do not follow each other")
    return pairs


def _same(a: Op, b: Op) -> bool:
    """Do two ops do the same on storages of their own?"""
    mine, other = a.collective, b.collective
    return (
        a.signature == b.signature
        and a.stream == b.stream
        and (mine is None) == (other is None)
        and (
            mine is None
            or other is None
            or (mine.kind, mine.message_bytes, mine.ranks)
            == (other.kind, other.message_bytes, other.ranks)
        )
    )


def _chains(trace: Trace, pairs: list[tuple[Run, Run]], more: int) -> tuple[Chains, int]:
    following: dict[int, int] = {}
    for a, b in pairs:
        one, two = (a, b) if a.block == 1 else (b, a)
        if one.end - one.start != two.end - two.start:
            raise UnequalBlocksError("blocks 1 and 2 have different numbers of ops")
        for x, y in zip(
            trace.ops[one.start : one.end], trace.ops[two.start : two.end], strict=True
        ):
            if not _same(x, y):
                raise UnequalBlocksError(f"{x.name} in block 1 is {y.name} in block 2")
            for s, t in zip(x.storages, y.storages, strict=True):
                if s != t and following.setdefault(s, t) != t:
                    raise UnequalBlocksError("a storage of block 1 is two of block 2")
    chains, free = Chains(), len(trace.storages)
    for first in sorted(following.keys() - set(following.values())):
        elements = [first]
        while elements[-1] in following:
            elements.append(following[elements[-1]])
        free = chains.add(elements, more, free)
    return chains, free


def _listed(trace: Trace, found: list[Run], chains: Chains) -> dict[int, list[int]]:
    """Places of block 1 in the optimizer's lists, by their length."""
    order: dict[int, list[int]] = {}
    for op in _optimizer_ops(trace, found):
        for start, length in lists(op.signature):
            places = _first_places(op.storages[start : start + length], chains)
            if places and length > 1:
                order.setdefault(length, places)
    return order


def _first_places(listed: tuple[int, ...], chains: Chains) -> list[int]:
    """Places in a list of the first elements of chains."""
    of = [chains.of.get(s) for s in listed]
    return [i for i, each in enumerate(of) if each is not None and each[1] == 0]


def _optimizer_ops(trace: Trace, found: list[Run]) -> Iterator[Op]:
    for run in found:
        if run.block is None:
            yield from trace.ops[run.start : run.end]


def lists(signature: Signature) -> Iterator[tuple[int, int]]:
    """(start, length) of each list among inputs, then of the outputs."""
    start = 0
    for _, group in groupby(signature.names):
        length = len(list(group))
        yield start, length
        start += length
    if signature.outputs:
        yield start, len(signature.outputs)


def _state_chains(
    trace: Trace,
    found: list[Run],
    chains: Chains,
    order: dict[int, list[int]],
    more: int,
    free: int,
) -> int:
    """Chains of storages that only the optimizer touches."""
    for op in _optimizer_ops(trace, found):
        for start, length in lists(op.signature):
            listed = op.storages[start : start + length]
            if any(s in chains.of for s in listed):
                continue
            for place in order.get(length, ()):
                if listed[place] not in chains.of:
                    free = chains.add([listed[place]], more, free)
    return free


def _ops(
    trace: Trace,
    found: list[Run],
    pairs: list[tuple[Run, Run]],
    chains: Chains,
    order: dict[int, list[int]],
    more: int,
) -> list[Op]:
    templates = {later.start: later for _, later in pairs}
    place_of: list[int] = []  # of each old op
    run_of: list[int] = [
        number for number, run in enumerate(found) for _ in range(run.start, run.end)
    ]
    ops: list[Op] = []

    def moved(op: Op, old: int, shift: int) -> Op:
        here = len(ops)
        after = tuple(
            [
                q
                if q < 0
                else here - (old - q)
                if run_of[q] >= run_of[old] - _NEAR
                else place_of[q]
                for q in op.after
            ]
        )
        storages = chains.moved(op.storages, shift)
        if after == op.after and storages == op.storages:
            return op
        return msgspec.structs.replace(op, after=after, storages=storages)

    for run in found:
        template = templates.get(run.start)
        if template is not None:
            forward = template.block == 2
            for copy in range(1, more + 1) if forward else range(more, 0, -1):
                shift = copy - 1 if forward else copy
                for old in range(run.start, run.end):
                    ops.append(moved(trace.ops[old], old, shift))
        if run.block is None:
            for alike in series(trace, range(run.start, run.end), order):
                places = order.get(len(alike)) if len(alike) > 1 else None
                for i, old in enumerate(alike):
                    place_of.append(len(ops))
                    op = _more_work(moved(trace.ops[old], old, 0), order, more)
                    ops.append(op if places else _longer(op, trace.ops[old], chains, order))
                    if places and i == places[-1]:
                        for copy in range(1, more + 1):
                            ops.extend(
                                moved(trace.ops[alike[place]], alike[place], copy)
                                for place in places
                            )
            continue
        shift = more if run.block >= 2 else 0
        for old in range(run.start, run.end):
            place_of.append(len(ops))
            ops.append(moved(trace.ops[old], old, shift))
    return ops


def series(trace: Trace, places: range, order: Collection[int]) -> Iterator[list[int]]:
    """The ops of the optimizer; those that do the same to each tensor of a list, together."""
    for _, group in groupby(
        places,
        lambda i: trace.ops[i].signature if len(trace.ops[i].storages) == 1 else i,
    ):
        alike = list(group)
        length = next((n for n in order if len(alike) % n == 0), len(alike))
        for start in range(0, len(alike), length):
            yield alike[start : start + length]


def _longer_tail(trace: Trace, order: dict[int, list[int]], more: int) -> dict[str, int]:
    """The host's work after the last op, in proportion to the optimizer's tensors."""
    if len(order) != 1:
        return {}
    ((length, places),) = order.items()
    grown = length + more * len(places)
    return {name: getattr(trace, name) * grown // length for name in TAIL}


def _longer(op: Op, old: Op, chains: Chains, order: dict[int, list[int]]) -> Op:
    """An op of the optimizer whose lists hold the new blocks' tensors too."""
    signature = old.signature
    more = len(chains.fresh[0]) if chains.fresh else 0
    tensors = (*signature.inputs, *signature.outputs)
    aliases = signature.aliases or tuple(range(len(tensors)))
    entries: list[tuple[Tensor, int, int, str]] = []  # tensor, storage, old alias, name
    count_in = len(signature.inputs)
    inputs = 0
    for start, length in lists(signature):
        listed = old.storages[start : start + length]
        places = set(_first_places(listed, chains) or order.get(length, ()))
        name = signature.names[start] if start < count_in else ""
        last = max(places, default=-1)
        group: list[int] = []
        for i in range(length):
            at = start + i
            s = old.storages[at]
            chain = chains.of.get(s)
            shift = more if chain is not None and chain[1] > 0 else 0
            entries.append((tensors[at], chains.moved((s,), shift)[0], aliases[at], name))
            if i in places:
                group.append(at)
            if group and (i + 1 not in places or i == last):
                for copy in range(1, more + 1):
                    for each in group:
                        clone = chains.moved((old.storages[each],), copy)[0]
                        entries.append((tensors[each], clone, aliases[each], name))
                group = []
        if start < count_in:
            inputs = len(entries)
    if len(entries) == len(tensors):
        return msgspec.structs.replace(op, storages=tuple(s for _, s, _, _ in entries))
    numbers: dict[tuple[int, int], int] = {}
    renumbered = tuple(numbers.setdefault((s, a), len(numbers)) for _, s, a, _ in entries)
    longer = Signature(
        signature.name,
        tuple(t for t, _, _, _ in entries[:inputs]),
        tuple(t for t, _, _, _ in entries[inputs:]),
        tuple(n for _, _, _, n in entries[:inputs]),
        {name: _longer_list(value, order, more) for name, value in signature.args.items()},
        renumbered,
    )
    return msgspec.structs.replace(
        op,
        signature=longer,
        storages=tuple(s for _, s, _, _ in entries),
        **_longer_counts(op, len(tensors), len(entries)),
    )


def _more_work(op: Op, order: dict[int, list[int]], more: int) -> Op:
    """An op before which the optimizer handles every tensor, with the new blocks' tensors."""
    if len(order) != 1:
        return op
    ((length, places),) = order.items()
    grown = length + more * len(places)
    wrapped = op.wrapped * grown // length
    counts = _longer_counts(op, length, grown) if len(op.storages) < length else {}
    return msgspec.structs.replace(op, wrapped=wrapped, **counts)


def _longer_counts(op: Op, before: int, after: int) -> dict[str, int]:
    """The host's work for a longer list: Python calls that each tensor takes, and instructions
    where a loop over the tensors makes nearly all of them."""
    counts = {"python_calls": op.python_calls + (after - before) * (op.python_calls // before)}
    if op.instructions > _LOOP * before:
        for name in ("instructions", "cold_instructions", "attributes", "c_calls"):
            counts[name] = getattr(op, name) * after // before
    return counts


def _longer_list(value: Any, order: dict[int, list[int]], more: int) -> Any:
    if not isinstance(value, list) or len(value) not in order:  # pyright: ignore
        return value  # pyright: ignore
    listed: list[Any] = value  # pyright: ignore
    places = order[len(listed)]
    return [*listed, *(listed[i] for _ in range(more) for i in places)]


def _storages(trace: Trace, ops: list[Op], chains: Chains, count: int) -> list[Storage]:
    """Lifetimes as the touching ops have them, as long before and after as in the trace."""
    first, last = touched(ops, count)
    old_first, old_last = touched(trace.ops, len(trace.storages))
    sample = list(range(len(trace.storages))) + [0] * (count - len(trace.storages))
    for elements, fresh in zip(chains.elements, chains.fresh, strict=True):
        for s in fresh:
            sample[s] = elements[min(1, len(elements) - 1)]
    storages: list[Storage] = []
    for s in range(count):
        old = trace.storages[sample[s]]
        o = sample[s]
        born = old.born if old.born < 0 or first[s] < 0 else first[s] + old.born - old_first[o]
        freed = old.freed
        if freed is not None and freed >= len(trace.ops):
            freed = len(ops)
        elif freed is not None and last[s] >= 0:
            freed = min(len(ops), last[s] + freed - old_last[o])
        storages.append(Storage(old.nbytes, born, freed, old.role, old.device))
    return storages


def touched(ops: list[Op], count: int) -> tuple[list[int], list[int]]:
    """The first and the last op that touches each storage; −1: none."""
    first, last = [-1] * count, [-1] * count
    for place, op in enumerate(ops):
        for s in op.storages:
            if first[s] < 0:
                first[s] = place
            last[s] = place
    return first, last
