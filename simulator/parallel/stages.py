"""The step of one pipeline stage from the trace of two micro-batches on one rank.

The trace holds, for each of the two, what comes before the blocks, each block forward, the head and
its backward pass, each block backward and what comes after; then the optimizer. A stage keeps what
is its own and receives the rest. Its micro-batches follow the schedule's order: the first one as
traced, every later one as the second, on storages of its own. Messages wait for the op before them,
and have a stream for each direction and kind, so that no order of messages can block another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from simulator.parallel.blocks import Run, block_of, lists, runs, series, touched
from simulator.parallel.schedules import Action
from simulator.records import Collective, Op, Signature, Storage, Tensor, Trace

MESSAGE_WORK: dict[str, Any] = {
    "python_calls": 46, "instructions": 527, "attributes": 83, "c_calls": 11,
}  # fmt: skip
"""The host's work before a message, as counted in torch 2.13's Schedule1F1B."""
ACTION_WORK: dict[str, Any] = {
    "python_calls": 33, "instructions": 872, "attributes": 80, "c_calls": 56,
}  # fmt: skip
"""The host's work before a micro-batch's pass, as counted there."""
_STREAMS = {("send", 0): 10, ("recv", 0): 11, ("send", 1): 12, ("recv", 1): 13}
"""Streams of messages: activations 0, gradients 1."""


@dataclass(frozen=True)
class Place:
    """Where a stage stands: its first rank in the cluster, those of its neighbours in the
    pipeline's ring, and whether it holds the first and the last block of the network."""

    stage: int
    stages: int
    rank: int
    previous: int
    following: int

    @property
    def first(self) -> bool:
        return self.stage == 0

    @property
    def last(self) -> bool:
        return self.stage == self.stages - 1


@dataclass(frozen=True)
class _Parts:
    """Ops of one micro-batch: before, blocks forward, head forward and backward, blocks backward
    (block 0 first), after."""

    before: range
    forward: list[range]
    head: range
    head_backward: range
    backward: list[range]
    after: range


def staged(
    trace: Trace, blocks: str, actions: Iterable[Action], place: Place, chunks: int
) -> Trace:
    """The step of the stage at `place`, whose blocks are all of the trace's, in `chunks` equal
    parts that the schedule runs one by one."""
    found = runs(trace, blocks)
    count = 1 + max(run.block for run in found if run.block is not None)
    parts = [_parts(trace, blocks, found, count, which) for which in (0, 1)]
    optimizer = found[-1]
    ends = [_Ends.of(trace, each) for each in parts]
    step = _Step(trace, place, chunks, count, parts, ends)
    for action in actions:
        step.act(action)
    step.finish(range(optimizer.start, optimizer.end) if optimizer.block is None else range(0))
    storages = _storages(trace, step)
    return msgspec.structs.replace(trace, ops=step.ops, storages=storages)


def _parts(trace: Trace, blocks: str, found: list[Run], count: int, which: int) -> _Parts:
    mine = [run for run in found if run.block is not None][which * 2 * count :][: 2 * count]
    forward, backward = mine[:count], mine[count:][::-1]

    def own(run: Run) -> int:
        """The end of a run's own ops: those after the last one inside of a block are others'."""
        last = max(
            i
            for i in range(run.start, run.end)
            if block_of(trace.ops[i].module, blocks) is not None
        )
        return last + 1

    trailing = backward[1].end - own(backward[1]) if count > 1 else 0
    if which == 0:
        begin = next(
            i
            for i in range(forward[0].start, forward[0].end)
            if block_of(trace.ops[i].module, blocks) is not None
        )
        before = range(forward[0].start, begin)
        first = range(begin, forward[0].end)
    else:
        earlier = [run for run in found if run.block is not None][2 * count - 1]
        begin = next(
            (i for i in range(own(earlier), earlier.end) if trace.ops[i].phase == "forward"),
            earlier.end,
        )
        before = range(begin, earlier.end)
        first = range(forward[0].start, forward[0].end)
    tail = own(forward[-1])
    turn = next(
        (i for i in range(tail, forward[-1].end) if trace.ops[i].phase == "backward"),
        forward[-1].end,
    )
    done = min(backward[0].end, own(backward[0]) + trailing)
    over = next(
        (i for i in range(done, backward[0].end) if trace.ops[i].phase != "backward"),
        backward[0].end,
    )
    spans = [first, *(range(run.start, run.end) for run in forward[1:])]
    spans[-1] = range(spans[-1].start, tail)
    back = [range(run.start, run.end) for run in backward]
    back[0] = range(back[0].start, done)
    return _Parts(
        before, spans, range(tail, turn), range(turn, forward[-1].end), back, range(done, over)
    )


