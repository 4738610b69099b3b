"""The answers of `torch.compiler.is_compiling()`, `torch.cuda.is_current_stream_capturing()` and
similar functions while a step is traced: those of the mode that is predicted.

Stream capture and Dynamo both apply to one thread, so in other threads the functions answer as in
eager mode. The functions that Dynamo answers are in its own table (`tracing_state_functions` of
torch/_dynamo/variables/torch.py), which differs from version to version; if Dynamo is not imported,
no code can call the functions that it defines. `torch.jit.is_tracing()` is false in every mode.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import get_ident
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import torch

from simulator.modes import Run
from simulator.records import Assumption
from simulator.tracing import dynamo
from simulator.tracing.python_code.user_code import is_user_code

if TYPE_CHECKING:
    from simulator.tracing.recorder import Recorder

_CAPTURING = "torch.cuda.is_current_stream_capturing"
_COMPILING = (
    "torch._utils.is_compiling", "torch.compiler.is_compiling",
    "torch.compiler.is_dynamo_compiling", "torch.compiler.is_exporting",
    "torch.nn.modules.activation._is_make_fx_tracing",
)  # fmt: skip
"""The functions of Dynamo's table that are true in a compiled step and defined outside Dynamo."""
_ELSEWHERE = (
    "false, as in every mode, in a thread other than the step's; query the mode in the thread that "
    "calls the network"
)
_MODULES = (Path(torch.__file__).parent / "nn" / "modules").as_posix()
_MODULE_CALL = f"{_MODULES}/module.py"
"""`Module.__call__` queries the mode at every call; the answer does not change its result."""


class Flags:
    """The answers for one traced step. `queried` holds the names of the functions that were called
    where the answer may change the result."""

    def __init__(self, run: Run, recorder: Recorder) -> None:
        self.queried: set[str] = set()
        self._run = run
        self._recorder = recorder
        self._thread = get_ident()

    def answer(self, name: str, frame: FrameType | None) -> bool:
        """The answer of the function `name` to the frame that calls it."""
        while frame is not None and frame.f_code.co_name == name.rpartition(".")[2]:
            frame = frame.f_back  # an alias that calls the function
        if frame is None or self._recorder.busy or not _depends_on_mode(frame.f_code):
            return False
        self.queried.add(name)
        if get_ident() != self._thread:
            assumptions = self._recorder.assumptions
            if (name, _ELSEWHERE) not in ((each.name, each.taken) for each in assumptions):
                assumptions.append(Assumption(len(self._recorder.ops), name, _ELSEWHERE))
            return False
        return self._run == ("captured" if name == _CAPTURING else "compiled")


_ACTIVE: list[Flags] = []


@contextmanager
def mode_flags(run: Run, recorder: Recorder) -> Generator[Flags]:
    """Make each of the functions answer as in mode `run`, even if it is called through another
    reference."""
    flags = Flags(run, recorder)
    functions = mode_functions()
    original = {name: function.__code__ for name, function in functions.items()}
    _ACTIVE.append(flags)
    for name, function in functions.items():
        function.__code__ = _asking_code(name, original[name])
    try:
        yield flags
    finally:
        for name, function in functions.items():
            function.__code__ = original[name]
        _ACTIVE.pop()


def answer_to_caller(name: str) -> bool:
    """The answer to the caller of the function `name`."""
    return _ACTIVE[-1].answer(name, sys._getframe(2))


def mode_functions() -> dict[str, Any]:
    """The functions whose answer depends on the mode, by name."""
    compiling = _from_dynamo() if dynamo.is_imported() else _named()
    plain = [inspect.unwrap(function) for function in compiling]
    return {_CAPTURING: torch.cuda.is_current_stream_capturing} | {
        f"{function.__module__}.{function.__name__}": function
        for function in plain
        if inspect.isfunction(function) and not function.__closure__
    }


def _from_dynamo() -> list[Callable[..., Any]]:
    table = import_module("torch._dynamo.variables.torch").tracing_state_functions()
    return [function for function, answer in table.items() if answer is True]


def _named() -> list[Callable[..., Any]]:
    places = (name.rpartition(".") for name in _COMPILING)
    functions = (getattr(import_module(module), name, None) for module, _, name in places)
    return [function for function in functions if function is not None]


@cache
def _asking_code(name: str, code: CodeType) -> CodeType:
    """Code that calls `answer_to_caller(name)`, with the file and name of the replaced function."""
    names: dict[str, Any] = {}
    source = (
        f"def ask():\n import sys\n return sys.modules[{__name__!r}].answer_to_caller({name!r})"
    )
    exec(source, names)
    return names["ask"].__code__.replace(co_filename=code.co_filename, co_name=code.co_name)


@cache
def _depends_on_mode(code: CodeType) -> bool:
    """Whether the answer may change the result of this code. Most calls in torch only prepare
    tracing by Dynamo, but torch's modules choose kernels by the answer."""
    path = code.co_filename.replace("\\", "/")
    return is_user_code(code) or (path.startswith(_MODULES) and path != _MODULE_CALL)
