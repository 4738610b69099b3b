"""Fuse chosen ops: each set becomes one kernel, in any mode.

Ops chosen by name, in a module or in the whole network, are fused chain by chain if that is legal.
Ops chosen by index, or all ops of a module, become one kernel or raise an error.
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
        """The ops chosen by index; () if they are chosen by name."""
        words = self.ops.split("+")
        if not all(_NUMBERS.fullmatch(word) for word in words):
            return ()
        ends = [[int(end) for end in word.split("-")] for word in words]
        return tuple(sorted({n for span in ends for n in range(span[0], span[-1] + 1)}))


@dataclass(frozen=True)
class FusedOps:
    """Fuse each chosen set into one kernel. All sets are chosen from the same trace, so that the
    order of the choices does not matter."""

    choices: tuple[Choice, ...]
    rank: int = 2

    def __call__(self, trace: Trace) -> Trace:
        chosen = Chosen(trace)
        kernels: list[Kernel] = []
        chosen_ops: set[int] = set()
        for choice in self.choices:
            for kernel in kernels_of(chosen, choice):
                if shared := chosen_ops.intersection(kernel.members):
                    raise InputError(
                        f"fuse: {chosen.label(min(shared))} is in two sets: expected each op in "
                        "one set only; change one of them"
                    )
                chosen_ops.update(kernel.members)
                kernels.append(kernel)
        try:
            return merged(chosen, kernels)
        except InputError as error:
            raise InputError(f"fuse: {error}") from None


def kernels_of(chosen: Chosen, choice: Choice) -> list[Kernel]:
    """The kernels into which a choice fuses ops. Raises InputError, with the reason, if no ops can
    be fused."""
    if choice.numbers:
        return [_kernel(chosen, choice.numbers, choice)]
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
        return [_kernel(chosen, members, choice, key) for key, members in sets.items()]
    return _chains(chosen, sets, choice)


def _is_module(chosen: Chosen, choice: Choice) -> bool:
    """Whether the text for ops is a module pattern, as in +fuse=layers.*.up."""
    names = any(
        fits_name(part, signature.name)
        for part in choice.ops.split("+")
        for signature in chosen.trace.signatures[0]
    )
    return choice.ops != "*" and choice.modules == ALL and not names


def _sets(trace: Trace, choice: Choice) -> dict[tuple[str, str], list[int]]:
    """The chosen ops by module and phase."""
    sets: dict[tuple[str, str], list[int]] = {}
    names = choice.ops.split("+")
    matching = {
        signature.name
        for signature in trace.signatures[0]
        if any(fits_name(name, signature.name) for name in names)
    }
    for index, op in enumerate(trace.ops):
        if op.name not in matching or choice.phase not in ("both", op.phase):
            continue
        path = block(choice.modules, op.module)
        if path is not None:
            sets.setdefault((path, op.phase), []).append(index)
    if not sets and choice.modules == ALL:  # the text for ops is a module pattern
        return _sets(trace, Choice("*", choice.ops, choice.phase)) if choice.ops != "*" else {}
    return sets


def _kernel(
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
    """The longest legal chains of each set."""
    owner = {index: key for key, members in sets.items() for index in members}
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
    """The reason why two ops of a set cannot be one kernel. The two are an op and a reader of its
    output if the set has such a pair, else the first two ops."""
    pair: Sequence[int] = ()
    for indices in sets.values():
        members = chosen.computing(indices)
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
    return "no op reads the output of another; choose ops that follow each other, or give numbers"


def _refusal(chosen: Chosen, pair: Sequence[int]) -> str:
    try:
        chosen.kernel(pair)
    except InputError as error:
        return str(error)
    return ""
