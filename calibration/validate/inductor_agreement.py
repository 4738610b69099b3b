"""Compare the fast partition with the real Inductor's schedules, network by network.

`python -m calibration.validate.inductor_agreement [PATTERN]` prints the numbers of kernels of both,
the share of ops in the same launch, and the ratio of the bytes that enter or leave launches. With
`--differ` it also prints the launches that differ.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from calibration.record.inductor_schedules import FOLDER, Case, Row, file_of, rows
from simulator.fusion.fused import Fused
from simulator.fusion.scheduling.partition import fused
from simulator.inductor.exact_trace import exact_trace
from simulator.inductor.schedule import Schedule
from simulator.records import Op, Trace
from simulator.scenario.resolve import resolve
from simulator.scenario.trace_source import trace_resolved
from simulator.timing.profile import learned

Ops = frozenset[int]


@dataclass(frozen=True)
class Side:
    """One compiler's launches: the ops of the eager trace that each computes, and their kernels."""

    ops: list[Ops]
    launches: list[Op]

    @property
    def generated(self) -> int:
        return sum(each.name.startswith("fused.") for each in self.launches)

    @property
    def nbytes(self) -> int:
        return sum(op.signature.read_bytes + op.signature.write_bytes for op in self.launches)


@dataclass(frozen=True)
class Agreement:
    """The launches of one case by the real Inductor (`real`) and by the rules (`rules`), and the
    eager trace; the pairs of launches of both, and the number of common `ops` in the same
    launch."""

    case: Case
    real: Side
    rules: Side
    pairs: dict[int, int]
    same: int
    ops: int
    origin: Trace

    @property
    def share(self) -> float:
        return self.same / max(self.ops, 1)

    @property
    def bytes_ratio(self) -> float:
        return self.rules.nbytes / self.real.nbytes


def agreement(case: Case, schedule: Schedule) -> Agreement:
    """The agreement of both compilers on one case."""
    resolved = resolve(case.scenario)
    origin = trace_resolved(resolved)
    exact, fast = (
        exact_trace(schedule, origin),
        fused(origin, resolved.gpu, profile=learned("h200")),
    )
    real, rules = map(_side, (exact, fast))
    pairs = matched(real.ops, rules.ops)
    both = frozenset[str]().union(*real.ops) & frozenset[str]().union(*rules.ops)
    same = frozenset[str]().union(*(real.ops[a] & rules.ops[b] for a, b in pairs.items()))
    return Agreement(case, real, rules, pairs, len(same), len(both), origin)


def _side(fused: Fused) -> Side:
    """The launches of a fused step. ATen's copies of the gradients of convolutions, within the call
    or after the compiled code, are left out, because no schedule has them."""
    launches = [
        (frozenset(op for node in group.nodes for op in node.ops), launch)
        for group, launch in zip(fused.groups, fused.trace.ops, strict=False)
        if not (group.library and group.nodes[0].call and launch.name == "aten.clone.default")
    ]
    return Side([ops for ops, _ in launches], [launch for _, launch in launches])


def matched(real: Sequence[Ops], rules: Sequence[Ops]) -> dict[int, int]:
    """Pairs of launches, chosen by the largest share of common ops, each launch in at most one
    pair. An op is in the same launch if a pair has it on both sides."""
    of_op: dict[int, list[int]] = {}
    for b, ops in enumerate(rules):
        for op in ops:
            of_op.setdefault(op, []).append(b)
    candidates: list[tuple[float, int, int]] = []
    for a, ops in enumerate(real):
        for b, common in Counter(b for op in ops for b in of_op.get(op, ())).items():
            candidates.append((-common / len(ops | rules[b]), a, b))
    pairs: dict[int, int] = {}
    paired: set[int] = set()
    for _, a, b in sorted(candidates):
        if a not in pairs and b not in paired:
            pairs[a] = b
            paired.add(b)
    return pairs


def differences(agreed: Agreement) -> list[str]:
    """Launches without a partner, and pairs whose ops or bytes differ."""
    lines: list[str] = []
    paired = set(agreed.pairs.values())
    both = frozenset[str]().union(*agreed.real.ops) & frozenset[str]().union(*agreed.rules.ops)
    for a, ops in enumerate(agreed.real.ops):
        b = agreed.pairs.get(a)
        if b is None:
            lines.append(f"  real {a} only: {_line(agreed, ops)} {_bytes(agreed.real.launches[a])}")
            continue
        more, less = (ops - agreed.rules.ops[b]) & both, (agreed.rules.ops[b] - ops) & both
        sizes = _bytes(agreed.real.launches[a]), _bytes(agreed.rules.launches[b])
        if more or less or sizes[0] != sizes[1]:
            both_have = _line(agreed, ops & agreed.rules.ops[b])
            difference = f"+[{_line(agreed, more)}] -[{_line(agreed, less)}]"
            lines.append(f"  real {a} rules {b}: {both_have} {difference} {sizes[0]} | {sizes[1]}")
    for b, ops in enumerate(agreed.rules.ops):
        if b not in paired:
            lines.append(
                f"  rules {b} only: {_line(agreed, ops)} {_bytes(agreed.rules.launches[b])}"
            )
    return lines


def _line(agreed: Agreement, ops: Ops) -> str:
    return " ".join(f"{op}:{agreed.origin.ops[op].name.split('.')[1]}" for op in sorted(ops))


def _bytes(op: Op) -> str:
    reads = "+".join(str(t.nbytes) for t in op.inputs)
    return f"{reads} → {'+'.join(str(t.nbytes) for t in op.outputs)}"


def line(agreed: Agreement) -> str:
    """One case as a line of the report."""
    real, rules = agreed.real, agreed.rules
    return (
        f"{agreed.case.name:36} launches {len(real.ops):4} {len(rules.ops):4}  "
        f"generated {real.generated:4} {rules.generated:4}  "
        f"same launch {agreed.share:6.1%} of {agreed.ops:5}  bytes {agreed.bytes_ratio:5.3f}"
    )


def stored() -> list[Row]:
    """The schedules of the installed torch, or else of the newest stored version."""
    own = file_of(torch.__version__)
    return rows(own if own.exists() else max(FOLDER.glob("torch-*.jsonl.gz")))


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="", help="part of a case's name")
    parser.add_argument("--differ", action="store_true", help="print the launches that differ")
    arguments = parser.parse_args()
    same = ops = 0
    for row in stored():
        if arguments.pattern not in row.case.name:
            continue
        if row.schedule is None:
            print(f"{row.case.name:36} not compiled: {row.refused}")
            continue
        agreed = agreement(row.case, row.schedule)
        same, ops = same + agreed.same, ops + agreed.ops
        print(line(agreed))
        if arguments.differ:
            print("\n".join(differences(agreed)))
    print(f"{same / max(ops, 1):.1%} of {ops} ops lie in the same launch")


if __name__ == "__main__":
    main()
