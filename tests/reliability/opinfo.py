"""Predict every op of torch, eager and compiled: crashes, and overloads without a cost.

    python -m tests.reliability.opinfo RESULTS.jsonl --shard 0/8 --seconds 600
    python -m tests.reliability.opinfo RESULTS.jsonl --summary

The ops and their inputs are torch's own (`torch.testing._internal.common_methods_invocations`,
`op_db`), in fp32, bf16 and fp16, inference and training. Writes a line of JSON for each case; cases
with a line are skipped, so a run continues where it ended. The exit status is 1 if a case crashed.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple
from unittest import TestCase

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves, tree_map_only

from simulator import predict, predict_trace
from simulator.errors import InputError
from tests.reliability import promises
from tests.reliability.answers import answered

if find_spec("expecttest") is None:  # torch's own tests derive from it; no test of it is run here
    sys.modules["expecttest"] = ModuleType("expecttest")
    sys.modules["expecttest"].TestCase = TestCase  # pyright: ignore[reportAttributeAccessIssue]

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
PHASES = ("inference", "training")
_NO_GRADIENT = "no output of this op has a gradient"
_SPARSE = "the size of a sparse tensor depends on its data"
_JITERATOR = "compiles CUDA code, which only a CUDA build of torch does"
REFUSED = {
    "jiterator_unary": _JITERATOR,
    "jiterator_binary": _JITERATOR,
    "jiterator_binary_return_by_ref": _JITERATOR,
    "jiterator_2inputs_2outputs": _JITERATOR,
    "jiterator_4inputs_with_extra_args": _JITERATOR,
    "sparse.mm.reduce": _SPARSE,
    "sparse.sampled_addmm": _SPARSE,
    "to_sparse": _SPARSE,
    "tensor_split": "torch takes indices on the CPU alone, and inputs of a step are on the GPU",
    "torch.ops.aten._efficient_attention_forward": "an op within others, whose gradient fails on "
    "tensors without data in torch itself",
}
"""Ops that may be refused, with the reason."""
_ONE_DIMENSION = "an empty input of one dimension fails in torch's rules for tensors without data"
REFUSED_ERRORS = {
    ("nn.functional.batch_norm", "tuple index out of range"): _ONE_DIMENSION,
    ("nn.functional.batch_norm", "rank of the input must be at least 2"): _ONE_DIMENSION,
    ("cov ", "modified by an inplace operation"): "one call checks that no weight is negative and "
    "clears the divisor if it is not positive: a trace assumes both conditions, or neither",
}
"""Refusals of some inputs of an op, by the beginning of its case and a part of the text."""
_SAMPLES = 12  # only the first inputs of an op: later ones repeat the shapes


@cache
def op_db() -> list[Any]:
    """The ops that torch lists. The import takes seconds: a process imports it with its first
    case."""
    return import_module("torch.testing._internal.common_methods_invocations").op_db


class Case(NamedTuple):
    """One op in one dtype and phase; `op` is its index in `op_db`."""

    op: int
    name: str
    dtype: str
    phase: str

    @property
    def key(self) -> str:
        return f"{self.name} {self.dtype} {self.phase}"

    @property
    def part(self) -> float:
        """The position of its op in [0, 1), by the hash of its name: the same in every release."""
        return int.from_bytes(sha256(self.name.encode()).digest()[:4], "big") / 2**32


class Result(NamedTuple):
    """The answers to one case: predictions, refusals and crashes by their first line, overloads
    without a cost.
    """

    key: str
    predicted: int
    refused: tuple[str, ...]
    crashed: tuple[str, ...]
    costed: tuple[str, ...]
    uncosted: tuple[str, ...]


def cases() -> list[Case]:
    """All ops that torch lists, by dtype and phase."""
    cases: list[Case] = []
    for place, op in enumerate(op_db()):
        name = op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")
        for dtype, of_torch in DTYPES.items():
            if of_torch not in op.supported_dtypes("cuda"):
                continue
            cases += [
                Case(place, name, dtype, phase)
                for phase in PHASES
                if phase == "inference" or of_torch in op.supported_backward_dtypes("cuda")
            ]
    return sorted(cases, key=lambda c: (PHASES.index(c.phase), [*DTYPES].index(c.dtype)))


class _Network(nn.Module):
    """One call of an op as a network, with one weight so that it can be trained."""

    def __init__(self, op: Any) -> None:
        super().__init__()
        self.op = op
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        if self.training:
            inputs, kwargs = tree_map_only(Tensor, self._scaled, (inputs, kwargs))
        return self.op(*inputs, **kwargs)

    def _scaled(self, x: Tensor) -> Tensor:
        """`x` times the weight, in its own dtype: the product of two numbers has the wider one."""
        return (x * self.scale).to(x.dtype) if x.requires_grad else x


def sample_inputs(op: Any, dtype: torch.dtype, training: bool) -> Iterator[Any]:
    """The inputs of `op.sample_inputs`. torch's method also searches the stack of calls for one of
    its own tests, which takes 0.1 s for each op under pytest."""
    utils = import_module("torch.testing._internal.common_utils")
    inputs = iter(op.sample_inputs_func(op, "cpu", dtype, requires_grad=training))
    while True:
        utils.set_rng_seed(utils.SEED)
        sample = next(inputs, None)
        if sample is None:
            return
        yield sample


def run(case: Case, samples: int = _SAMPLES) -> Result:
    """The answers to one case."""
    op, training = op_db()[case.op], case.phase == "training"
    predicted = 0
    refused: list[str] = []
    crashed: list[str] = []
    costed: set[str] = set()
    uncosted: set[str] = set()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            of_torch = DTYPES[case.dtype]
            inputs = list(islice(sample_inputs(op, of_torch, training), samples))
        except Exception as error:  # errors of torch's own generator of inputs
            return Result(case.key, 0, (f"no inputs: {error!r}"[:200],), (), (), ())
        for sample in inputs:
            network = _Network(op.op)
            moved = (sample.input, *sample.args)
            try:
                p = predict(
                    network, moved, sample.kwargs, phase=case.phase, loss=_sum if training else None
                )
                compiled = predict_trace(p.trace, mode="compiled")
            except InputError as error:
                if str(error) != _NO_GRADIENT:
                    refused.append(str(error)[:300])
                continue
            except Exception as error:
                crashed.append(_where(error))
                continue
            for each in (p, compiled):
                if not (math.isfinite(each.period_s) and each.period_s > 0):
                    crashed.append(f"period_s is {each.period_s}")
            predicted += 1
            names = {each.name for each in p.trace.ops}
            missing = set(p.unmodelled)
            uncosted |= missing
            costed |= names - missing
    return Result(
        case.key,
        predicted,
        *(tuple(sorted(set(each))) for each in (refused, crashed, costed, uncosted)),
    )


def _sum(output: Any) -> Tensor:
    parts = [t for t in tree_leaves(output) if isinstance(t, Tensor) and t.requires_grad]
    if not parts:
        raise InputError(_NO_GRADIENT)
    return torch.stack(
        [t.abs().sum().float() if t.is_complex() else t.sum().float() for t in parts]
    ).sum()


def _where(error: Exception) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    return (
        f"{type(error).__name__}: {error} at {Path(frames[-1].filename).name}:{frames[-1].lineno}"
    )


def is_explained(key: str, text: str) -> bool:
    """Whether the reason of a refusal is stated."""
    errors = [part for start, part in REFUSED_ERRORS if key.startswith(start)]
    return key.split()[0] in REFUSED or any(part in text for part in errors)


def _left(path: Path, shard: str) -> Iterator[Case]:
    number, of = map(int, shard.split("/"))
    known = answered(path)
    return (c for c in cases() if int(c.part * of) == number and c.key not in known)


def summary(path: Path) -> str:
    """Counts of all lines, then each crash and each overload without a cost."""
    run_lines = answered(path).values()
    crashed = [f"  {r['key']}: {text}" for r in run_lines for text in r["crashed"]]
    uncosted = sorted({name for r in run_lines for name in r["uncosted"]})
    costed = {name for r in run_lines for name in r["costed"]}
    refused = [(r["key"], text) for r in run_lines for text in r["refused"]]
    unexpected = [f"  {key}: {text}" for key, text in refused if not is_explained(key, text)]
    share = len(costed) / max(1, len(costed | set(uncosted)))
    lines = [
        f"{len(run_lines):,} of {len(cases()):,} cases, {sum(r['predicted'] for r in run_lines):,} "
        f"predictions: {len(crashed)} crashes, {len({key for key, _ in refused})} cases with "
        f"refusals, of which {len(unexpected)} have no stated reason",
        f"{len(costed):,} overloads have a cost, {share:.1%}",
        *crashed,
        *unexpected,
        *(f"  no cost: {name}" for name in uncosted),
    ]
    return "\n".join(lines)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--shard", default="0/1", metavar="I/N")
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--samples", type=int, default=_SAMPLES, help="inputs of each case")
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--record", action="store_true", help="write the row of tests/README.md")
    arguments = parser.parse_args()
    until = time.monotonic() + arguments.seconds
    if not arguments.summary:
        with arguments.results.open("a", encoding="utf-8") as file:
            for case in _left(arguments.results, arguments.shard):
                if time.monotonic() > until:
                    break
                file.write(json.dumps(run(case, arguments.samples)._asdict()) + "\n")
                file.flush()
    text = summary(arguments.results)
    print(text)
    if arguments.record:
        command = f"python -m tests.reliability.opinfo RESULTS.jsonl --samples {arguments.samples}"
        promises.write("no op of torch crashes", command, "; ".join(text.splitlines()[:2]))
    return int(any(r["crashed"] for r in answered(arguments.results).values()))


if __name__ == "__main__":
    sys.exit(main())
