"""The step of one pipeline stage from the trace of two micro-batches on one rank.

For each of the two, the trace has the ops before the blocks, each block forward, the head and its
backward pass, each block backward and the ops after them; then the optimizer. A stage runs its own
part and receives the rest. Its micro-batches follow the schedule's order. The first micro-batch
runs as traced; every later one runs like the second traced one, on separate storages. A message
waits for the op before it, and there is a stream for each direction and kind of message, so that
messages cannot block each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from simulator.blocks.optimizer_lists import lists, series, shortened
from simulator.blocks.runs import runs
from simulator.parallel.microbatch import Microbatch, microbatch
from simulator.parallel.schedules import Action
from simulator.records import Collective, Op, Signature, Storage, Tensor, Trace, touches

MESSAGE_WORK: dict[str, Any] = {
    "python_calls": 46,
    "instructions": 527,
    "attributes": 83,
    "c_calls": 11,
}
"""The host's work before a message, as counted in torch 2.13's Schedule1F1B."""
ACTION_WORK: dict[str, Any] = {
    "python_calls": 33,
    "instructions": 872,
    "attributes": 80,
    "c_calls": 56,
}
"""The host's work before a micro-batch's pass, from the same count."""
_STREAMS = {("send", 0): 10, ("recv", 0): 11, ("send", 1): 12, ("recv", 1): 13}
"""Streams of messages: activations 0, gradients 1."""


@dataclass(frozen=True)
class Place:
    """The position of a stage: its first rank in the cluster, those of its neighbours in the
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


def staged(
    trace: Trace, blocks: str, actions: Iterable[Action], place: Place, chunks: int
) -> Trace:
    """The step of the stage at `place`. Its blocks are all blocks of the trace, in `chunks` equal
    parts that the schedule runs one by one."""
    entries = runs(trace, blocks)
    stage = _Stage(trace, place, chunks, [microbatch(trace, blocks, entries, n) for n in (0, 1)])
    for action in actions:
        stage.act(action)
    stage.update(entries[-1].ops if entries[-1].block is None else range(0))
    return msgspec.structs.replace(trace, ops=stage.ops, storages=_storages(trace, stage))


