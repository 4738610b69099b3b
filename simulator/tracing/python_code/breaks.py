"""The points where torch.compile would break its graph, derived from a step that runs eagerly.

Dynamo compiles the outermost user function. Code that it cannot trace breaks the graph in the
function that contains it and in all of its callers, because each of them is compiled again from the
break onwards (torch/_dynamo/symbolic_convert.py). A function whose break is in a loop is not
compiled at all (`maybe_has_backedge`, "graph break in loop"), but its callees are.

The breaks that are detected: a result that the host waits for or whose size depends on data,
`print` and other C functions without a rule in Dynamo, logging, calls of generic aliases, and
functions under `torch.compiler.disable`. A function under `torch.compiler.allow_in_graph` contains
no break. Dynamo may refuse other code too.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Hashable
from dataclasses import dataclass, field
from itertools import accumulate
from types import BuiltinFunctionType, CodeType, FrameType
from typing import Any

from simulator.records import Break, Signature
from simulator.tracing.python_code.generic_aliases import CALLED, AliasCalls, alias_calls, aliased
from simulator.tracing.python_code.in_graph import InGraph
from simulator.tracing.python_code.user_code import (
    calls_graph_break,
    calls_untraced,
    concerns_breaks,
    definition_line,
    graph_break_reason,
    is_disabled_wrapper,
    is_logging_call,
    is_module_call,
    is_typing,
    is_user_code,
    line_of,
    loops_back,
    untraceable_reason,
)
from simulator.tracing.python_code.variants import Variants, guards

_RECOMPILE_LIMIT = "already compiled for too many other modules (recompile_limit)"


@dataclass(eq=False)
class _Call:
    """One call of a user function: its first op, the op after its last, and the calls and breaks
    directly within it."""

    first: int
    until: int = 0
    children: list[_Call | _Event] = field(default_factory=list)
    code: CodeType | None = None
    guards: Hashable = None
    aliases: AliasCalls | None = None

    def variant(self) -> Hashable:
        """The guard values of this call and of the calls within it."""
        calls = [child for child in self.children if isinstance(child, _Call)]
        return self.guards, tuple([(call.code, call.variant()) for call in calls])


@dataclass(eq=False)
class _Event:
    """A graph break; ops from `first` to `until` run eagerly."""

    first: int
    until: int
    where: str
    reason: str


@dataclass
class Breaks:
    """Follows the calls, returns and ops of a forward pass; `graph_breaks` lists its breaks."""

    root: _Call = field(default_factory=lambda: _Call(0))
    _open: list[tuple[FrameType, _Call]] = field(default_factory=list)
    _skipped: set[int] = field(default_factory=set)
    _broken: dict[int, _Event] = field(default_factory=dict)
    _disabled: list[tuple[FrameType, _Event]] = field(default_factory=list)
    _untraced: FrameType | None = None
    """The outermost frame of user code that a function calls which Dynamo does not trace."""
    _created_at: dict[int, int] = field(default_factory=dict)
    _backward: list[tuple[int, int]] = field(default_factory=list)
    _in_graph: InGraph = field(default_factory=InGraph)

    def on_c_call(self, frame: FrameType, function: Any, op: int) -> None:
        """A frame calls a C function before op number `op`."""
        self._pass_aliases(op, frame, BuiltinFunctionType)
        if is_user_code(frame.f_code) and self._traces:
            reason = untraceable_reason(function)
            if reason:
                self._break(frame, op, op, reason)

    def on_op(self, signature: Signature, op: int) -> None:
        """An op of the forward pass was recorded as op number `op`."""
        self._pass_aliases(op)
        reason = graph_break_reason(signature)
        if reason and not self._disabled:
            self._break(sys._getframe(1), op, op + 1, reason)

    def on_node_created(self, number: int, op: int) -> None:
        """Autograd created node `number` for op number `op`."""
        self._created_at[number] = op

    def on_node_run(self, number: int, op: int) -> None:
        """Autograd's node `number` runs op number `op`."""
        if number in self._created_at:
            self._backward.append((op, self._created_at[number]))

    def graph_breaks(self, ops: int) -> list[Break]:
        """The breaks of a forward pass of `ops` ops, in order."""
        if not self._broken:
            return []
        stretches: list[_Event] = []
        self._walk(self.root, ops, stretches, Variants())
        created = (forward_op for _, forward_op in self._backward)
        earliest = [-forward_op for forward_op in accumulate(created, min)]
        return [self._with_backward(event, earliest) for event in _merge(stretches, ops)]

    def on_call(self, frame: FrameType, op: int) -> None:
        """A function is called before op number `op`."""
        code = frame.f_code
        self._pass_aliases(op, frame.f_back, code)
        if not self._traces or not concerns_breaks(code):
            return
        if frame.f_back is not None and calls_untraced(frame.f_back.f_code):
            self._untraced = frame
        elif is_disabled_wrapper(code):
            caller = frame.f_back
            if caller is not None and (
                is_user_code(caller.f_code) or is_module_call(caller.f_code)
            ):
                event = self._break(caller, op, op, "a function under torch.compiler.disable")
                self._disabled.append((frame, event))
        elif calls_graph_break(code) and frame.f_back is not None:
            self._break(frame.f_back, op, op, "a call of torch._dynamo.graph_break()")
        elif (
            is_logging_call(code) and frame.f_back is not None and is_user_code(frame.f_back.f_code)
        ):
            self._break(frame.f_back, op, op, f"logging's {code.co_name} cannot be traced")
        elif is_user_code(code) and self._in_graph.holds(code):
            self._disabled.append((frame, _Event(op, op, "", "")))  # no break within
        elif is_typing(code):
            caller = frame.f_back
            if caller is not None and is_user_code(caller.f_code) and (why := aliased(frame)):
                self._break(caller, op, op, why)
        elif is_user_code(code):
            call = _Call(op, code=code, guards=guards(frame), aliases=alias_calls(frame))
            self._parent().children.append(call)
            self._open.append((frame, call))

    def on_return(self, frame: FrameType, op: int) -> None:
        """A function returns before op number `op`."""
        self._pass_aliases(op)
        if self._untraced is frame:
            self._untraced = None
        elif self._disabled and self._disabled[-1][0] is frame:
            self._disabled.pop()[1].until = op
        elif self._open and self._open[-1][0] is frame:
            self._open.pop()[1].until = op

    @property
    def _traces(self) -> bool:
        """Whether Dynamo traces the Python code that runs now."""
        return not self._disabled and self._untraced is None

    # -- breaks -----------------------------------------------------------------------------

    def _pass_aliases(
        self, op: int, caller: FrameType | None = None, called: object = None
    ) -> None:
        """Break at each generic alias that the innermost user function has called by now, when
        `caller` calls a function."""
        aliases = self._open[-1][1].aliases if self._open else None
        if aliases is None or not self._traces:
            return
        frame = self._open[-1][0]
        for offset, line in aliases.passed(frame, called if caller is frame else None):
            self._break(frame, op, op, CALLED, (offset, line))

    def _parent(self) -> _Call:
        return self._open[-1][1] if self._open else self.root

    def _break(
        self,
        frame: FrameType | None,
        op: int,
        until: int,
        reason: str,
        before: tuple[int, int] | None = None,
    ) -> _Event:
        """Add a break at the frame's current instruction, or at one `before` it (offset, line)."""
        event = _Event(op, until, line_of(frame, before and before[1]), reason)
        self._parent().children.append(event)
        self._broken[id(self.root)] = event
        self._skipped.add(id(self.root))
        open_calls: dict[int, _Call] = {id(frame): call for frame, call in self._open}
        while frame is not None and not is_user_code(frame.f_code):
            frame = frame.f_back
        is_in_loop = False
        at = before and before[0]
        while frame is not None:
            is_in_loop = is_in_loop or loops_back(frame.f_code, frame.f_lasti if at is None else at)
            at = None
            call = open_calls.pop(id(frame), None)
            if call is not None:
                self._broken[id(call)] = event
                if is_in_loop:
                    self._skipped.add(id(call))
            if not open_calls:
                break
            frame = frame.f_back
        return event

    # -- eager stretches --------------------------------------------------------------------

    def _walk(self, call: _Call, until: int, stretches: list[_Event], variants: Variants) -> None:
        """Append the eager stretches of a call that contains a break, empty ones included."""
        is_skipped, at = id(call) in self._skipped, call.first
        for child in call.children:
            if isinstance(child, _Event):
                if is_skipped:  # the ops before the break run eagerly too
                    stretches.append(_Event(at, child.first, "", ""))
                stretches.append(child)
                at = child.until
            elif (is_skipped or id(child) in self._broken) and not _is_compiled(child, variants):
                stretches.append(_Event(at if is_skipped else child.first, child.first, "", ""))
                stretches.append(
                    _Event(child.first, child.until, definition_line(child.code), _RECOMPILE_LIMIT)
                )
                at = child.until
            elif id(child) in self._broken:
                stretches.append(_Event(at if is_skipped else child.first, child.first, "", ""))
                self._walk(child, child.until, stretches, variants)
                at = child.until
                if call is not self.root:  # its end and the code after it share a graph
                    stretches.append(_Event(at, at, "", ""))
            elif is_skipped and child.until > child.first:
                stretches.append(_Event(at, child.first, "", ""))
                at = child.until
        if is_skipped and call is not self.root:
            stretches.append(_Event(at, until, "", ""))

    def _with_backward(self, event: _Event, earliest: list[int]) -> Break:
        """The break of an event, with its range of the backward pass. That pass runs in reverse, so
        the range begins at the first op that belongs to a forward op before `until`. `earliest`
        holds, for each backward op, the negated index of the earliest forward op reached so far."""
        last = self._backward[-1][0] + 1 if self._backward else 0
        places = (bisect_right(earliest, -end) for end in (event.until, event.first))
        back, back_until = (self._backward[p][0] if p < len(earliest) else last for p in places)
        return Break(event.first, event.until, event.where, event.reason, back, back_until)


def _is_compiled(call: _Call, variants: Variants) -> bool:
    return call.code is None or variants.is_compiled(call.code, call.variant())


def _merge(stretches: list[_Event], ops: int) -> list[_Event]:
    """Merge adjacent stretches, except two that both have a reason; drop empty stretches without a
    reason at the edges of the step."""
    merged: list[_Event] = []
    for event in stretches:
        last = merged[-1] if merged else None
        if last is not None and event.first <= last.until and not (last.reason and event.reason):
            last.until = max(last.until, event.until)
            last.where, last.reason = last.where or event.where, last.reason or event.reason
        elif event.reason or event.until > event.first or 0 < event.first < ops:
            merged.append(_Event(event.first, event.until, event.where, event.reason))
    return merged
