"""What code is told that asks how it is run: `torch.compiler.is_compiling()`,
`torch.cuda.is_current_stream_capturing()` and their kin.

While a step is traced they answer as they would where it runs. A captured stream is one thread's,
and Dynamo traces one thread, so another thread is told that it runs eagerly. What Dynamo answers
is its own table (`tracing_state_functions` of torch/_dynamo/variables/torch.py): it differs from
version to version. `torch.jit.is_tracing()` is false in each of the modes.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import get_ident
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import torch

from simulator.modes import Run
from simulator.tracing.whose_code import theirs

if TYPE_CHECKING:
    from simulator.tracing.recorder import Recorder

_CAPTURING = "torch.cuda.is_current_stream_capturing"
_MODULES = (Path(torch.__file__).parent / "nn" / "modules").as_posix()
_EACH_CALL = f"{_MODULES}/module.py"
"""`Module.__call__` asks each time, and computes the same either way."""


class Flags:
    """The answers for one traced step; `asked` are the names of the functions that were asked where
    the answer may change what is computed."""

    def __init__(self, run: Run, recorder: Recorder) -> None:
        self.asked: set[str] = set()
        self._run = run
        self._recorder = recorder
        self._thread = get_ident()

    def answer(self, name: str, frame: FrameType | None) -> bool:
        """What a function of this name says to the frame that calls it."""
        while frame is not None and frame.f_code.co_name == name.rpartition(".")[2]:
            frame = frame.f_back  # an older name of the same question
        if frame is None or self._recorder.busy or not _minds(frame.f_code):
            return False
        self.asked.add(name)
        if get_ident() != self._thread:
            return False
        return self._run == ("captured" if name == _CAPTURING else "compiled")


_ANSWERING: list[Flags] = []


@contextmanager
def answering(run: Run, recorder: Recorder) -> Generator[Flags]:
    """Meanwhile each of the functions answers as in this run, whoever holds a reference to it."""
    flags = Flags(run, recorder)
    usual = {name: function.__code__ for name, function in _functions().items()}
    asking = {name: _asking(name, code) for name, code in usual.items()}
    _ANSWERING.append(flags)
    _give(asking)
    try:
        yield flags
    finally:
        _give(usual)
        _ANSWERING.pop()


def _give(codes: dict[str, CodeType]) -> None:
    for name, function in _functions().items():
        function.__code__ = codes[name]


def asked(name: str) -> bool:
    """The answer to whoever called the function of this name."""
    return _ANSWERING[-1].answer(name, sys._getframe(2))


@cache
def _functions() -> dict[str, Any]:
    """Those whose answer depends on the mode, by name."""
    import torch._dynamo.variables.torch as dynamo

    table: dict[Callable[..., Any], Any] = dynamo.tracing_state_functions()
    found: dict[str, Any] = {_CAPTURING: torch.cuda.is_current_stream_capturing}
    for function, answer in table.items():
        plain = inspect.unwrap(function)
        if answer is True and inspect.isfunction(plain) and not plain.__closure__:
            found[f"{plain.__module__}.{plain.__name__}"] = plain
    return found


@cache
def _asking(name: str, code: CodeType) -> CodeType:
    """The code of a function that passes the question on, in the file of the one in its place."""
    names: dict[str, Any] = {}
    source = f"def ask():\n import sys\n return sys.modules[{__name__!r}].asked({name!r})"
    exec(source, names)
    return names["ask"].__code__.replace(co_filename=code.co_filename, co_name=code.co_name)


@cache
def _minds(code: CodeType) -> bool:
    """May the answer change what this code computes? torch asks in many places of its own that only
    arrange what Dynamo traces; its modules choose kernels by it."""
    path = code.co_filename.replace("\\", "/")
    return theirs(code) or (path.startswith(_MODULES) and path != _EACH_CALL)