@dataclass(frozen=True)
class _Ends:
    """What passes between blocks: `x[j]` enters block j forward, x[count] leaves the last one;
    `g[j]` leaves block j backward, g[count] enters the last one."""

    x: list[int]
    g: list[int]

    @classmethod
    def of(cls, trace: Trace, parts: _Parts) -> _Ends:
        spans = [parts.before, *parts.forward, parts.head]
        x = [_passed(trace, spans[i], spans[i + 1], spans[i + 2 :]) for i in range(len(spans) - 1)]
        back = [parts.head_backward, *reversed(parts.backward), parts.after]
        g = [_passed(trace, back[i], back[i + 1], back[i + 2 :]) for i in range(len(back) - 1)]
        return cls(x, g[::-1])


def _passed(trace: Trace, made: range, used: range, later: list[range]) -> int:
    """The storage that ops `made` pass to ops `used` alone: the largest born there; −1: none."""
    elsewhere = {s for span in later[:1] for i in span for s in trace.ops[i].storages}
    candidates = {
        s
        for i in used
        for s in trace.ops[i].storages
        if trace.storages[s].born in made and trace.storages[s].role == "activation"
    }
    own = (candidates - elsewhere) or candidates
    return max(own, key=lambda s: (trace.storages[s].nbytes, s), default=-1)


