"""Count the bytecode instructions of a step from the calls and returns of Python's profiler.

Each event gives the instruction that a frame is at. Between two events a frame is assumed to take
the shortest path through its code, so that a loop counts once for each call in it. Instructions
that only some versions of Python have, and that take almost no time, are not counted.

A function is cold if it was called before in the step, but not among the last `RECENT` calls. Other
code has then replaced it in the caches, and its instructions take far longer than in a loop.
"""

from __future__ import annotations

import dis
from bisect import bisect_right
from collections import deque
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import NamedTuple

from simulator.tracing.python_code.by_code import ByCode

_UNCOUNTED = {
    "CACHE", "PRECALL", "RESUME", "NOP", "NOT_TAKEN", "EXTENDED_ARG", "PUSH_NULL", "MAKE_CELL",
    "COPY_FREE_VARS",
}  # fmt: skip
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "LOAD_SUPER_ATTR"}
_JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"}
_ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
RECENT = 32


class PathCounts(NamedTuple):
    """Instructions on a path through the code, and how many of them look up an attribute."""

    instructions: int
    attributes: int


@dataclass(slots=True)
class _Position:
    """The position of a counted frame: the offset of its last instruction."""

    offset: int
    is_cold: bool
    paths: dict[tuple[int, int], PathCounts]
    """The counts of the paths through its code so far, by their ends."""


class Bytecode:
    """Counts instructions as frames enter, advance and leave; `cold` of `instructions` are cold."""

    def __init__(self) -> None:
        self.instructions = 0
        self.attributes = 0
        self.cold = 0
        self._positions: dict[int, _Position] = {}  # by id: a frame would keep tensors alive
        self._calls = 0
        self._last_call: dict[int, int] = {}

    def enter(self, frame: FrameType) -> None:
        """A function is called, or a generator is resumed."""
        self._calls += 1
        code = id(frame.f_code)
        last = self._last_call.get(code, self._calls)
        self._last_call[code] = self._calls
        is_cold = self._calls - last >= RECENT
        paths = _graph(frame.f_code).paths
        self._positions[id(frame)] = _Position(frame.f_lasti, is_cold, paths)

    def advance(self, frame: FrameType) -> bool:
        """Count up to a frame's current instruction; False if the frame has not entered."""
        position = self._positions.get(id(frame))
        if position is None:
            return False
        offset = frame.f_lasti
        path = position.offset, offset
        counts = position.paths.get(path)
        if counts is None:
            counts = position.paths[path] = _graph(frame.f_code).shortest_path(*path)
        instructions, attributes = counts
        self.instructions += instructions
        self.attributes += attributes
        if position.is_cold:
            self.cold += instructions
        position.offset = offset
        return True

    def leave(self, frame: FrameType) -> None:
        """The frame returns, yields or raises."""
        if self.advance(frame):
            self.forget(frame)

    def forget(self, frame: FrameType) -> None:
        """Stop counting the instructions of a frame."""
        self._positions.pop(id(frame), None)


class _Code:
    """The instructions of a code object as a graph, each with its successors."""

    def __init__(self, code: CodeType) -> None:
        instructions = [*dis.get_instructions(code)]
        self.offsets = [instruction.offset for instruction in instructions]
        self.counts = [
            PathCounts(int(i.opname not in _UNCOUNTED), int(i.opname in _ATTRIBUTES))
            for i in instructions
        ]
        self.successors: list[tuple[int, ...]] = []
        self.paths: dict[tuple[int, int], PathCounts] = {}
        jumps = {*dis.hasjrel, *dis.hasjabs}
        for index, instruction in enumerate(instructions):
            next_ = () if instruction.opname in _JUMPS | _ENDS else (index + 1,)
            target = (self.index(instruction.argval),) if instruction.opcode in jumps else ()
            self.successors.append((*next_, *target))

    def index(self, offset: int) -> int:
        """The instruction at an offset; inline caches belong to the instruction before them."""
        return bisect_right(self.offsets, offset) - 1

    def shortest_path(self, start: int, end: int) -> PathCounts:
        """The fewest instructions after offset `start` up to and including the one at `end`; zero
        if only an exception leads there."""
        counts = [self.counts[index] for index in self.path(start, end)]
        return PathCounts(sum(c.instructions for c in counts), sum(c.attributes for c in counts))

    def path(self, start: int, end: int) -> list[int]:
        """The instructions on the shortest path after offset `start` up to and including the one at
        `end`; none if only an exception leads there."""
        first, last = self.index(start), self.index(end)
        successors = (0,) if first < 0 else self.successors[first]
        queue = deque((index, -1) for index in successors if index < len(self.counts))
        before: dict[int, int] = {}
        while queue:
            index, predecessor = queue.popleft()
            if index in before:
                continue
            before[index] = predecessor
            if index == last:
                passed = [index]
                while before[passed[-1]] >= 0:
                    passed.append(before[passed[-1]])
                return passed[::-1]
            queue.extend((i, index) for i in self.successors[index] if i < len(self.counts))
        return []


def path(code: CodeType, start: int, end: int) -> list[int]:
    """The offsets of the instructions on the shortest path after offset `start` up to and including
    the one at `end`."""
    graph = _graph(code)
    return [graph.offsets[index] for index in graph.path(start, end)]


_graph = ByCode(_Code)
