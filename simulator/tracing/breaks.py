"""Where torch.compile would leave its graph, seen from a step that runs eagerly.

Dynamo compiles the outermost function of the user's. What it cannot take breaks the graph: in that
function, and in each that is called on the way there, since every one of them is compiled anew from
where the break lies (torch/_dynamo/symbolic_convert.py). A function that is on the way from within
a loop is not compiled at all (`maybe_has_backedge`, "graph break in loop"); those that it calls
are.

What breaks a graph is told by what a step does: a result that the host waits for or whose size
depends on data, `print` and other functions written in C that Dynamo has no rule for, logging, and
functions under `torch.compiler.disable`. What Dynamo refuses beyond that only Dynamo knows.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import accumulate
from types import CodeType, FrameType
from typing import Any

from simulator.records import Break, Signature
from simulator.tracing.variants import Variants, guards
from simulator.tracing.whose_code import (
    asked_for,
    begins,
    breaking,
    calls_modules,
    disables,
    line,
    logs,
    loops,
    refused,
    theirs,
)

_TOO_MANY = "it is compiled for too many other modules before (recompile_limit)"


@dataclass(eq=False)
class _Call:
    """One call of a function of the user's: its first op, the op after its last, the calls and
    breaks directly within it. `skips` where it cannot be compiled, since a break lies in a loop."""

    first: int
    until: int = 0
    parts: list[_Call | _Event] = field(default_factory=list)
    code: CodeType | None = None
    guards: Hashable = None

    def variant(self) -> Hashable:
        """What its graph is guarded by, with those of the calls within."""
        calls = [part for part in self.parts if isinstance(part, _Call)]
        return self.guards, tuple([(call.code, call.variant()) for call in calls])


@dataclass(eq=False)
class _Event:
    """What breaks the graph; ops from `first` to `until` run eagerly."""

    first: int
    until: int
    where: str
    reason: str


@dataclass
class Breaks:
    """Told of calls, returns and ops of a forward pass; `found` has the breaks, in order."""

    root: _Call = field(default_factory=lambda: _Call(0))
    _open: list[tuple[FrameType, _Call]] = field(default_factory=list)
    _skipped: set[int] = field(default_factory=set)
    _chained: dict[int, _Event] = field(default_factory=dict)
    _disabled: list[tuple[FrameType, _Event]] = field(default_factory=list)
    _made_at: dict[int, int] = field(default_factory=dict)
    _backward: list[tuple[int, int]] = field(default_factory=list)

    def on_event(self, frame: FrameType, event: str, arg: Any, op: int) -> None:
        """An event of Python's profiler before op number `op`."""
        if event == "call":
            self._called(frame, op)
        elif event == "return":
            self._returned(frame, op)
        elif event == "c_call" and not self._disabled and theirs(frame.f_code):
            reason = refused(arg)
            if reason:
                self._break(frame, op, op, reason)

    def on_op(self, signature: Signature, op: int) -> None:
        """An op of the forward pass was recorded under this number."""
        reason = breaking(signature)
        if reason and not self._disabled:
            self._break(sys._getframe(1), op, op + 1, reason)

    def made(self, number: int, op: int) -> None:
        """Autograd made its node of this number for an op."""
        self._made_at[number] = op

    def ran(self, number: int, op: int) -> None:
        """Op number `op` is of autograd's node of this number."""
        if number in self._made_at:
            self._backward.append((op, self._made_at[number]))

    def found(self, ops: int) -> list[Break]:
        """All of a forward pass of `ops` ops."""
        if not self._chained:
            return []
        pieces: list[_Event] = []
        self._walk(self.root, ops, pieces, Variants())
        earliest = [-made for made in accumulate((made for _, made in self._backward), min)]
        return [self._with_backward(e, earliest) for e in _joined(pieces, ops)]

    # -- listening --------------------------------------------------------------------------

    def _called(self, frame: FrameType, op: int) -> None:
        if self._disabled:
            return
        code = frame.f_code
        if disables(code):
            caller = frame.f_back
            if caller is not None and (theirs(caller.f_code) or calls_modules(caller.f_code)):
                event = self._break(caller, op, op, "a function under torch.compiler.disable")
                self._disabled.append((frame, event))
        elif asked_for(code) and frame.f_back is not None:
            self._break(frame.f_back, op, op, "torch._dynamo.graph_break() asks for it")
        elif logs(code) and frame.f_back is not None and theirs(frame.f_back.f_code):
            self._break(frame.f_back, op, op, f"logging's {code.co_name} cannot be traced")
        elif theirs(code):
            call = _Call(op, code=code, guards=guards(frame))
            self._parent().parts.append(call)
            self._open.append((frame, call))

    def _returned(self, frame: FrameType, op: int) -> None:
        if self._disabled and self._disabled[-1][0] is frame:
            self._disabled.pop()[1].until = op
        elif self._open and self._open[-1][0] is frame:
            self._open.pop()[1].until = op

    def _parent(self) -> _Call:
        return self._open[-1][1] if self._open else self.root

    def _break(self, frame: FrameType | None, op: int, until: int, reason: str) -> _Event:
        event = _Event(op, until, line(frame), reason)
        self._parent().parts.append(event)
        self._chained[id(self.root)] = event
        self._skipped.add(id(self.root))
        within: dict[int, _Call] = {id(frame): call for frame, call in self._open}
        while frame is not None and not theirs(frame.f_code):
            frame = frame.f_back
        looped = False
        while frame is not None:
            looped = looped or loops(frame.f_code, frame.f_lasti)
            call = within.pop(id(frame), None)
            if call is not None:
                self._chained[id(call)] = event
                if looped:
                    self._skipped.add(id(call))
            if not within:
                break
            frame = frame.f_back
        return event

    # -- what is compiled -------------------------------------------------------------------

    def _walk(self, call: _Call, until: int, pieces: list[_Event], variants: Variants) -> None:
        """The eager stretches within a call that the graph breaks in, those without an op too."""
        skips, at = id(call) in self._skipped, call.first
        for part in call.parts:
            if isinstance(part, _Event):
                if skips:  # the ops before it are eager as well
                    pieces.append(_Event(at, part.first, "", ""))
                pieces.append(part)
                at = part.until
            elif (skips or id(part) in self._chained) and not _compiled(part, variants):
                pieces.append(_Event(at if skips else part.first, part.first, "", ""))
                pieces.append(_Event(part.first, part.until, begins(part.code), _TOO_MANY))
                at = part.until
            elif id(part) in self._chained:
                pieces.append(_Event(at if skips else part.first, part.first, "", ""))
                self._walk(part, part.until, pieces, variants)
                at = part.until
                if call is not self.root:  # what follows the module is compiled with its end
                    pieces.append(_Event(at, at, "", ""))
            elif skips and part.until > part.first:
                pieces.append(_Event(at, part.first, "", ""))
                at = part.until
        if skips and call is not self.root:
            pieces.append(_Event(at, until, "", ""))

    def _with_backward(self, event: _Event, earliest: list[int]) -> Break:
        """The backward pass goes the other way: the first op in it of what lies before `until`
        begins the stretch. `earliest` is the earliest op, negative, that it came to by then."""
        last = self._backward[-1][0] + 1 if self._backward else 0
        places = (bisect_right(earliest, -end) for end in (event.until, event.first))
        back, back_until = (self._backward[p][0] if p < len(earliest) else last for p in places)
        return Break(event.first, event.until, event.where, event.reason, back, back_until)


def _compiled(call: _Call, variants: Variants) -> bool:
    return call.code is None or variants.compiled(call.code, call.variant())


def _joined(pieces: list[_Event], ops: int) -> list[_Event]:
    """Stretches that follow each other are one; what has a reason is kept apart from what has
    none only where ops lie between. An edge of the step is no break."""
    found: list[_Event] = []
    for each in pieces:
        last = found[-1] if found else None
        if last is not None and each.first <= last.until and not (last.reason and each.reason):
            last.until = max(last.until, each.until)
            last.where, last.reason = last.where or each.where, last.reason or each.reason
        elif each.reason or each.until > each.first or 0 < each.first < ops:
            found.append(_Event(each.first, each.until, each.where, each.reason))
    return found
