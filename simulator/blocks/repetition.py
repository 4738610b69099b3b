"""The trace of a network of identical blocks, from a trace of a few: block 2's ops are repeated.

Copies of the later run are inserted between consecutive runs of block 1 and block 2. Copies use the
new elements of the storages' chains, ops before them the elements before those, and ops after them
the elements after those. The optimizer takes each block's elements in turn. Storages are numbered
as the tracer does, in order of appearance.
"""

from __future__ import annotations

import msgspec

from simulator.blocks.chains import chains_of, neighbours
from simulator.blocks.lives import lifetimes, numbered_by_appearance
from simulator.blocks.longer_lists import lengthened, longer_tail, with_more_work
from simulator.blocks.optimizer_lists import series
from simulator.blocks.runs import (
    LEAST,
    Run,
    UnequalBlocksError,
    block_count,
    block_of,
    renumbered,
    runs,
)
from simulator.records import Assumption, Op, Trace

_NEAR = 3
"""Number of previous runs. A copied op waits for copies of ops within these runs, and otherwise for
the traced op."""


def repeated(trace: Trace, blocks: str, count: int) -> Trace:
    """The trace of the network with `count` blocks. Raises UnequalBlocksError if blocks differ or
    the trace has too few."""
    return Repetition(trace, blocks, count).trace


class Repetition:
    """The trace of a longer network.

    added      the number of new blocks
    trace      the longer trace
    place_of   the place of each traced op in the longer trace
    source_of  for each op of the longer trace, the traced op that it repeats
    """

    def __init__(self, trace: Trace, blocks: str, count: int) -> None:
        """Raises UnequalBlocksError if blocks differ or the trace has too few."""
        entries = runs(trace, blocks)
        few = block_count(trace, blocks)
        if few < LEAST or count < few:
            raise UnequalBlocksError(f"{few} blocks")
        self.added = count - few
        self.place_of: list[int] = []
        self.source_of: list[int] = []
        self._traced, self._blocks = trace, blocks
        self._ops: list[Op] = []
        self._run_of = [number for number, run in enumerate(entries) for _ in run.ops]
        self._chains = chains_of(trace, entries, self.added)
        earlier_of = {run.start: earlier for earlier, run in neighbours(entries)}
        self._copies_of: dict[int, list[int]] = {}
        for run in entries:
            if run.start in earlier_of:
                self._copies(run, earlier_of[run.start])
            if run.block is None:
                self._update(run)
            else:
                self._unchanged(run, self.added if run.block >= 2 else 0)
        self.trace = self._whole()

    def _copies(self, run: Run, earlier: Run) -> None:
        """Append the new blocks between the run of block 1 and that of block 2."""
        added, start = self.added, len(self._ops)
        forward = run.block == 2
        for copy in range(1, added + 1) if forward else range(added, 0, -1):
            for i in run.ops:
                self._append(i, self._moved(i, copy - 1 if forward else copy))
        for offset, (i, j) in enumerate(zip(run.ops, earlier.ops, strict=True)):
            places = [start + copy * len(run.ops) + offset for copy in range(added)]
            self._copies_of[i] = self._copies_of[j] = places if forward else places[::-1]

    def _unchanged(self, run: Run, shift: int) -> None:
        """Append a run as it was traced."""
        for i in run.ops:
            self.place_of.append(len(self._ops))
            self._append(i, self._moved(i, shift))

    def _update(self, run: Run) -> None:
        """Append the optimizer's ops, series and lists with the new blocks' tensors."""
        chains = self._chains
        for alike in series(self._traced, run.ops, chains.of_block_1):
            places = chains.of_block_1.get(len(alike)) if len(alike) > 1 else None
            for number, i in enumerate(alike):
                self.place_of.append(len(self._ops))
                if not places:
                    op = msgspec.structs.replace(self._traced.ops[i], after=self._after(i))
                    self._append(i, lengthened(with_more_work(op, chains), chains))
                    continue
                self._append(i, with_more_work(self._moved(i, 0), chains))
                if number == places[-1]:
                    for copy in range(1, chains.added + 1):
                        for place in places:
                            self._append(alike[place], self._moved(alike[place], copy))

    def _append(self, i: int, op: Op) -> None:
        self.source_of.append(i)
        self._ops.append(op)

    def _moved(self, i: int, shift: int) -> Op:
        """Append a traced op, with storages `shift` places further in their chains and a module
        `shift` blocks further."""
        op = self._traced.ops[i]
        after = self._after(i)
        storages = self._chains.moved(op.storages, shift)
        module = renumbered(op.module, self._blocks, shift)
        if after == op.after and storages == op.storages and module == op.module:
            return op
        return msgspec.structs.replace(op, after=after, storages=storages, module=module)

    def _after(self, i: int) -> tuple[int, ...]:
        """The ops for which a traced op waits, if it is appended now."""
        if not self._traced.ops[i].after:
            return ()
        here = len(self._ops)
        near = self._run_of[i] - _NEAR
        return tuple(
            [
                q if q < 0 else here - (i - q) if self._run_of[q] >= near else self.place_of[q]
                for q in self._traced.ops[i].after
            ]
        )

    def _whole(self) -> Trace:
        longer = msgspec.structs.replace(
            self._traced,
            ops=self._ops,
            storages=lifetimes(
                self._traced,
                self._ops,
                self.place_of,
                self._copies_of,
                self._run_of,
                self._chains,
            ),
            assumptions=self._assumptions(),
            code=self._code(),
            **longer_tail(self._traced, self._chains),
        )
        return numbered_by_appearance(longer, self._traced, self._chains)

    def _assumptions(self) -> list[Assumption]:
        by_op: dict[int, list[Assumption]] = {}
        for each in self._traced.assumptions:
            by_op.setdefault(each.op, []).append(each)
        return [
            msgspec.structs.replace(each, op=place)
            for place, i in enumerate(self.source_of)
            for each in by_op.get(i, ())
        ]

    def _code(self) -> dict[str, str]:
        """Lines of code by module path; new blocks have the lines of block 1."""
        added = self.added
        code: dict[str, str] = {}
        for path, line in self._traced.code.items():
            block = block_of(path, self._blocks)
            code[renumbered(path, self._blocks, added if (block or 0) >= 2 else 0)] = line
            for shift in range(1, added + 1) if block == 1 else ():
                code[renumbered(path, self._blocks, shift)] = line
        return code
