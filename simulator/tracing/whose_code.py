"""Whose code a step runs, and what Dynamo cannot take of it."""

from __future__ import annotations

import dis
import sysconfig
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import torch

from simulator.hardware.host import SYNCING
from simulator.records import Signature

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
_KNOWN_C = {
    "math",
    "_operator",
    "itertools",
    "_functools",
    "_collections",
    "random",
    "numpy",
    "torch",
    "typing",
    "_abc",
    "_weakref",
    "copy",
}
"""Modules in C for whose functions Dynamo has rules, or that it calls while tracing."""
_REFUSED_BUILTINS = {"print", "input", "open", "exec", "eval", "breakpoint", "compile"}
_VALUES = {"aten._local_scalar_dense.default", "aten.equal.default"}
"""Of the ops that the host waits for those that give Python a value; the others make a size."""


@cache
def theirs(code: CodeType) -> bool:
    """Is it the user's code, a library's on top of torch, or a network's of the catalogue?"""
    path = code.co_filename.replace("\\", "/")
    if path.startswith(_NO_THEIRS):
        return False
    return path.startswith(_THEIRS) or not path.startswith(_NOT_THEIRS)


@cache
def loops(code: CodeType, at: int) -> bool:
    """Does an instruction after this one, before the function returns, jump back behind it?"""
    for instruction in dis.get_instructions(code):
        if instruction.offset <= at:
            continue
        if instruction.opname in _ENDS:
            return False
        if instruction.opname in _JUMPS and int(instruction.argval) < at:
            return True
    return False


def disables(code: CodeType) -> bool:
    return code.co_qualname.startswith("DisableContext.__call__.") and code.co_name == "_fn"


def calls_modules(code: CodeType) -> bool:
    return code.co_filename.replace("\\", "/").endswith("torch/nn/modules/module.py")


_LOGGING = {"debug", "info", "warning", "error", "exception", "critical", "log"}


def asked_for(code: CodeType) -> bool:
    return code.co_name == "graph_break" and code.co_filename.replace("\\", "/").endswith(
        "torch/_dynamo/decorators.py"
    )


def logs(code: CodeType) -> bool:
    return code.co_name in _LOGGING and code.co_filename.replace("\\", "/").endswith(
        "logging/__init__.py"
    )


def refused(function: Any) -> str:
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


def begins(code: CodeType | None) -> str:
    """Where a function begins, as "nets.py, line 31"."""
    assert code is not None  # the root is no part of another call
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"


def line(frame: FrameType | None) -> str:
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
