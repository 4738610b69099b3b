"""What advice says of a what-if, and the arguments with which it tries it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from simulator.prediction import Regime

Changes = Literal["code", "machine", "what is computed"]
Sentence = str | Callable[[Mapping[str, Any]], str]
"""Advice as a sentence without the full stop: a text with the what-if's arguments in braces, as in
"Use memory with {times} the bandwidth", or a function that builds it from the arguments."""


@dataclass(frozen=True)
class Trial:
    """A what-if to try. `text` is the what-if as a command writes it; `aims` are the regimes that
    it reduces (any if empty), and `how` explains how. `changes` is what has to change: the code,
    the machine, or what is computed (results then differ). It is tried on networks of `dtypes` (of
    every dtype if empty)."""

    text: str
    aims: tuple[Regime, ...]
    how: str
    changes: Changes
    dtypes: tuple[str, ...] = ()
