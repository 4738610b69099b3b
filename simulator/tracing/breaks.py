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

import dis
import sys
import sysconfig
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import torch

from simulator.hardware.host import SYNCING
from simulator.records import Break, Signature

_SIMULATOR = Path(__file__).parents[1].as_posix()
_NOT_THEIRS = (
    Path(torch.__file__).parent.as_posix(), sysconfig.get_paths()["stdlib"],
    sysconfig.get_paths()["platstdlib"], _SIMULATOR, Path(_SIMULATOR).with_name("app").as_posix(),
    "<",
)  # fmt: skip
_THEIRS = (f"{_SIMULATOR}/networks/", *(sysconfig.get_paths()[k] for k in ("purelib", "platlib")))
_NO_THEIRS = (_NOT_THEIRS[0], f"{_SIMULATOR}/networks/loading.py")
_ENDS = ("RETURN_VALUE", "RETURN_CONST")
_JUMPS = {dis.opname[code] for code in (*dis.hasjrel, *dis.hasjabs)}
_KNOWN_C = {"math", "_operator", "itertools", "_functools", "_collections", "random", "numpy",
            "torch", "typing", "_abc", "_weakref", "copy"}  # fmt: skip
"""Modules in C for whose functions Dynamo has rules, or that it calls while tracing."""
_REFUSED_BUILTINS = {"print", "input", "open", "exec", "eval", "breakpoint", "compile"}
_VALUES = {"aten._local_scalar_dense.default", "aten.equal.default"}
"""Of the ops that the host waits for those that give Python a value; the others make a size."""


@dataclass(eq=False)
class _Call:
    """One call of a function of the user's: its first op, the op after its last, the calls and
    breaks directly within it. `skips` where it cannot be compiled, since a break lies in a loop."""

    first: int
    until: int = 0
    parts: list[_Call | _Event] = field(default_factory=list)


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
            reason = _refused(arg)
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
        self._walk(self.root, ops, pieces)
        earliest = [-made for made in accumulate((made for _, made in self._backward), min)]
        return [self._with_backward(e, earliest) for e in _joined(pieces, ops)]

    # -- listening --------------------------------------------------------------------------

    def _called(self, frame: FrameType, op: int) -> None:
        if self._disabled:
            return
        code = frame.f_code
        if _disables(code):
            caller = frame.f_back
            if caller is not None and (theirs(caller.f_code) or _calls_modules(caller.f_code)):
                event = self._break(caller, op, op, "a function under torch.compiler.disable")
                self._disabled.append((frame, event))
        elif _asked_for(code) and frame.f_back is not None:
            self._break(frame.f_back, op, op, "torch._dynamo.graph_break() asks for it")
        elif _logs(code) and frame.f_back is not None and theirs(frame.f_back.f_code):
            self._break(frame.f_back, op, op, f"logging's {code.co_name} cannot be traced")
        elif theirs(code):
            call = _Call(op)
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
        event = _Event(op, until, _line(frame), reason)
        self._parent().parts.append(event)
        self._chained[id(self.root)] = event
        self._skipped.add(id(self.root))
        within: dict[int, _Call] = {id(frame): call for frame, call in self._open}
        while frame is not None and not theirs(frame.f_code):
            frame = frame.f_back
        looped = False
        while frame is not None:
            looped = looped or _loops(frame.f_code, frame.f_lasti)
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

    def _walk(self, call: _Call, until: int, pieces: list[_Event]) -> None:
        """The eager stretches within a call that the graph breaks in, those without an op too."""
        skips, at = id(call) in self._skipped, call.first
        for part in call.parts:
            if isinstance(part, _Event):
                if skips:  # the ops before it are eager as well
                    pieces.append(_Event(at, part.first, "", ""))
                pieces.append(part)
                at = part.until
            elif id(part) in self._chained:
                pieces.append(_Event(at if skips else part.first, part.first, "", ""))
                self._walk(part, part.until, pieces)
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


# -- whose code it is, and what Dynamo does with it -------------------------------------------


@cache
def theirs(code: CodeType) -> bool:
    """Is it the user's code, a library's on top of torch, or a network's of the catalogue?"""
    path = code.co_filename.replace("\\", "/")
    if path.startswith(_NO_THEIRS):
        return False
    return path.startswith(_THEIRS) or not path.startswith(_NOT_THEIRS)


@cache
def _loops(code: CodeType, at: int) -> bool:
    """Does an instruction after this one, before the function returns, jump back behind it?"""
    for instruction in dis.get_instructions(code):
        if instruction.offset <= at:
            continue
        if instruction.opname in _ENDS:
            return False
        if instruction.opname in _JUMPS and int(instruction.argval) < at:
            return True
    return False


def _disables(code: CodeType) -> bool:
    return code.co_qualname.startswith("DisableContext.__call__.") and code.co_name == "_fn"


def _calls_modules(code: CodeType) -> bool:
    return code.co_filename.replace("\\", "/").endswith("torch/nn/modules/module.py")


_LOGGING = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def _asked_for(code: CodeType) -> bool:
    return code.co_name == "graph_break" and code.co_filename.replace("\\", "/").endswith(
        "torch/_dynamo/decorators.py"
    )


def _logs(code: CodeType) -> bool:
    return code.co_name in _LOGGING and code.co_filename.replace("\\", "/").endswith(
        "logging/__init__.py"
    )


def _refused(function: Any) -> str:
    """Why Dynamo cannot call a function written in C, "" where it can."""
    if not isinstance(function, BuiltinFunctionType):
        return ""
    name, owner = function.__name__, function.__self__
    if not isinstance(owner, ModuleType):
        return ""
    module = owner.__name__
    if module == "builtins":
        return f"{name} cannot be traced" if name in _REFUSED_BUILTINS else ""
    if module.split(".")[0] in _KNOWN_C:
        return ""
    return f"{module}.{name} is written in C"


def breaking(signature: Signature) -> str:
    """Why an op ends the graph, "" where it does not."""
    name = signature.name.split(".")[1]
    if signature.name in _VALUES:
        return "Python needs the value of a tensor"
    masked = name == "index" and any(
        t.dtype in ("bool", "uint8") for t in signature.tensors("indices")
    )
    if signature.name in SYNCING or masked:
        return f"the size of what {name} makes depends on data"
    return ""


def _line(frame: FrameType | None) -> str:
    """The innermost line that is not torch's own, as "nets.py, line 31"."""
    place = place_of(frame).rpartition(":")
    return f"{place[0]}, line {place[2]}" if place[0] else "an unknown line"


def place_of(frame: FrameType | None) -> str:
    """The innermost line that is not torch's own, as "nets.py:31"; "" where there is none."""
    while frame is not None:
        if theirs(frame.f_code):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
