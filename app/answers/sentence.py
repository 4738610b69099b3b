"""A question as a sentence: words, and fields that each edit its draft."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

D = TypeVar("D")


@dataclass(frozen=True)
class Field(Generic[D]):
    """A figure of the sentence. `shown` is its text, and `put` returns the draft with another text.
    `options` are the texts to choose from, more than one at a time if `several`. `empty` is shown
    if there is no figure. `key` names the key of the draft that the field edits, `wrong` is the
    reason why the figure is refused."""

    name: str
    shown: str
    put: Callable[[D, str], D]
    tip: str = ""
    options: tuple[str, ...] = ()
    several: bool = False
    empty: str = ""
    key: str = ""
    wrong: str = ""


Part = str | Field[D]
