"""A measured step compared with its prediction, op by op.

Both are sequences of ops that launch kernels. The trace names an op as the dispatcher does
(`aten.convolution.default`); the profiler also names the ops that it calls (`aten::convolution` >
`aten::cudnn_convolution`). Only ops that both name are compared. The sequences are matched in
order, by their longest common runs.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

import numpy as np

from simulator.measured.profiler_trace import Call, ProfiledKernel, ProfiledStep
from simulator.prediction import Prediction


@dataclass(frozen=True)
class Measured:
    """One measured call of an op."""

    name: str
    seconds: float
    kernels: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True)
class Pair:
    """An op of the trace, by index, and its measured call."""

    op: int
    predicted_s: float
    measured: Measured


@dataclass(frozen=True)
class Overlay:
    """Matched ops, and the ops that only the trace or only the measurement has."""

    prediction: Prediction
    step: ProfiledStep
    pairs: tuple[Pair, ...]
    only_predicted: tuple[int, ...]
    only_measured: tuple[Measured, ...]

    @property
    def matched_share(self) -> float:
        """The share of measured kernel time whose op is in the trace."""
        matched = sum(pair.measured.seconds for pair in self.pairs)
        total = matched + sum(each.seconds for each in self.only_measured)
        return matched / total if total else 0.0

    def other_shapes(self) -> tuple[Pair, ...] | None:
        """The pairs whose measured call has a shape that the op does not have; None if the
        profiler recorded no shapes."""
        recorded = [pair for pair in self.pairs if pair.measured.shapes]
        if not recorded:
            return None
        ops = self.prediction.trace.ops
        return tuple(
            pair
            for pair in recorded
            if not {*pair.measured.shapes} <= {tuple(t.shape) for t in ops[pair.op].inputs}
        )


def overlay(p: Prediction, step: ProfiledStep) -> Overlay:
    """Match the ops of a measured step with those of its prediction."""
    c = p.columns
    took = np.bincount(c.op_of, c.duration_s, len(p.trace.ops)) if c.op_of.size else np.zeros(0)
    ops: list[int] = np.unique(c.op_of).tolist()
    names = [_base(p.trace.ops[op].name) for op in ops]
    calls = _calls(step, set(names))
    matcher = SequenceMatcher(None, names, [call.name for call in calls], autojunk=False)
    pairs: list[Pair] = []
    for mine, theirs, count in matcher.get_matching_blocks():
        for k in range(count):
            op = ops[mine + k]
            pairs.append(Pair(op, float(took[op]), calls[theirs + k]))
    paired_ops, paired_calls = {pair.op for pair in pairs}, {id(pair.measured) for pair in pairs}
    return Overlay(
        p,
        step,
        tuple(pairs),
        tuple(op for op in ops if op not in paired_ops),
        tuple(call for call in calls if id(call) not in paired_calls),
    )


def _base(name: str) -> str:
    """The name of an op without its overload and without a final underscore, such as add for
    aten.add_.Tensor: autograd adds gradients in place if it can, which a trace does not show."""
    return (name.split(".")[1] if name.count(".") >= 2 else name).rstrip("_")


def _calls(step: ProfiledStep, known: set[str]) -> list[Measured]:
    """The calls of a step: for each kernel the innermost call with a name in the trace, else the
    innermost."""
    calls: list[Measured] = []
    for call, same in groupby(step.kernels, key=lambda kernel: _call(kernel, known)):
        kernels = list(same)
        seconds = sum(k.duration_s for k in kernels)
        names = tuple(k.name for k in kernels)
        calls.append(Measured(_base(call.name), seconds, names, call.shapes))
    return calls


def _call(kernel: ProfiledKernel, known: set[str]) -> Call:
    alone = Call(kernel.name, -1)
    inner = kernel.calls[0] if kernel.calls else alone
    return next((call for call in kernel.calls if _base(call.name) in known), inner)
