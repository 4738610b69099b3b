"""Chosen ops fused: each set one kernel, in whatever mode the step then runs.

By name the ops of a module, or of the whole network, are fused chain by chain, as far as that is
legal; by number, or all ops of a module, they are one kernel or refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from simulator.errors import InputError
from simulator.fusion.scheduling.chains import with_epilogues
from simulator.fusion.scheduling.chosen import Chosen, Kernel
from simulator.fusion.scheduling.merging import merged
from simulator.records import Trace
from simulator.scenario.module_pattern import ALL, block
from simulator.whatif.edits.removing import fits_name

_NUMBERS = re.compile(r"\d+(-\d+)?")


@dataclass(frozen=True)
class Choice:
    """Ops to fuse: names or numbers joined by "+", the modules that they are in, and the phase."""

    ops: str
    modules: str = ALL
    phase: str = "both"

    @property
    def numbers(self) -> tuple[int, ...]:
        """The ops that are given by number, none where they are given by name."""
        words = self.ops.split("+")
        if not all(_NUMBERS.fullmatch(word) for word in words):
            return ()
        ends = [[int(end) for end in word.split("-")] for word in words]
        return tuple(sorted({n for each in ends for n in range(each[0], each[-1] + 1)}))


@dataclass(frozen=True)
class FusedOps:
    """Every chosen set as one kernel. All are chosen from the same trace, in whatever order they
    were asked for."""

    choices: tuple[Choice, ...]
    rank: int = 2

    def __call__(self, trace: Trace) -> Trace:
        chosen = Chosen(trace)
        kernels: list[Kernel] = []
        taken: set[int] = set()
        for choice in self.choices:
            for kernel in kernels_of(chosen, choice):
                if both := taken.intersection(kernel.members):
                    raise InputError(
                        f"fuse: {chosen.said(min(both))} is in two sets: expected it in one; "
                        "choose otherwise"
                    )
                taken.update(kernel.members)
                kernels.append(kernel)
        try:
            return merged(chosen, kernels)
        except InputError as error:
            raise InputError(f"fuse: {error}") from None


def kernels_of(chosen: Chosen, choice: Choice) -> list[Kernel]:
    """The kernels that a choice makes. InputError, with the reason, where it makes none."""
    if choice.numbers:
        return [_one(chosen, choice.numbers, choice)]
    sets = _sets(chosen.trace, choice)
    if choice.ops == "*" and choice.modules == ALL and len(sets) and not _is_module(chosen, choice):
        raise InputError(
            "fuse: every op of the network: expected names or numbers of ops, or a module pattern, "
            "such as +fuse=gelu+add; or +fusion=compiled for all that a compiler fuses"
        )
    if not sets:
        raise InputError(
            f"fuse: no op {choice.ops!r} in modules {choice.modules!r}"
            f"{'' if choice.phase == 'both' else f' in the {choice.phase} pass'}: expected names "
            "such as gelu+add, numbers such as 37+39, or modules=PATTERN; `ridgepoint predict "
            "--json -` lists the ops"
        )
    if choice.ops == "*" or _is_module(chosen, choice):
        return [_one(chosen, each, choice, key) for key, each in sets.items()]
    return _chains(chosen, sets, choice)


def _is_module(chosen: Chosen, choice: Choice) -> bool:
    """Is what stands for ops a module pattern, as in +fuse=layers.*.up?"""
    names = any(
        fits_name(part, each.name)
        for part in choice.ops.split("+")
        for each in chosen.trace.signatures[0]
    )
    return choice.ops != "*" and choice.modules == ALL and not names


def _sets(trace: Trace, choice: Choice) -> dict[tuple[str, str], list[int]]:
    """The chosen ops by module and phase."""
    found: dict[tuple[str, str], list[int]] = {}
    names = choice.ops.split("+")
    fitting = {
        each.name
        for each in trace.signatures[0]
        if any(fits_name(name, each.name) for name in names)
    }
    for index, op in enumerate(trace.ops):
        if op.name not in fitting or choice.phase not in ("both", op.phase):
            continue
        path = block(choice.modules, op.module)
        if path is not None:
            found.setdefault((path, op.phase), []).append(index)
    if not found and choice.modules == ALL:  # a module pattern was given first
        return _sets(trace, Choice("*", choice.ops, choice.phase)) if choice.ops != "*" else {}
    return found


def _one(
    chosen: Chosen, indices: Iterable[int], choice: Choice, key: tuple[str, str] = ("", "")
) -> Kernel:
    indices = sorted(indices)
    if indices[-1] >= len(chosen.trace.ops):
        raise InputError(
            f"fuse: op {indices[-1]}: expected numbers below {len(chosen.trace.ops)}; `ridgepoint "
            "predict --json -` lists the ops"
        )
    try:
        return chosen.kernel(indices)
    except InputError as error:
        path, phase = key
        where = "" if choice.numbers else f" {path} in the {phase} pass:"
        raise InputError(f"fuse:{where} {error}") from None


def _chains(chosen: Chosen, sets: dict[tuple[str, str], list[int]], choice: Choice) -> list[Kernel]:
    """The longest chains of each set that are legal."""
    owner = {index: key for key, each in sets.items() for index in each}
    kernels: list[Kernel] = []
    reason = ""
    for members in with_epilogues(chosen, owner):
        try:
            if len(members) > 1:
                kernels.append(chosen.kernel(members))
        except InputError as error:
            reason = reason or str(error)
    if not kernels:
        reason = reason or _why_none(chosen, sets)
        raise InputError(f"fuse: no two of {choice.ops!r} can be one kernel: {reason}")
    return kernels


def _why_none(chosen: Chosen, sets: dict[tuple[str, str], list[int]]) -> str:
    """Why the first two ops of a set, one of which reads the other if there is such a pair, are no
    kernel."""
    pair: Sequence[int] = ()
    for each in sets.values():
        members = chosen.computing(each)
        inside = set(members)
        pair = pair or members[:2]
        for index in members:
            users = {
                u for value in chosen.flow.makes[index] for u in chosen.flow.users.get(value, ())
            }
            if nearest := sorted(users & inside - {index}):
                return _refusal(chosen, (index, nearest[0]))
    if len(pair) > 1 and (reason := _refusal(chosen, pair)):
        return reason
    return "none reads what another makes; choose ops that follow each other, or give numbers"


def _refusal(chosen: Chosen, pair: Sequence[int]) -> str:
    try:
        chosen.kernel(pair)
    except InputError as error:
        return str(error)
    return ""
