"""Errors that a network raises while it is traced, as InputErrors for its author."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from simulator.errors import InputError


class MissingFakeError(NotImplementedError):
    """An op of another library has no rule for tensors without data; the text gives the remedy.

    It is a NotImplementedError like torch's, so that code that catches torch's error keeps working.
    """


_OURS = Path(__file__).resolve().parents[1]
_TORCHS = Path(torch.__file__).resolve().parent


@contextmanager
def as_input_error(
    module: nn.Module,
    what: str,
    remedy: str,
    inputs: Any = None,
    assumed: Callable[[], str] = lambda: "",
) -> Generator[None]:
    """Turn an error that `module` raises in `what` ("forward", "backward" …) into an InputError.

    Its text holds the tensors among `inputs`, the line of the user's code, the remedy, and the
    result of `assumed()`.
    """
    name = type(module).__name__
    try:
        yield
    except (InputError, KeyboardInterrupt):
        raise
    except MissingFakeError as error:
        raise InputError(f"{name} runs an op of another library: {error}{line_of(error)}") from None
    except NotImplementedError as error:
        raise InputError(
            f"{name} uses an op that cannot be traced without data: {error}{line_of(error)}; "
            "compute it outside the network, or replace it"
        ) from error
    except BaseException as error:
        tensors = [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)]
        shown = ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in tensors)
        on_inputs = f" on inputs ({shown})" if inputs is not None else ""
        raise InputError(
            f"{name}.{what} failed{on_inputs}: {type(error).__name__}: {error}{line_of(error)}; "
            f"{remedy}{assumed()}"
        ) from error


def line_of(error: BaseException) -> str:
    """The innermost line of the user's files in an error's traceback; "" without one."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_file() and not {_OURS, _TORCHS} & set(path.resolve().parents):
            return f" ({path.name}, line {frame.lineno})"
    return ""
