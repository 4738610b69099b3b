"""Requests and results of loading a network, common to all sources."""

from __future__ import annotations

import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from simulator.errors import InputError

if TYPE_CHECKING:
    from torch import nn

DEFAULT_BATCH, DEFAULT_SEQ = 1, 128


class Facts(NamedTuple):
    """Display name, batch and sequence length of a loaded network; None if not applicable."""

    name: str
    batch: int | None = None
    seq: int | None = None


class Loaded(NamedTuple):
    """A network ready to be traced: `module(*args, **kwargs)`."""

    module: nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    facts: Facts


class Wanted(NamedTuple):
    """A request to load a network; None uses the default of the network."""

    spec: str
    batch: int | None
    seq: int | None
    training: bool
    sizes: dict[str, Any]


@contextmanager
def blaming(what: str, remedy: str, path: Path | None = None) -> Generator[None]:
    """Convert exceptions of user code into an InputError with the line in `path`."""
    try:
        yield
    except (InputError, KeyboardInterrupt):
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f.lineno for f in frames if path and f.filename == str(path)]
        if isinstance(error, SyntaxError) and path and error.filename == str(path):
            lines, error = [error.lineno], SyntaxError(error.msg)
        where = f" on line {lines[-1]}" if lines else ""
        words = f": {error}" if str(error) else ""  # empty for a bare sys.exit()
        raise InputError(f"{what} raised {type(error).__name__}{where}{words}; {remedy}") from error


def check_positions(what: str, seq: int | None, positions: int | None, remedy: str) -> None:
    if seq is not None and positions is not None and seq > positions:
        raise InputError(
            f"{what} has {positions} positions: expected seq {positions} at most, got {seq}; "
            f"or {remedy}"
        )