class _Stage:
    """The ops of a stage, as its schedule appends them."""

    def __init__(
        self, trace: Trace, place: Place, chunks: int, templates: list[Microbatch]
    ) -> None:
        self.trace = trace
        self.place = place
        self.chunks = chunks
        self.templates = templates
        self.ops: list[Op] = []
        # for each new storage, the traced one that it copies
        self.sample: list[int] = list(range(len(trace.storages)))
        # for each micro-batch, the new ids of its storages
        self.names: dict[int, dict[int, int]] = {}
        self.place_of: dict[int, int] = {}
        self.last_kernel = -1  # the last op that is not a message
        self.extra: dict[str, int] = {}  # host work to be added to that of the next op
        self.after: set[int] = set()  # the messages that the next op waits for

    def act(self, action: Action) -> None:
        """Run a micro-batch forward or backward through a chunk, with its messages."""
        template = self.templates[min(action.microbatch, 1)]
        blocks = len(template.passes.forward) // self.chunks
        chunk = range(action.chunk * blocks, (action.chunk + 1) * blocks)
        self.extra = dict(ACTION_WORK)
        if action.kind == "forward":
            self.forward(action, template, chunk)
        else:
            self.backward(action, template, chunk)

    def forward(self, action: Action, template: Microbatch, chunk: range) -> None:
        """Receive activations, run the chunk's blocks and send the result. The first stage receives
        nothing; the last one runs the head instead of sending."""
        passes, names = template.passes, self.names.setdefault(action.microbatch, {})
        first = self.place.first and action.chunk == 0
        if not first:
            received = self.received(template.activations[chunk.start], names)
            self.message("recv", 0, self.place.previous, received)
        self.run((i for i in passes.before if first or i in template.shared), template, names)
        for block in chunk:
            self.run(passes.forward[block], template, names)
        if self.place.last and action.chunk == self.chunks - 1:
            self.run(passes.head, template, names)
        else:
            sent = self.named(template.activations[chunk.stop], template, names)
            self.message("send", 0, self.place.following, sent)

    def backward(self, action: Action, template: Microbatch, chunk: range) -> None:
        """Receive gradients, run the chunk's blocks and send the result. The last stage runs the
        head's backward pass instead of receiving; the first one sends nothing."""
        passes, names = template.passes, self.names.setdefault(action.microbatch, {})
        if self.place.last and action.chunk == self.chunks - 1:
            self.run(passes.head_backward, template, names)
        else:
            received = self.received(template.gradients[chunk.stop], names)
            self.message("recv", 1, self.place.following, received)
        for block in reversed(chunk):
            self.run(passes.backward[block], template, names)
        if self.place.first and action.chunk == 0:
            self.run(passes.after, template, names)
        else:
            sent = self.named(template.gradients[chunk.start], template, names)
            self.message("send", 1, self.place.previous, sent)

    def added(self, storage: int) -> int:
        """Add a storage like a traced one, and return its id."""
        self.sample.append(storage)
        return len(self.sample) - 1

    def received(self, storage: int, names: dict[int, int]) -> int:
        """Add a storage that a message fills and that replaces the traced one in `names`."""
        names[storage] = self.added(storage)
        return names[storage]

    def named(self, storage: int, template: Microbatch, names: dict[int, int]) -> int:
        """The storage of a micro-batch that replaces a traced one."""
        if storage not in template.own:
            return storage
        if storage not in names:
            names[storage] = self.added(storage)
        return names[storage]

    def run(self, places: Iterable[int], template: Microbatch, names: dict[int, int]) -> None:
        """Append traced ops on a micro-batch's own storages."""
        for i in places:
            op = self.trace.ops[i]
            storages = tuple([self.named(s, template, names) for s in op.storages])
            earlier = [q if q < 0 else self.place_of.get(q) for q in op.after]
            after = tuple(sorted({*self.after, *(q for q in earlier if q is not None)}))
            self.after = set()
            work = {name: getattr(op, name) + more for name, more in self.extra.items()}
            self.extra = {}
            self.place_of[i] = len(self.ops)
            if not op.stream:
                self.last_kernel = len(self.ops)
            self.ops.append(msgspec.structs.replace(op, storages=storages, after=after, **work))

    def message(self, kind: str, content: int, peer: int, storage: int) -> None:
        """Send or receive a storage of activations (0) or gradients (1); the next op waits for a
        received one."""
        nbytes = self.trace.storages[self.sample[storage]].nbytes
        tensor = Tensor((nbytes // 2,), "bfloat16", (1,))
        name = "c10d.send.default" if kind == "send" else "c10d.recv_.default"
        what = "activations" if content == 0 else "gradients"
        collective = Collective(
            kind, nbytes, (self.place.rank, peer), None, f"{what} of a micro-batch", content
        )
        if kind == "recv":
            self.after.add(len(self.ops))
        self.ops.append(
            Op(
                Signature(name, (tensor,), (), ("tensors",), {}),
                "",
                "forward" if content == 0 else "backward",
                (storage,),
                stream=_STREAMS[kind, content],
                after=(self.last_kernel,) if self.last_kernel >= 0 else (),
                collective=collective,
                **MESSAGE_WORK,
            )
        )

    def update(self, optimizer: range) -> None:
        """Append the optimizer's ops, without the weights that other stages hold."""
        ops = self.trace.ops
        own_storages = {s for op in self.ops for s in op.storages}
        dropped: dict[int, set[int]] = {}
        for i in optimizer:
            for start, length in lists(ops[i].signature):
                listed = ops[i].storages[start : start + length]
                away = {
                    place
                    for place, s in enumerate(listed)
                    if s not in own_storages
                    and self.trace.storages[s].role in ("weight", "gradient")
                }
                if away and length > 1:
                    dropped.setdefault(length, set()).update(away)
        for equal_ops in series(self.trace, optimizer, dropped):
            away = dropped.get(len(equal_ops), set()) if len(equal_ops) > 1 else set[int]()
            for place, i in enumerate(equal_ops):
                if place not in away:
                    self.run((i,), self.templates[0], {})
                    self.ops[-1] = shortened(self.ops[-1], dropped)


def _storages(trace: Trace, stage: _Stage) -> list[Storage]:
    """The storages with lifetimes from the ops of the stage; storages that no op touches belong to
    other stages."""
    first, last = touches(stage.ops)
    _, traced_last = touches(trace.ops)
    storages: list[Storage] = []
    for s, traced in enumerate(stage.sample):
        old = trace.storages[traced]
        if s not in last:
            storages.append(Storage(0, -1, None, old.role, old.device))
            continue
        freed = old.freed
        if freed is not None:
            end = len(stage.ops)
            freed = end if freed >= len(trace.ops) else last[s] + freed - traced_last[traced]
            freed = min(end, max(freed, last[s] + 1))
        born = -1 if old.born < 0 else first[s]
        storages.append(Storage(old.nbytes, born, freed, old.role, old.device))
    return storages
