"""Compare traces made without a GPU with the ops that a GPU recorded, case by case.

`python -m calibration.validate.trace_fidelity [PATTERN]` retraces the recorded cases and compares
the ops in order (overload, shapes, dtypes) and the kernels they lower to, and prints the
differences.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any

import torch

from calibration.cases.case import COMPILED_OPTIMIZER, Case, Step
from calibration.record.read import Recording, recordings
from simulator.hardware.gpu import gpu as find_gpu
from simulator.lowering import launches
from simulator.modes import run_of
from simulator.networks.known_values import Remembering
from simulator.records import Trace
from simulator.tracing import trace

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Fidelity:
    """The result of a comparison: `matched` of `ops` recorded ops are in the trace in order;
    `differing` names the others."""

    name: str
    ops: int
    matched: int
    kernels: int
    lowered: int
    differing: Counter[str]
    kernel_differences: Counter[str]

    @property
    def share(self) -> float:
        return self.matched / max(self.ops, 1)


def retrace(case: dict[str, Any], mode: str = "eager") -> Trace:
    """Trace a recorded case on tensors without memory, as its code runs in `mode`."""
    known = {key: value for key, value in case.items() if key not in ("name", "mode")}
    with Remembering():  # as the simulator loads a network
        step = Step(Case(**known), "meta")
    autocast = {torch.bfloat16: "bf16", torch.float16: "fp16", None: None}[step.autocast]
    return trace(
        step.module,
        step.inputs,  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        phase=case["phase"],
        optimizer=case["optimizer"] and case["optimizer"].removesuffix(COMPILED_OPTIMIZER),
        autocast=autocast,
        run=run_of(mode),
    )


def compare(recording: Recording, traced: Trace, data_dependent: bool = False) -> Fidelity:
    """Match recorded and traced ops in order; sizes that depend on data are ignored."""
    recorded_rows = [_row(op.name, op.inputs, op.outputs, data_dependent) for op in recording.ops]
    traced_rows = [
        _row(op.name, _plain(op.inputs), _plain(op.outputs), data_dependent) for op in traced.ops
    ]
    matcher = SequenceMatcher(None, recorded_rows, traced_rows, autojunk=False)
    differing: Counter[str] = Counter()
    differences: Counter[str] = Counter()
    matched = 0
    card = find_gpu("h200")
    counts = [len(launches(op.signature, card) or ()) for op in traced.ops]
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            matched += b - a
            for i, j in zip(range(a, b), range(c, d), strict=True):
                if len(recording.ops[i].kernels) != counts[j]:
                    op = recording.ops[i]
                    shapes = "×".join(str(t[0]) for t in op.inputs[:3])
                    differences[
                        f"{op.name} {shapes} {op.inputs[0][1] if op.inputs else ''}: "
                        f"{len(op.kernels)} recorded, {counts[j]} lowered"
                    ] += 1
            continue
        for i in range(a, b):
            differing[f"only recorded: {_text(recorded_rows[i])}"] += 1
        for j in range(c, d):
            differing[f"only traced:   {_text(traced_rows[j])}"] += 1
    return Fidelity(
        recording.name,
        len(recorded_rows),
        matched,
        sum(len(op.kernels) for op in recording.ops),
        sum(counts),
        differing,
        differences,
    )


def _plain(tensors: Any) -> list[list[Any]]:
    return [[list(t.shape), t.dtype, list(t.stride), t.device] for t in tensors]


def _row(name: str, inputs: list[list[Any]], outputs: list[list[Any]], names_only: bool) -> Row:
    def kind(tensors: list[list[Any]]) -> Row:
        return tuple((dtype, *(() if names_only else shape)) for shape, dtype, *_ in tensors)

    return (name, kind(inputs), kind(outputs))


def _text(row: Row) -> str:
    name, inputs, outputs = row

    def kinds(tensors: Row) -> str:
        return ", ".join(f"{t[0]}{list(t[1:])}" for t in tensors[:4])

    return f"{name}({kinds(inputs)}) -> ({kinds(outputs)})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--rest", type=int, default=6, help="differences named per case")
    options = parser.parse_args()
    total: list[float] = []
    for recording in recordings():
        if not re.search(options.pattern, recording.name):
            continue
        traced = retrace(recording.case)
        difference = compare(recording, traced, data_dependent="mixtral" in recording.name)
        total.append(difference.share)
        off = difference.lowered / max(difference.kernels, 1) - 1
        print(
            f"{difference.share:7.2%} of {difference.ops:5d} ops; kernels {difference.kernels:5d} "
            f"recorded, {difference.lowered:5d} lowered ({off:+.1%})  {difference.name}"
        )
        for text, count in difference.differing.most_common(options.rest):
            print(f"        {count:4d} × {text}")
        for text, count in difference.kernel_differences.most_common(options.rest):
            print(f"        {count:4d} ~ {text}")
    print(f"{len(total)} cases, {sum(s >= 0.99 for s in total)} with ≥ 99% of the ops in order")


if __name__ == "__main__":
    main()
