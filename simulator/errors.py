"""Ridgepoint's exceptions."""

from __future__ import annotations

from typing import Any


class RidgepointError(Exception):
    """Base class of all Ridgepoint errors; any other exception that escapes is a bug."""


class InputError(RidgepointError):
    """Input that cannot be used.

    The message states the wrong value, what was expected and how to correct it.
    """


class UntracedError(RidgepointError):
    """Raised if another process must create a trace, or a family of traces.

    `request` is the request to trace on `gpu`; `line` is the requested family, None for one trace.
    """

    def __init__(self, request: Any, gpu: Any, line: Any = None) -> None:
        super().__init__(f"{request.network} is not traced yet")
        self.request, self.gpu, self.line = request, gpu, line
