"""The question for a child process, as text for a pipe."""

from __future__ import annotations

from typing import Any

import msgspec

from simulator.hardware.gpu import GPU


class Question(msgspec.Struct, frozen=True):
    """One step of a network on a GPU; most fields are those of `TraceRequest`.
    The module at `stack` holds `blocks` identical blocks, 0 if unknown."""

    network: str
    gpu: GPU
    batch: int | None = None
    seq: int | None = None
    dtype: str = "fp32"
    training: bool = False
    sizes: tuple[tuple[str, Any], ...] = ()
    data_sizes: tuple[tuple[str, int], ...] = ()
    frozen: tuple[str, ...] = ()
    module_dtypes: tuple[tuple[str, str], ...] = ()
    sdpa: str | None = None
    stack: str = ""
    blocks: int = 0


def encoded(question: Question) -> bytes:
    """A question as one line."""
    return msgspec.json.encode(question) + b"\n"


def decoded(line: bytes) -> Question:
    return msgspec.json.decode(line, type=Question)
