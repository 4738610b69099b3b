"""The label of a scenario's field that changes, with the values before and after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import facts

_MOST = 40
"""The letters of a value; longer values are cut."""


def field_label(name: str, before: Scenario, after: Scenario) -> str:
    """The label of the change of a field: "batch 8 → 1,024". Defaults of the batch and the sequence
    are written as numbers, unless the change writes out the default: "batch default → 8". A change
    of the network that also changes them states both: "network llama3-8b, 1 × 2,048 → gpt2, 8 ×
    1,024".
    """
    words = [_short(getattr(scenario, name)) for scenario in (before, after)]
    if name in ("batch", "seq"):
        ends = [_size(scenario, name) for scenario in (before, after)]
        words = ends if ends[0] != ends[1] else words
    elif name in ("network", "sizes"):
        sizes = [_sizes(scenario) for scenario in (before, after)]
        if sizes[0] != sizes[1]:
            words = [f"{word}, {size}" for word, size in zip(words, sizes, strict=True)]
    return f"{name} {words[0]} → {words[1]}"


def _size(scenario: Scenario, name: str) -> str:
    value = getattr(scenario, name)
    if value is None:
        batch, seq = _batch_and_seq(scenario)
        value = batch if name == "batch" else seq
    return "none" if value is None else f"{value:,}"


def _sizes(scenario: Scenario) -> str:
    """The batch and the sequence: "8 × 1,024"; the batch of a network without sequences."""
    batch, seq = _batch_and_seq(scenario)
    return " × ".join(f"{size:,}" for size in (batch, seq) if size is not None)


def _batch_and_seq(scenario: Scenario) -> tuple[int | None, int | None]:
    resolved = resolve(scenario)
    _, batch, seq = facts(resolved.request, resolved.gpu)
    return batch, seq


def _short(value: object) -> str:
    if isinstance(value, Mapping):  # the keys of a GPU's file
        value = cast("Mapping[str, object]", value).get("name", "own GPU")
    text = "default" if value is None else str(value)
    return text if len(text) <= _MOST else f"{text[: _MOST - 1]}…"
