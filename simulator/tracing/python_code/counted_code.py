"""The Python code of a traced step that is counted: code that would also run on a GPU's host."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import CodeType

from simulator.tracing.python_code.by_code import ByCode

_TRACING = Path(__file__).parents[1].as_posix()
_SIMULATOR = Path(__file__).parents[2].as_posix()
_NETWORKS = (f"{_SIMULATOR}/networks/",)
_UNCOUNTED = (
    f"{_SIMULATOR}/", "contextlib.py", "torch/overrides.py",
    "torch/_library", "torch/_compile.py", "torch/_dynamo", "torch/compiler",
)  # fmt: skip
"""Files whose Python runs only because a step is traced, except the networks of the simulator."""
_RULES = (f"{_TRACING}/semantics",)
_REPEATING = (f"{_TRACING}/device.py", *_RULES, "torch/compiler")
"""Files whose calls repeat an already counted call, or occur only in a traced step: the function
mode intercepts `F.relu` and calls it a second time."""
_MODULE_CALLS = {"_wrapped_call_impl", "_call_impl", "inner"}
_OPS = ("torch/_ops.py",)
"""Functions and a file whose instructions are not counted, because a traced step takes another path
through them: a module's call has a separate cost; the dispatcher's rules call ops."""
_OVERRIDE = "handle_torch_function"
"""A torch function calls this function to run again, outside the function mode. Code that it runs
after that does not run in a step on a GPU."""
_ONCE_A_PROCESS = {
    "_find_and_load": "importlib", "__getattr__": "_ops.py", "__subclasscheck__": "abc",
    "getEffectiveLevel": "logging", "feature_import": "shibokensupport",
    "feature_imported": "shibokensupport",
}  # fmt: skip
"""Functions, by name and file, that look up a module, an op, a base class or a logging level and
cache the result; and the hooks that PySide adds to every import."""


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """How the calls of a function and its instructions count."""

    once: bool
    """Its work is done once in a process, not in every step."""
    uncounted: bool
    """It runs only because a step is traced."""
    elsewhere: bool
    """Its instructions are not counted here."""
    repeats: bool
    """The calls that it makes do not count."""
    is_rule: bool
    """The instructions of the functions that it calls are not counted."""
    is_override: bool


@ByCode
def facts_of(code: CodeType) -> CodeFacts:
    """The facts of a code object."""
    return CodeFacts(
        once=_ONCE_A_PROCESS.get(code.co_name, "\0") in code.co_filename,
        uncounted=_lies_in(code, _UNCOUNTED) and not _lies_in(code, _NETWORKS),
        elsewhere=code.co_name in _MODULE_CALLS or _lies_in(code, _OPS),
        repeats=_lies_in(code, _REPEATING),
        is_rule=_lies_in(code, _RULES),
        is_override=code.co_name == _OVERRIDE,
    )


def _lies_in(code: CodeType, parts: tuple[str, ...]) -> bool:
    path = code.co_filename.replace("\\", "/")
    return any(part in path for part in parts)
