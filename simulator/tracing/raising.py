"""What a network raises while it runs on tensors without data, said to whoever wrote it."""

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

_OURS = Path(__file__).resolve().parents[1]
_TORCHS = Path(torch.__file__).resolve().parent


@contextmanager
def blaming(
    module: nn.Module,
    what: str,
    remedy: str,
    given: Any = None,
    assumed: Callable[[], str] = lambda: "",
) -> Generator[None]:
    """Turn whatever `module`'s own code raises in `what` ("forward", "backward" …) into an
    InputError with the tensors among `given`, the line of that code, the remedy and, by then, what
    had been assumed."""
    name = type(module).__name__
    try:
        yield
    except (InputError, KeyboardInterrupt):
        raise
    except NotImplementedError as error:
        raise InputError(
            f"{name} uses an op that cannot be traced without data: {error}{line_of(error)}; "
            "compute it outside of the network, or another way"
        ) from error
    except BaseException as error:
        tensors = [t for t in tree_leaves(given) if isinstance(t, torch.Tensor)]
        shown = ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in tensors)
        inputs = f" on inputs ({shown})" if given is not None else ""
        raise InputError(
            f"{name}.{what} failed{inputs}: {type(error).__name__}: {error}{line_of(error)}; "
            f"{remedy}{assumed()}"
        ) from error


def line_of(error: BaseException) -> str:
    """The last line of the user's own files on the way to an error; "" where there is none."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        path = Path(frame.filename)
        if path.is_file() and not {_OURS, _TORCHS} & set(path.resolve().parents):
            return f" ({path.name}, line {frame.lineno})"
    return ""
