"""The optimizer's tensors: lists of an op, or a series of ops on one tensor each.

A list, or a series of ops of one signature, has one tensor per parameter. `shortened` removes
tensors; `simulator.blocks.longer_lists` adds tensors of repeated blocks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from typing import Any

import msgspec

from simulator.records import Op, Signature, Trace


def lists(signature: Signature) -> Iterator[tuple[int, int]]:
    """(start, length) of each list among the inputs, then of the outputs."""
    start = 0
    for _, group in groupby(signature.names):
        length = len(list(group))
        yield start, length
        start += length
    if signature.outputs:
        yield start, len(signature.outputs)


def series(trace: Trace, places: range, lengths: Collection[int]) -> Iterator[list[int]]:
    """The ops of the optimizer, grouped by series, whose length is one of `lengths`."""
    for _, group in groupby(
        places,
        lambda i: trace.ops[i].signature if len(trace.ops[i].storages) == 1 else i,
    ):
        alike = list(group)
        length = next((n for n in lengths if len(alike) % n == 0), len(alike))
        for start in range(0, len(alike), length):
            yield alike[start : start + length]


def shortened(op: Op, dropped: Mapping[int, Collection[int]]) -> Op:
    """An op without the places `dropped[n]` of its lists of length n."""
    signature = op.signature
    rest: list[int] = []
    for start, length in lists(signature):
        away = dropped.get(length, ())
        rest.extend(start + place for place in range(length) if place not in away)
    tensors = (*signature.inputs, *signature.outputs)
    if len(rest) == len(tensors):
        return op
    aliases = signature.aliases or tuple(range(len(tensors)))
    inputs = [i for i in rest if i < len(signature.inputs)]
    numbers: dict[int, int] = {}
    shorter = Signature(
        signature.name,
        tuple(tensors[i] for i in inputs),
        tuple(tensors[i] for i in rest[len(inputs) :]),
        tuple(signature.names[i] for i in inputs),
        {name: _shorter_argument(value, dropped) for name, value in signature.args.items()},
        tuple(numbers.setdefault(aliases[i], len(numbers)) for i in rest),
    )
    return msgspec.structs.replace(
        op, signature=shorter, storages=tuple(op.storages[i] for i in rest)
    )


def _shorter_argument(value: Any, dropped: Mapping[int, Collection[int]]) -> Any:
    if not isinstance(value, list) or len(value) not in dropped:  # pyright: ignore
        return value  # pyright: ignore
    listed: list[Any] = value  # pyright: ignore
    return [each for i, each in enumerate(listed) if i not in dropped[len(listed)]]
