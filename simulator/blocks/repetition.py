"""A network of equal blocks from the trace of a few: block 2's ops are repeated.

Where runs of block 1 and block 2 follow each other, copies of the later one go between them. Copies
take the new elements of the storages' chains; what comes before the copies refers to the elements
before, and the rest to those after. The optimizer takes each block's elements in turn.
"""

from __future__ import annotations

import msgspec

from simulator.blocks.chains import Chains, chains_of, neighbours
from simulator.blocks.longer_lists import lengthened, longer_tail, with_more_work
from simulator.blocks.optimizer_lists import series
from simulator.blocks.runs import LEAST, Run, UnequalBlocksError, runs
from simulator.records import Op, Storage, Trace, touches

_NEAR = 3
"""Runs back in which a wait is for the neighbours' ops."""


def repeated(trace: Trace, blocks: str, count: int) -> Trace:
    """The trace of the network with `count` blocks. Raises UnequalBlocksError where blocks
    differ and where the trace has too few."""
    entries = runs(trace, blocks)
    traced = 1 + max((run.block for run in entries if run.block is not None), default=-1)
    if count == traced:
        return trace
    if traced < LEAST or count < traced:
        raise UnequalBlocksError(f"{traced} blocks")
    chains = chains_of(trace, entries, count - traced)
    ops = _Repetition(trace, entries, chains).ops
    return msgspec.structs.replace(
        trace,
        ops=ops,
        storages=_storages(trace, ops, chains),
        **longer_tail(trace, chains),
    )


class _Repetition:
    """The ops of the longer network."""

    def __init__(self, trace: Trace, entries: list[Run], chains: Chains) -> None:
        self.trace = trace
        self.chains = chains
        self.ops: list[Op] = []
        self.place_of: list[int] = []  # of each traced op
        self.run_of = [number for number, run in enumerate(entries) for _ in run.ops]
        later = {run.start: run for _, run in neighbours(entries)}
        for run in entries:
            if run.start in later:
                self.copies(run)
            if run.block is None:
                self.update(run)
            else:
                self.traced(run, chains.added if run.block >= 2 else 0)

    def copies(self, run: Run) -> None:
        """Append the new blocks between the run of block 1 and that of block 2."""
        added = self.chains.added
        forward = run.block == 2
        for copy in range(1, added + 1) if forward else range(added, 0, -1):
            for i in run.ops:
                self.ops.append(self.moved(i, copy - 1 if forward else copy))

    def traced(self, run: Run, shift: int) -> None:
        """Append a run as it was traced."""
        for i in run.ops:
            self.place_of.append(len(self.ops))
            self.ops.append(self.moved(i, shift))

    def update(self, run: Run) -> None:
        """Append the optimizer's ops, series and lists with the new blocks' tensors."""
        chains = self.chains
        for alike in series(self.trace, run.ops, chains.of_block_1):
            places = chains.of_block_1.get(len(alike)) if len(alike) > 1 else None
            for number, i in enumerate(alike):
                self.place_of.append(len(self.ops))
                if not places:
                    op = msgspec.structs.replace(self.trace.ops[i], after=self.after(i))
                    self.ops.append(lengthened(with_more_work(op, chains), chains))
                    continue
                self.ops.append(with_more_work(self.moved(i, 0), chains))
                if number == places[-1]:
                    for copy in range(1, chains.added + 1):
                        self.ops.extend(self.moved(alike[place], copy) for place in places)

    def moved(self, i: int, shift: int) -> Op:
        """A traced op at the end of the ops, on storages `shift` places further in their chains."""
        op = self.trace.ops[i]
        after = self.after(i)
        storages = self.chains.moved(op.storages, shift)
        if after == op.after and storages == op.storages:
            return op
        return msgspec.structs.replace(op, after=after, storages=storages)

    def after(self, i: int) -> tuple[int, ...]:
        """What a traced op waits for, if it is appended now."""
        here = len(self.ops)
        near = self.run_of[i] - _NEAR
        return tuple(
            [
                q if q < 0 else here - (i - q) if self.run_of[q] >= near else self.place_of[q]
                for q in self.trace.ops[i].after
            ]
        )


def _storages(trace: Trace, ops: list[Op], chains: Chains) -> list[Storage]:
    """Lifetimes as the touching ops have them, as long before and after as in the trace."""
    first, last = touches(ops)
    traced_first, traced_last = touches(trace.ops)
    sample = [*range(len(trace.storages)), *[0] * (chains.end - len(trace.storages))]
    for elements, new in zip(chains.elements, chains.new, strict=True):
        for s in new:
            sample[s] = elements[min(1, len(elements) - 1)]
    storages: list[Storage] = []
    for s, traced in enumerate(sample):
        old = trace.storages[traced]
        born, freed = old.born, old.freed
        if born >= 0 and s in first:
            born += first[s] - traced_first[traced]
        if freed is not None and freed >= len(trace.ops):
            freed = len(ops)
        elif freed is not None and s in last:
            freed = min(len(ops), freed + last[s] - traced_last[traced])
        storages.append(Storage(old.nbytes, born, freed, old.role, old.device))
    return storages