class _Step:
    """The ops of the stage, as its schedule appends them."""

    def __init__(
        self,
        trace: Trace,
        place: Place,
        chunks: int,
        count: int,
        parts: list[_Parts],
        ends: list[_Ends],
    ) -> None:
        self.trace = trace
        self.place = place
        self.chunks = chunks
        self.count = count
        self.parts = parts
        self.ends = ends
        self.ops: list[Op] = []
        self.sample: list[int] = list(range(len(trace.storages)))  # the traced storage of each
        self.own = [self._own(each) for each in parts]
        self.passing: dict[tuple[str, int, int], int] = {}  # received storages
        self.names: dict[int, dict[int, int]] = {}  # by micro-batch, those of its storages
        self.place_of: dict[int, int] = {}
        self.extra: dict[str, int] = {}
        self.after: set[int] = set()
        self.needed = [self._needed(*each) for each in zip(parts, ends, strict=True)]

    def _own(self, parts: _Parts) -> set[int]:
        """Storages that are born in a micro-batch and freed by its end."""
        spans = (
            parts.before, *parts.forward, parts.head, parts.head_backward, *parts.backward,
            parts.after,
        )  # fmt: skip
        within = {i for span in spans for i in span}
        end = max(within) + 1
        return {
            s
            for i in within
            for s in self.trace.ops[i].storages
            if (stored := self.trace.storages[s]).born in within
            and stored.freed is not None
            and stored.freed <= end + 1
            and stored.role == "activation"
        }

    def _needed(self, parts: _Parts, ends: _Ends) -> set[int]:
        """Ops before the blocks that a later stage runs too, such as rotation angles."""
        wanted = {s for span in parts.forward for i in span for s in self.trace.ops[i].storages}
        wanted.discard(ends.x[0])
        keep: set[int] = set()
        for i in reversed(parts.before):
            op = self.trace.ops[i]
            outputs = op.storages[len(op.inputs) :]
            if ends.x[0] not in outputs and any(
                s in wanted and self.trace.storages[s].born >= 0 for s in outputs
            ):
                keep.add(i)
                wanted.update(op.storages)
        return keep

    def act(self, action: Action) -> None:
        """Run a micro-batch forward or backward through a chunk, with its messages."""
        template = min(action.microbatch, 1)
        parts, ends = self.parts[template], self.ends[template]
        each = self.count // self.chunks
        low, high = action.chunk * each, (action.chunk + 1) * each
        first = self.place.first and action.chunk == 0
        last = self.place.last and action.chunk == self.chunks - 1
        names = self.names.setdefault(action.microbatch, {})
        self.extra = dict(ACTION_WORK)
        if action.kind == "forward":
            if not first:
                names[ends.x[low]] = self._fresh(ends.x[low])
                self._message("recv", 0, self.place.previous, names[ends.x[low]], action)
            self._run(
                (i for i in parts.before if first or i in self.needed[template]), template, names
            )
            for block in range(low, high):
                self._run(parts.forward[block], template, names)
            if last:
                self._run(parts.head, template, names)
            else:
                sent = self._named(ends.x[high], template, names)
                self._message("send", 0, self.place.following, sent, action)
            return
        if last:
            self._run(parts.head_backward, template, names)
        else:
            names[ends.g[high]] = self._fresh(ends.g[high])
            self._message("recv", 1, self.place.following, names[ends.g[high]], action)
        for block in reversed(range(low, high)):
            self._run(parts.backward[block], template, names)
        if first:
            self._run(parts.after, template, names)
        else:
            sent = self._named(ends.g[low], template, names)
            self._message("send", 1, self.place.previous, sent, action)

    def _fresh(self, storage: int) -> int:
        self.sample.append(storage)
        return len(self.sample) - 1

    def _named(self, storage: int, template: int, names: dict[int, int]) -> int:
        """A micro-batch's own storage in the place of the traced one."""
        if storage not in self.own[template]:
            return storage
        if storage not in names:
            names[storage] = self._fresh(storage)
        return names[storage]

    def _run(self, places: Iterable[int], template: int, names: dict[int, int]) -> None:
        for i in places:
            op = self.trace.ops[i]
            storages = tuple([self._named(s, template, names) for s in op.storages])
            after = tuple(sorted({*self.after, *self._moved(op.after)}))
            self.after = set()
            work = {name: getattr(op, name) + more for name, more in self.extra.items()}
            self.extra = {}
            self.place_of[i] = len(self.ops)
            self.ops.append(msgspec.structs.replace(op, storages=storages, after=after, **work))

    def _moved(self, after: tuple[int, ...]) -> list[int]:
        return [q if q < 0 else self.place_of[q] for q in after if q < 0 or q in self.place_of]

    def _message(self, kind: str, sort: int, peer: int, storage: int, action: Action) -> None:
        """Send or receive a storage; what receives is waited for."""
        nbytes = self.trace.storages[self.sample[storage]].nbytes
        tensor = Tensor((nbytes // 2,), "bfloat16", (1,))
        name = "c10d.send.default" if kind == "send" else "c10d.recv_.default"
        what = "activations" if sort == 0 else "gradients"
        collective = Collective(
            kind, nbytes, (self.place.rank, peer), None, f"{what} of a micro-batch", sort
        )
        last = max(
            (i for i in range(len(self.ops) - 1, -1, -1) if not self.ops[i].stream), default=-1
        )
        self.ops.append(
            Op(
                Signature(name, (tensor,), (), ("tensors",), {}),
                "",
                "forward" if sort == 0 else "backward",
                (storage,),
                stream=_STREAMS[kind, sort],
                after=(last,) if last >= 0 else (),
                collective=collective,
                **MESSAGE_WORK,
            )
        )
        if kind == "recv":
            self.after.add(len(self.ops) - 1)

    def finish(self, optimizer: range) -> None:
        """The optimizer's ops, without the weights that other stages hold."""
        ops = self.trace.ops
        held = {s for op in self.ops for s in op.storages}
        dropped: dict[int, set[int]] = {}
        for i in optimizer:
            for start, length in lists(ops[i].signature):
                listed = ops[i].storages[start : start + length]
                away = {
                    place
                    for place, s in enumerate(listed)
                    if s not in held and self.trace.storages[s].role in ("weight", "gradient")
                }
                if away and length > 1:
                    dropped.setdefault(length, set()).update(away)
        for alike in series(self.trace, optimizer, dropped):
            away = dropped.get(len(alike), set()) if len(alike) > 1 else set[int]()
            for place, i in enumerate(alike):
                if place in away:
                    continue
                self._run((i,), 0, {})
                if dropped:
                    self.ops[-1] = _without(self.ops[-1], dropped)


def _without(op: Op, dropped: dict[int, set[int]]) -> Op:
    """An op whose lists of these lengths lack these places."""
    signature = op.signature
    keep: list[int] = []
    for start, length in lists(signature):
        away = dropped.get(length, ())
        keep.extend(start + place for place in range(length) if place not in away)
    count = len(signature.inputs)
    if len(keep) == count + len(signature.outputs):
        return op
    tensors = (*signature.inputs, *signature.outputs)
    aliases = signature.aliases or tuple(range(len(tensors)))
    inputs = [i for i in keep if i < count]
    numbers: dict[int, int] = {}
    shorter = Signature(
        signature.name,
        tuple(tensors[i] for i in inputs),
        tuple(tensors[i] for i in keep if i >= count),
        tuple(signature.names[i] for i in inputs),
        {name: _kept(value, dropped) for name, value in signature.args.items()},
        tuple(numbers.setdefault(aliases[i], len(numbers)) for i in keep),
    )
    return msgspec.structs.replace(
        op, signature=shorter, storages=tuple(op.storages[i] for i in keep)
    )


def _kept(value: Any, dropped: dict[int, set[int]]) -> Any:
    if not isinstance(value, list) or len(value) not in dropped:  # pyright: ignore
        return value  # pyright: ignore
    listed: list[Any] = value  # pyright: ignore
    return [each for i, each in enumerate(listed) if i not in dropped[len(listed)]]


def _storages(trace: Trace, step: _Step) -> list[Storage]:
    """Lifetimes as the ops of the stage have them. What no op touches is another stage's."""
    count = len(step.sample)
    first, last = touched(step.ops, count)
    _, old_last = touched(trace.ops, len(trace.storages))
    storages: list[Storage] = []
    for s in range(count):
        o = step.sample[s]
        old = trace.storages[o]
        if last[s] < 0:
            storages.append(Storage(0, -1, None, old.role, old.device))
            continue
        born = -1 if old.born < 0 else first[s]
        freed = old.freed
        if freed is not None:
            freed = len(step.ops) if freed >= len(trace.ops) else last[s] + freed - old_last[o]
            freed = min(len(step.ops), max(freed, last[s] + 1))
        storages.append(Storage(old.nbytes, born, freed, old.role, old.device))
    return storages
