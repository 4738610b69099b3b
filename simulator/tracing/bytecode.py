"""How many bytecode instructions a step runs, from the calls and returns of Python's profiler.

Each event says at which instruction a frame stands. Between two of them the frame took the shortest
way through its code, so that a loop is counted as often as it calls something. Instructions that
only one version of Python has, and that take next to nothing, are left out.

A function that was called before in the step, but not among the last `RECENT` calls, is cold: other
code has taken its place in the caches, and its instructions take far longer than in a loop.
"""

from __future__ import annotations

import dis
from bisect import bisect_right
from collections import deque
from types import CodeType, FrameType

_UNCOUNTED = {
    "CACHE", "PRECALL", "RESUME", "NOP", "NOT_TAKEN", "EXTENDED_ARG", "PUSH_NULL", "MAKE_CELL",
    "COPY_FREE_VARS",
}  # fmt: skip
_ATTRIBUTES = {"LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "LOAD_SUPER_ATTR"}
_JUMPS = {"JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE"}
_ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"}
RECENT = 32
Way = tuple[int, int]
"""Instructions in all, and those among them that look up an attribute."""


class Bytecode:
    """Told of frames that are entered, seen and left. `cold` of the `instructions` are cold."""

    def __init__(self) -> None:
        self.instructions = 0
        self.attributes = 0
        self.cold = 0
        self._standing: dict[int, list[int]] = {}  # by id: a frame would hold its tensors
        self._calls = 0
        self._last_call: dict[int, int] = {}

    def entered(self, frame: FrameType) -> None:
        """A call, or a generator that goes on."""
        self._calls += 1
        code = id(frame.f_code)
        last = self._last_call.get(code, self._calls)
        self._last_call[code] = self._calls
        self._standing[id(frame)] = [frame.f_lasti, self._calls - last >= RECENT]

    def seen(self, frame: FrameType) -> bool:
        """A call from a frame. False for one that was not entered, which counts for nothing."""
        standing = self._standing.get(id(frame))
        if standing is None:
            return False
        now = frame.f_lasti
        instructions, attributes = _way(frame.f_code, standing[0], now)
        self.instructions += instructions
        self.attributes += attributes
        if standing[1]:
            self.cold += instructions
        standing[0] = now
        return True

    def left(self, frame: FrameType) -> None:
        """A return, a yield or an exception that leaves the frame."""
        if self.seen(frame):
            self.forget(frame)

    def forget(self, frame: FrameType) -> None:
        """What the frame does from now on is not counted."""
        self._standing.pop(id(frame), None)


class _Code:
    """The instructions of a code object as a graph: what follows each."""

    def __init__(self, code: CodeType) -> None:
        found = [*dis.get_instructions(code)]
        self.code = code  # its id is a key as long as it lives
        self.offsets = [each.offset for each in found]
        self.counts = [
            (int(each.opname not in _UNCOUNTED), int(each.opname in _ATTRIBUTES)) for each in found
        ]
        self.following: list[tuple[int, ...]] = []
        self.ways: dict[tuple[int, int], Way] = {}
        jumps = {*dis.hasjrel, *dis.hasjabs}
        for place, each in enumerate(found):
            on = () if each.opname in _JUMPS | _ENDS else (place + 1,)
            to = (self.place(each.argval),) if each.opcode in jumps else ()
            self.following.append((*on, *to))

    def place(self, offset: int) -> int:
        """The instruction that holds an offset; caches behind one belong to it."""
        return bisect_right(self.offsets, offset) - 1

    def way(self, start: int, end: int) -> Way:
        """From behind one offset until another's instruction is done: the fewest instructions.
        Where only an exception leads there, none."""
        first, last = self.place(start), self.place(end)
        following = (0,) if first < 0 else self.following[first]
        open_ = deque((place, (0, 0)) for place in following if place < len(self.counts))
        visited: set[int] = set()
        while open_:
            place, (instructions, attributes) = open_.popleft()
            if place in visited:
                continue
            visited.add(place)
            more = self.counts[place]
            count = instructions + more[0], attributes + more[1]
            if place == last:
                return count
            open_.extend((p, count) for p in self.following[place] if p < len(self.counts))
        return 0, 0


_CODES: dict[int, _Code] = {}


def _way(code: CodeType, start: int, end: int) -> Way:
    found = _CODES.get(id(code))
    if found is None:
        found = _CODES[id(code)] = _Code(code)
    key = start, end
    way = found.ways.get(key)
    if way is None:
        way = found.ways[key] = found.way(start, end)
    return way
