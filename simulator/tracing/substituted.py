"""Replace attributes of torch during a trace."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_INHERITED = object()


@contextmanager
def substituted(owner: Any, **values: Any) -> Generator[None]:
    """Set attributes of a module or a class, and restore them afterwards.

    Raises AttributeError if the owner has no attribute of that name.
    """
    for name in values:
        getattr(owner, name)
    before = {name: vars(owner).get(name, _INHERITED) for name in values}
    for name, value in values.items():
        setattr(owner, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is _INHERITED:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
