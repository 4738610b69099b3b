"""Forward ops that the cut may not recompute: the heuristics of `solve_min_cut`
(torch/_functorch/partitioners.py), each named like its switch in torch/_functorch/config.py."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from heapq import heappop, heappush

from simulator.fusion.passes.joint import Joint
from simulator.fusion.passes.op_types import is_intensive, is_recomputable
from simulator.records import Op, Tensor

_CHAIN = 100  # maximum number of ops in a fusible chain
_REDUCED = 4  # a result this many times smaller than its inputs is saved


@dataclass(frozen=True)
class Bans:
    """The kinds of ops that are banned. `used_far_apart` are ops whose result is also read beyond
    an op that does not fuse. `long_chains` are ops that end a long chain of fusible ops.
    `materialized_backward` are ops whose result an unfusible backward op reads. `not_listed` are
    ops that are not on the list; if False, only random and compute-intensive ops are banned.
    `reductions` are ops whose results are much smaller than their inputs."""

    used_far_apart: bool = True
    long_chains: bool = True
    materialized_backward: bool = True
    not_listed: bool = True
    reductions: bool = True


def banned(joint: Joint, bans: Bans, allowed: Collection[int] = ()) -> set[int]:
    """The ops of a joint graph that must not run again, except those `allowed`. An op that writes
    in place is always banned, because its input is lost."""
    fixed = {i for i in joint.makes if not joint.view[i] and joint.writes_in_place(i)}
    tensors = {
        i for i in joint.makes if not joint.view[i] and i not in allowed and _banned(joint, bans, i)
    }
    tensors |= fixed

    def ban(index: int) -> None:
        if not joint.view[index] and index not in allowed:
            tensors.add(index)

    if bans.used_far_apart:
        for tensor, users in enumerate(joint.users):
            if len(users) < 2:  # only a reader after the first can be banned
                continue
            first = _first_unfusible(joint, users)
            for user in users:
                if user > first and joint.fuse(tensor, user):
                    ban(user)
    if bans.long_chains:
        _cut_chains(joint, tensors, allowed)
    return tensors


def _banned(joint: Joint, bans: Bans, index: int) -> bool:
    op = joint.trace.ops[index]
    if bans.not_listed:
        if not is_recomputable(op):
            return True
    elif joint.draws(index) or is_intensive(op):
        return True
    results = joint.makes[index]
    alone = len(op.outputs) == 1
    if bans.materialized_backward and alone and _materialized_backward(joint, results[0]):
        return True
    return bans.reductions and _REDUCED * sum(map(_bytes, op.outputs)) < _given_bytes(op)


def _bytes(tensor: Tensor) -> int:
    return tensor.numel * tensor.itemsize


def _given_bytes(op: Op) -> int:
    """Bytes of the inputs of an op, except for lists of tensors, which the partitioner ignores."""
    often = Counter(op.signature.names)
    named = zip(op.inputs, op.signature.names, strict=True)
    return sum(_bytes(tensor) for tensor, name in named if often[name] == 1)


def _materialized_backward(joint: Joint, tensor: int) -> bool:
    """Whether an unfusible backward op reads a tensor or a view of it: recomputation is then never
    free."""
    waiting = [tensor]
    while waiting:
        one = waiting.pop()
        if any(not joint.fuse(one, reader) for reader in joint.readers[one]):
            return True
        waiting += [t for user in joint.users[one] if joint.view[user] for t in joint.makes[user]]
    return False


def _first_unfusible(joint: Joint, users: list[int]) -> int:
    """The first op downstream of `users` that does not fuse with an input, or the last user
    (`find_first_unfusible`)."""
    furthest = max(users)
    waiting: list[tuple[int, bool]] = []
    visited: set[tuple[int, bool]] = set()
    for user in users:
        heappush(waiting, (user, True))
    while waiting:
        index, fuses = heappop(waiting)
        if not fuses:
            return index
        for tensor in joint.makes[index]:
            for user in joint.users[tensor]:
                step = user, joint.fuse(tensor, user)
                if user <= furthest and step not in visited:
                    visited.add(step)
                    heappush(waiting, step)
    return furthest


def _cut_chains(joint: Joint, bans: set[int], allowed: Collection[int]) -> None:
    """Ban the op at which a chain of fusible ops has become too long."""
    visited: set[int] = set()
    for start in joint.makes:
        waiting = [start]
        while waiting:
            index = heappop(waiting)
            if index in visited:
                continue
            visited.add(index)
            if index > start + _CHAIN and not waiting:
                if not joint.view[index] and index not in allowed:
                    bans.add(index)
                break
            for tensor in joint.makes[index]:
                for user in joint.users[tensor]:
                    if joint.fuse(tensor, user) and user not in bans:
                        heappush(waiting, user)
