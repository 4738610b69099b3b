"""The reason why torch.compile breaks a network's graph, with the line of user code."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_NOT_USER = ("site-packages", "simulator/inductor", "importlib", "contextlib.py", "<")
_SUPPORTED = "torch 2.11 to 2.13 with the matching triton"  # as in pyproject.toml
_OURS = "simulator/inductor/"
_INTERNALS = AttributeError, ImportError, TypeError


def version_mismatch(error: BaseException) -> str:
    """The text for internals of torch or Triton that are missing or have changed."""
    versions = " with ".join(f"{name} {_version(name)}" for name in ("torch", "triton"))
    return f"{versions} is not supported: {type(error).__name__}: {error}; install {_SUPPORTED}"


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "(not installed)"


def reason(error: BaseException) -> str:
    """The first line of a compiler's error, and the line of user code that it concerns."""
    cause: BaseException = error
    if type(error).__name__ == "BackendCompilerFailed":
        visited: list[BaseException] = []
        while cause.__cause__ is not None and cause not in visited:  # causes may form a cycle
            visited.append(cause)
            cause = cause.__cause__
    at = traceback.extract_tb(cause.__traceback__)
    if isinstance(cause, _INTERNALS) and at and _OURS in at[-1].filename.replace("\\", "/"):
        return version_mismatch(cause)
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    text = next((line for line in lines if not line.startswith("backend=")), type(cause).__name__)
    explained = next(
        (w.removeprefix("Explanation: ") for w in lines if w.startswith("Explanation: ")), ""
    )
    kind = "the graph breaks" if type(cause).__name__ == "Unsupported" else type(cause).__name__
    where = _line(cause) or _line(error)
    parts = [
        kind,
        f" at {where}" if where else "",
        f": {text}",
        f" ({explained})" * bool(explained),
    ]
    return "".join(parts)


def _line(error: BaseException) -> str:
    stack: Any = getattr(error, "real_stack", None) or ()
    frames = [f for f in stack if not any(part in f.filename for part in _NOT_USER)]
    if not frames:
        frames = [
            f
            for f in traceback.extract_tb(error.__traceback__)
            if not any(part in f.filename for part in _NOT_USER)
        ]
    return line(frames)


def line(frames: Sequence[Any]) -> str:
    """The innermost of these frames, such as "nets.py, line 31"; empty without frames."""
    if not frames:
        return ""
    return f"{Path(frames[-1].filename).name}, line {frames[-1].lineno}"


def line_of(stack_trace: str | None) -> str:
    """The innermost user line in a graph node's stack trace, such as "mixtral.py, line 40"."""
    frames = re.findall(r'File "([^"]+)", line (\d+)', stack_trace or "")
    own = [frame for frame in frames if not any(part in frame[0] for part in _NOT_USER)]
    if not own:
        return "an unknown line"
    file, number = own[-1]
    return f"{Path(file).name}, line {number}"
