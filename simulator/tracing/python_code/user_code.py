"""The user's code in a step, and the parts of it that Dynamo cannot trace."""

from __future__ import annotations

import dis
import sysconfig
import typing
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType, ModuleType
from typing import Any

import torch

from simulator.costs import DATA_DEPENDENT
from simulator.records import Signature
from simulator.tracing.python_code.by_code import ByCode

_SIMULATOR = Path(__file__).parents[2].as_posix()
_NOT_USER = (
    Path(torch.__file__).parent.as_posix(), sysconfig.get_paths()["stdlib"],
    sysconfig.get_paths()["platstdlib"], _SIMULATOR, Path(_SIMULATOR).with_name("app").as_posix(),
    "<",
)  # fmt: skip
_USER = (f"{_SIMULATOR}/networks/", *(sysconfig.get_paths()[k] for k in ("purelib", "platlib")))
_NEVER_USER = (
    _NOT_USER[0], f"{_SIMULATOR}/networks/loading/", f"{_SIMULATOR}/networks/known_values.py",
)  # fmt: skip
_ENDS = ("RETURN_VALUE", "RETURN_CONST")
_JUMPS = {dis.opname[code] for code in (*dis.hasjrel, *dis.hasjabs)}
_SUPPORTED_C_MODULES = {
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
"""Modules whose C functions Dynamo has rules for, or calls while tracing."""
_REFUSED_BUILTINS = {"print", "input", "open", "exec", "eval", "breakpoint", "compile"}
_VALUE_OPS = {"aten._local_scalar_dense.default", "aten.equal.default"}
"""Ops that return a Python value; the other ops that the host waits for determine a size."""


@ByCode
def is_user_code(code: CodeType) -> bool:
    """Whether code belongs to the user, to a library on top of torch, or to the catalogue."""
    path = code.co_filename.replace("\\", "/")
    if path.startswith(_NEVER_USER):
        return False
    return path.startswith(_USER) or not path.startswith(_NOT_USER)


@cache
def loops_back(code: CodeType, at: int) -> bool:
    """Whether an instruction after offset `at` jumps back over it before the function returns."""
    for instruction in dis.get_instructions(code):
        if instruction.offset <= at:
            continue
        if instruction.opname in _ENDS:
            return False
        if instruction.opname in _JUMPS and int(instruction.argval) < at:
            return True
    return False


def is_disabled_wrapper(code: CodeType) -> bool:
    return code.co_qualname.startswith("DisableContext.__call__.") and code.co_name == "_fn"


def is_module_call(code: CodeType) -> bool:
    return code.co_filename.replace("\\", "/").endswith("torch/nn/modules/module.py")


@ByCode
def calls_untraced(code: CodeType) -> bool:
    """Whether Dynamo does not trace what this function calls. It puts the functions of
    `torch.functional` into its graph whole, as `trace_rules` lists them: `torch.einsum` plans its
    products with opt_einsum. Type arguments are constants to it."""
    return code.co_filename.replace("\\", "/").endswith("torch/functional.py") or is_typing(code)


_LOGGING = {"debug", "info", "warning", "error", "exception", "critical", "log"}


@ByCode
def is_typing(code: CodeType) -> bool:
    """Whether code is a function of `typing`."""
    return code.co_filename == typing.__file__


def calls_graph_break(code: CodeType) -> bool:
    return code.co_name == "graph_break" and code.co_filename.replace("\\", "/").endswith(
        "torch/_dynamo/decorators.py"
    )


def is_logging_call(code: CodeType) -> bool:
    return code.co_name in _LOGGING and code.co_filename.replace("\\", "/").endswith(
        "logging/__init__.py"
    )


@ByCode
def concerns_breaks(code: CodeType) -> bool:
    """Whether a call of this code may break the graph, or is one of user code."""
    return (
        is_disabled_wrapper(code)
        or calls_graph_break(code)
        or is_logging_call(code)
        or is_typing(code)
        or is_user_code(code)
    )


def untraceable_reason(function: Any) -> str:
    """The reason why Dynamo cannot trace a C function; "" if it can."""
    if not isinstance(function, BuiltinFunctionType):
        return ""
    name, owner = function.__name__, function.__self__
    if not isinstance(owner, ModuleType):
        return ""
    module = owner.__name__
    if module == "builtins":
        return f"{name} cannot be traced" if name in _REFUSED_BUILTINS else ""
    if module.split(".")[0] in _SUPPORTED_C_MODULES:
        return ""
    return f"{module}.{name} is written in C"


def graph_break_reason(signature: Signature) -> str:
    """The reason why an op breaks the graph; "" if it does not."""
    name = signature.name.split(".")[1]
    if signature.name in _VALUE_OPS:
        return "Python needs the value of a tensor"
    masked = name == "index" and any(
        t.dtype in ("bool", "uint8") for t in signature.tensors("indices")
    )
    if signature.name in DATA_DEPENDENT or masked:
        return f"the size of the result of {name} depends on data"
    return ""


def definition_line(code: CodeType | None) -> str:
    """The first line of a function, such as "nets.py, line 31"."""
    assert code is not None  # only the root has no code, and no call contains the root
    return f"{Path(code.co_filename).name}, line {code.co_firstlineno}"


def line_of(frame: FrameType | None, known: int | None = None) -> str:
    """The innermost line of user code, such as "nets.py, line 31", or its line `known`."""
    file, _, number = place_of(frame).rpartition(":")
    number = known or number
    return f"{file}, line {number}" if file else "an unknown line"


def place_of(frame: FrameType | None) -> str:
    """The innermost line of user code, as "nets.py:31"; "" without one."""
    while frame is not None:
        if is_user_code(frame.f_code):
            return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
        frame = frame.f_back
    return ""
