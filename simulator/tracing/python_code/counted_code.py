"""The Python code of a traced step that is counted: code that would also run on a GPU's host."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from types import CodeType
from typing import NamedTuple

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
OVERRIDE = "handle_torch_function"
"""A torch function calls this function to run again, outside the function mode. Code that it runs
after that does not run in a step on a GPU."""
_ONCE_A_PROCESS = {
    "_find_and_load": "importlib", "__getattr__": "_ops.py", "__subclasscheck__": "abc",
    "getEffectiveLevel": "logging", "feature_import": "shibokensupport",
    "feature_imported": "shibokensupport",
}  # fmt: skip
"""Functions, by name and file, that look up a module, an op, a base class or a logging level and
cache the result; and the hooks that PySide adds to every import."""


class Counted(NamedTuple):
    """Whether the call of a function counts, and whether its instructions do."""

    call: bool
    instructions: bool


@lru_cache(8192)
def counted_call(code: CodeType, caller: CodeType | None) -> Counted:
    """Whether a call of `code` by `caller` counts, and whether its instructions do."""
    if _lies_in(code, _UNCOUNTED) and not _lies_in(code, _NETWORKS):
        return Counted(False, False)
    repeated = caller is not None and _lies_in(caller, _REPEATING)
    by_rule = caller is not None and _lies_in(caller, _RULES)
    elsewhere = code.co_name in _MODULE_CALLS or _lies_in(code, _OPS)
    return Counted(not repeated, not elsewhere and not by_rule)


def is_once_a_process(code: CodeType) -> bool:
    """Whether a function's work is done once in a process, not in every step."""
    return code.co_name in _ONCE_A_PROCESS and _ONCE_A_PROCESS[code.co_name] in code.co_filename


@lru_cache(8192)
def _lies_in(code: CodeType, parts: tuple[str, ...]) -> bool:
    path = code.co_filename.replace("\\", "/")
    return any(part in path for part in parts)
