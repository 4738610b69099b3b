"""The answers of `torch.compiler.is_compiling()`, `torch.cuda.is_current_stream_capturing()` and
similar functions while a step is traced: those of the mode that is predicted.

Stream capture and Dynamo both apply to one thread, so in other threads the functions answer as in
eager mode. The functions that Dynamo answers are in its own table (`tracing_state_functions` of
torch/_dynamo/variables/torch.py), which differs from version to version. `torch.jit.is_tracing()`
is false in every mode.
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
from simulator.tracing.user_code import is_user_code

if TYPE_CHECKING:
    from simulator.tracing.recorder import Recorder

_CAPTURING = "torch.cuda.is_current_stream_capturing"
_MODULES = (Path(torch.__file__).parent / "nn" / "modules").as_posix()
_MODULE_CALL = f"{_MODULES}/module.py"
"""`Module.__call__` asks at every call, and computes the same either way."""


class Flags:
    """The answers for one traced step. `asked` holds the names of the functions that were called
    where the answer may change the result."""

    def __init__(self, run: Run, recorder: Recorder) -> None:
        self.asked: set[str] = set()
        self._run = run
        self._recorder = recorder
        self._thread = get_ident()

    def answer(self, name: str, frame: FrameType | None) -> bool:
        """The answer of the function `name` to the frame that calls it."""
        while frame is not None and frame.f_code.co_name == name.rpartition(".")[2]:
            frame = frame.f_back  # an alias that calls the function
        if frame is None or self._recorder.busy or not _depends_on_mode(frame.f_code):
            return False
        self.asked.add(name)
        if get_ident() != self._thread:
            return False
        return self._run == ("captured" if name == _CAPTURING else "compiled")


_ACTIVE: list[Flags] = []


@contextmanager
def mode_flags(run: Run, recorder: Recorder) -> Generator[Flags]:
    """Make each of the functions answer as in mode `run`, through any reference to it."""
    flags = Flags(run, recorder)
    original = {name: function.__code__ for name, function in _functions().items()}
    replaced = {name: _asking_code(name, code) for name, code in original.items()}
    _ACTIVE.append(flags)
    _set_codes(replaced)
    try:
        yield flags
    finally:
        _set_codes(original)
        _ACTIVE.pop()


def _set_codes(codes: dict[str, CodeType]) -> None:
    for name, function in _functions().items():
        function.__code__ = codes[name]


def asked(name: str) -> bool:
    """The answer to the caller of the function `name`."""
    return _ACTIVE[-1].answer(name, sys._getframe(2))


@cache
def _functions() -> dict[str, Any]:
    """The functions whose answer depends on the mode, by name."""
    import torch._dynamo.variables.torch as dynamo  # slow to import

    table: dict[Callable[..., Any], Any] = dynamo.tracing_state_functions()
    functions: dict[str, Any] = {_CAPTURING: torch.cuda.is_current_stream_capturing}
    for function, answer in table.items():
        plain = inspect.unwrap(function)
        if answer is True and inspect.isfunction(plain) and not plain.__closure__:
            functions[f"{plain.__module__}.{plain.__name__}"] = plain
    return functions


@cache
def _asking_code(name: str, code: CodeType) -> CodeType:
    """Code that calls `asked(name)`, with the file and name of the code that it replaces."""
    names: dict[str, Any] = {}
    source = f"def ask():\n import sys\n return sys.modules[{__name__!r}].asked({name!r})"
    exec(source, names)
    return names["ask"].__code__.replace(co_filename=code.co_filename, co_name=code.co_name)


@cache
def _depends_on_mode(code: CodeType) -> bool:
    """Whether the answer may change what this code computes. Most of torch's own calls only prepare
    what Dynamo traces; its modules choose kernels by the answer."""
    path = code.co_filename.replace("\\", "/")
    return is_user_code(code) or (path.startswith(_MODULES) and path != _MODULE_CALL)
