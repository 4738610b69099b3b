"""Functions that Dynamo does not trace but puts into the graph as they are.

`torch.compiler.allow_in_graph` stores the address of the function until the function is deleted
(torch/_dynamo/decorators.py).
"""

from __future__ import annotations

import ctypes
import sys
from types import CodeType, FunctionType
from typing import Any


class InGraph:
    """The code of the functions that are allowed in the graph."""

    def __init__(self) -> None:
        self._functions = 0
        self._codes: dict[int, CodeType] = {}

    def holds(self, code: CodeType) -> bool:
        """Whether this is the code of such a function."""
        rules: Any = sys.modules.get("torch._dynamo.trace_rules")
        allowed: set[int] = rules._allowed_callable_ids() if rules else set()
        if len(allowed) != self._functions:
            self._functions = len(allowed)
            functions = (ctypes.cast(each, ctypes.py_object).value for each in allowed)
            codes = [f.__code__ for f in functions if isinstance(f, FunctionType)]
            self._codes = {id(code): code for code in codes}
        return id(code) in self._codes
