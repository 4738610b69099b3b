"""The errors that Ridgepoint raises on purpose."""

from __future__ import annotations

from typing import Any


class RidgepointError(Exception):
    """The root of Ridgepoint's own errors; anything else that escapes is a bug."""


class InputError(RidgepointError):
    """What came from outside cannot be used.

    The message says what came, what was expected and what to do.
    """


class UntracedError(RidgepointError):
    """A trace, or a family of traces, that this process leaves to another one to make.

    `ask` is what is to be traced, on `gpu`; `line` the family that is wanted, None for one trace.
    """

    def __init__(self, ask: Any, gpu: Any, line: Any = None) -> None:
        super().__init__(f"{ask.network} is not traced yet")
        self.ask, self.gpu, self.line = ask, gpu, line
