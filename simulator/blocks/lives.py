"""The storages of a repeated trace: their lifetimes, and their numbers in order of appearance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from simulator.blocks.chains import Chains
from simulator.blocks.longer_lists import longer_list
from simulator.records import Op, Storage, Trace, touches


def lifetimes(
    trace: Trace,
    ops: list[Op],
    place_of: Sequence[int],
    copies_of: Mapping[int, Sequence[int]],
    run_of: Sequence[int],
    chains: Chains,
) -> list[Storage]:
    """The storages of the longer trace, which consists of `ops`. A storage is born and freed at the
    same distance from the ops that touch it as in the original. Storages that all blocks free at
    one op are freed at that op. Storages that blocks 1 and 2 free at corresponding ops of later
    runs, such as saved ones that no backward op reads, are freed at that op of the same copy.
    `place_of` and `run_of` have an entry for each traced op; `copies_of` has the places of the
    copies of ops of blocks 1 and 2."""
    first, last = touches(ops)
    traced_first, traced_last = touches(trace.ops)
    sample = [*range(len(trace.storages)), *[0] * (chains.end - len(trace.storages))]
    for elements, new in zip(chains.elements, chains.new, strict=True):
        for s in new:
            sample[s] = elements[min(1, len(elements) - 1)]
    copy_of = {s: n for new in chains.new for n, s in enumerate(new)}
    storages: list[Storage] = []
    for s, traced in enumerate(sample):
        old = trace.storages[traced]
        born, freed = old.born, old.freed
        if born >= 0 and s in first:
            born += first[s] - traced_first[traced]
        if freed is not None and freed >= len(trace.ops):
            freed = len(ops)
        elif freed is not None and s in last:
            end = traced_last[traced]
            is_later = run_of[freed] > run_of[end] + 1
            is_common = _freed_together(trace, traced_last, traced, chains)
            if is_common is None:
                is_common = is_later
            if is_common or (is_later and freed in copies_of and s not in copy_of):
                freed = place_of[freed]
            elif is_later and freed in copies_of:
                freed = copies_of[freed][copy_of[s]]
            else:
                freed = last[s] + freed - end
        storages.append(Storage(old.nbytes, born, freed, old.role, old.device))
    return storages


def _freed_together(
    trace: Trace, last: Mapping[int, int], storage: int, chains: Chains
) -> bool | None:
    """Whether the storages of a chain are all freed at one op, not each after its last use. None
    for a storage outside all chains."""
    chain, _ = chains.place_of.get(storage, (None, 0))
    if chain is None or len(chains.elements[chain]) < 2:
        return None
    one, two = chains.elements[chain][:2]
    return one in last and trace.storages[one].freed == trace.storages[two].freed


def numbered_by_appearance(longer: Trace, traced: Trace, chains: Chains) -> Trace:
    """The longer trace with its storages numbered as the tracer does."""
    order = dict.fromkeys(_appearance(longer.ops, traced, chains))
    numbers = {s: number for number, s in enumerate(order)}
    return msgspec.structs.replace(
        longer,
        ops=[
            msgspec.structs.replace(op, storages=tuple([numbers[s] for s in op.storages]))
            for op in longer.ops
        ],
        storages=[longer.storages[s] for s in order],
    )


def _appearance(ops: Iterable[Op], traced: Trace, chains: Chains) -> Iterator[int]:
    """The storages in the order of the tracer, with repetitions: weights, buffers and inputs, then
    those of the ops; gradients and optimizer state come before the optimizer's ops."""
    yield from _of_roles(traced, chains, "weight", "buffer", "input")
    updating = False
    for op in ops:
        if op.phase == "optimizer" and not updating:
            updating = True
            yield from _of_roles(traced, chains, "gradient", "optimizer")
        yield from op.storages
    yield from _of_roles(traced, chains, "gradient", "optimizer", "activation")


def _of_roles(traced: Trace, chains: Chains, *roles: str) -> list[int]:
    listed = [s for s, storage in enumerate(traced.storages) if storage.role in roles]
    return longer_list(tuple(listed), chains)
