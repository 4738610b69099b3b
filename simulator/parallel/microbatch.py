"""One micro-batch of a traced step: its passes through the blocks, and the storages between
blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from simulator.blocks.runs import Run, block_of
from simulator.records import Op, Trace


@dataclass(frozen=True)
class Passes:
    """Ops of a micro-batch: those before the blocks, the blocks forward, the head forward and
    backward, the blocks backward (block 0 first), and those after the blocks."""

    before: range
    forward: list[range]
    head: range
    head_backward: range
    backward: list[range]
    after: range

    @property
    def forwards(self) -> list[range]:
        """The forward pass in time order."""
        return [self.before, *self.forward, self.head]

    @property
    def backwards(self) -> list[range]:
        """The backward pass in time order."""
        return [self.head_backward, *reversed(self.backward), self.after]


@dataclass(frozen=True)
class Microbatch:
    """A micro-batch and its storages; −1 stands for no storage.

    activations  [j] enters block j forward, [-1] leaves the last block
    gradients    [j] leaves block j backward, [-1] enters the last block
    own          storages that are allocated in the micro-batch and freed by its end
    shared       ops before the blocks that every stage runs, such as rotation angles
    """

    passes: Passes
    activations: list[int]
    gradients: list[int]
    own: set[int]
    shared: set[int]


def microbatch(trace: Trace, blocks: str, entries: Sequence[Run], number: int) -> Microbatch:
    """Micro-batch 0 or 1 of a trace whose runs are `entries`."""
    passes = _passes(trace, blocks, [run for run in entries if run.block is not None], number)
    activations = _passed(trace, passes.forwards)
    gradients = _passed(trace, passes.backwards)[::-1]
    own = _own(trace, [*passes.forwards, *passes.backwards])
    return Microbatch(passes, activations, gradients, own, _shared(trace, passes, activations[0]))


def _passes(trace: Trace, blocks: str, entries: list[Run], number: int) -> Passes:
    count = 1 + max(run.block or 0 for run in entries)
    begin = number * 2 * count
    forward = entries[begin:][:count]
    backward = entries[begin + count :][:count][::-1]

    def inside(op: Op) -> bool:
        return block_of(op.module, blocks) is not None

    def end_inside(run: Run) -> int:
        """The end of a run's ops up to the last op inside a block."""
        return 1 + max(i for i in run.ops if inside(trace.ops[i]))

    forwards = [run.ops for run in forward]
    if number == 0:
        entered = _first(trace, forward[0].ops, inside)
        before = range(forward[0].start, entered)
        forwards[0] = range(entered, forward[0].end)
    else:
        earlier = entries[begin - 1]
        rest = range(end_inside(earlier), earlier.end)
        before = range(_first(trace, rest, lambda op: op.phase == "forward"), earlier.end)
    left = end_inside(forward[-1])
    forwards[-1] = range(forwards[-1].start, left)
    rest = range(left, forward[-1].end)
    turn = _first(trace, rest, lambda op: op.phase == "backward")
    # the same number of ops outside blocks follows both blocks: they sum gradients
    trailing = backward[1].end - end_inside(backward[1]) if count > 1 else 0
    done = min(backward[0].end, end_inside(backward[0]) + trailing)
    backwards = [run.ops for run in backward]
    backwards[0] = range(backward[0].start, done)
    over = _first(trace, range(done, backward[0].end), lambda op: op.phase != "backward")
    return Passes(
        before,
        forwards,
        range(left, turn),
        range(turn, forward[-1].end),
        backwards,
        range(done, over),
    )


def _first(trace: Trace, places: range, matches: Callable[[Op], bool]) -> int:
    """The index of the first wanted op, or the end."""
    return next((i for i in places if matches(trace.ops[i])), places.stop)


def _passed(trace: Trace, spans: list[range]) -> list[int]:
    """The storage that each span of ops passes only to the next span: the largest one allocated in
    it."""
    passed: list[int] = []
    for place in range(len(spans) - 1):
        elsewhere = {
            s for span in spans[place + 2 :][:1] for i in span for s in trace.ops[i].storages
        }
        candidates = {
            s
            for i in spans[place + 1]
            for s in trace.ops[i].storages
            if trace.storages[s].born in spans[place] and trace.storages[s].role == "activation"
        }
        alone = (candidates - elsewhere) or candidates
        passed.append(max(alone, key=lambda s: (trace.storages[s].nbytes, s), default=-1))
    return passed


def _own(trace: Trace, spans: list[range]) -> set[int]:
    within = {i for span in spans for i in span}
    end = max(within) + 1
    return {
        s
        for i in within
        for s in trace.ops[i].storages
        if (stored := trace.storages[s]).born in within
        and stored.freed is not None
        and stored.freed <= end + 1
        and stored.role == "activation"
    }


def _shared(trace: Trace, passes: Passes, entering: int) -> set[int]:
    used_storages = {s for span in passes.forward for i in span for s in trace.ops[i].storages}
    used_storages.discard(entering)
    shared: set[int] = set()
    for i in reversed(passes.before):
        op = trace.ops[i]
        outputs = op.storages[len(op.inputs) :]
        if entering not in outputs and any(
            s in used_storages and trace.storages[s].born >= 0 for s in outputs
        ):
            shared.add(i)
            used_storages.update(op.storages)
    return shared
