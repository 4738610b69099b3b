"""Ops in threads that a step starts. The recorder sees only those of the thread that enters it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from simulator.errors import InputError
from simulator.tracing.python_code.user_code import line_of


@contextmanager
def one_thread() -> Generator[None]:
    """Run a step; raises InputError at its end if another thread, started by the step, ran an op on
    a tensor without data."""
    ops = _Ops()

    def on_first_event(*_: Any) -> None:
        sys.setprofile(None)
        ops.__enter__()  # the mode ends with its thread

    profile = threading.getprofile()
    threading.setprofile(on_first_event)
    try:
        yield
    finally:
        threading.setprofile(cast("Any", profile))
        ops.active = False
    if ops.names:
        raise InputError(
            f"the step runs {_counted(ops.names)} in another thread ({ops.place}), and only ops of "
            "the thread that calls the network are recorded: expected a step in one thread; call "
            "the layers without threads"
        )


class _Ops(TorchDispatchMode):
    """The names of the ops on tensors without data, and the first one's place in the user's code;
    after the step, not `active`."""

    def __init__(self) -> None:
        super().__init__()
        self.active = True
        self.names: list[str] = []
        self.place = ""

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.active and any(map(_is_meta, tree_leaves((args, kwargs, result)))):
            self.names.append(func.overloadpacket.__name__)
            self.place = self.place or line_of(sys._getframe(1))
        return result


def _is_meta(value: object) -> bool:
    return isinstance(value, torch.Tensor) and value.is_meta


def _counted(names: list[str]) -> str:
    if len(names) == 1:
        return f"the op {names[0]}"
    return f"{len(names)} ops, the first of which is {names[0]},"
