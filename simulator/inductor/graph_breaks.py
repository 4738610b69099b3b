"""Why torch.compile does not take a network as one graph, in a line that names the user's own."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_NOT_THEIRS = ("site-packages", "simulator/inductor", "importlib", "contextlib.py", "<")
_FITS = "torch 2.11 to 2.13 with its triton"  # as pyproject.toml has it
_OURS = "simulator/inductor/"
_INTERNALS = AttributeError, ImportError, TypeError


def otherwise(error: BaseException) -> str:
    """What asked for internals of torch or Triton that are not there, or not as they were."""
    versions = " with ".join(f"{name} {_version(name)}" for name in ("torch", "triton"))
    return (
        f"{versions} is otherwise than expected: {type(error).__name__}: {error}; install {_FITS}"
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def reason(error: BaseException) -> str:
    """The first sentence of an error of the compiler, and the line of code it is about."""
    cause: BaseException = error
    if type(error).__name__ == "BackendCompilerFailed":
        met: list[BaseException] = []
        while cause.__cause__ is not None and cause not in met:  # it may be its own
            met.append(cause)
            cause = cause.__cause__
    at = traceback.extract_tb(cause.__traceback__)
    if isinstance(cause, _INTERNALS) and at and _OURS in at[-1].filename.replace("\\", "/"):
        return otherwise(cause)
    words = [line.strip() for line in str(cause).splitlines() if line.strip()]
    said = next((line for line in words if not line.startswith("backend=")), type(cause).__name__)
    explained = next(
        (w.removeprefix("Explanation: ") for w in words if w.startswith("Explanation: ")), ""
    )
    kind = "the graph breaks" if type(cause).__name__ == "Unsupported" else type(cause).__name__
    where = _line(cause) or _line(error)
    parts = [
        kind,
        f" at {where}" if where else "",
        f": {said}",
        f" ({explained})" * bool(explained),
    ]
    return "".join(parts)


def _line(error: BaseException) -> str:
    stack: Any = getattr(error, "real_stack", None) or ()
    frames = [f for f in stack if not any(part in f.filename for part in _NOT_THEIRS)]
    if not frames:
        frames = [
            f
            for f in traceback.extract_tb(error.__traceback__)
            if not any(part in f.filename for part in _NOT_THEIRS)
        ]
    return line(frames)


def line(frames: Sequence[Any]) -> str:
    """The innermost of these lines of code, as "nets.py, line 31"; "" of none."""
    if not frames:
        return ""
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"


def line_of(stack_trace: str | None) -> str:
    """The last line of the user's in a graph node's trace, as "mixtral.py, line 40"."""
    found = re.findall(r'File "([^"]+)", line (\d+)', stack_trace or "")
    theirs = [each for each in found if not any(part in each[0] for part in _NOT_THEIRS)]
    if not theirs:
        return "an unknown line"
    file, number = theirs[-1]
    return f"{Path(file).name}, line {number}"
