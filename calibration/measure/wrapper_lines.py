"""Time each statement of the wrappers that Inductor generates: `python -m
calibration.measure.wrapper_lines FILE --seconds 200`, on a machine with a GPU. `--suite` and
`--only` choose other cases than `CASES`.

JSON lines: the machine with its host index, then a line per case. A clock is read after each
statement of a wrapper, as the host runs it with the GPU idle before the step.

    steps    seconds of a step that are outside the statements: `before` the first (guards, inputs),
             `between` two wrappers, and `after` the last
    lines    (statement, seconds) in the order in which they ran; the median of the rounds
    clock_s  seconds of a reading of the clock, which each statement includes once
    dynamo   Dynamo's counts of graphs, and of the reasons of breaks
    probes   the host's fixed work before and after (`calibration.measure.instruments.host_probes`)
"""

from __future__ import annotations

import argparse
import ast
import gc
import json
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import torch
import torch._dynamo
import torch._inductor.config
from torch._dynamo.utils import counters
from torch._inductor.codecache import PyCodeCache

from calibration.cases.case import Case, Step, infer
from calibration.cases.suites import SUITES
from calibration.measure.instruments.device import find, versions
from calibration.measure.instruments.host_index import suite
from calibration.measure.instruments.host_probes import Probes

ROUNDS = 25
_TEXT = 160
"""Characters of a statement that are stored."""
_LOG = "_ridgepoint_log"
CASES: tuple[Case, ...] = (
    *[
        case
        for case in SUITES["packages_third_compiled"]
        if re.search(r"modernbert|smollm3|eva02|tiny_vit.*infer|pegasus.*infer", case.name)
    ],
    *[
        replace(case, mode="compiled")
        for network in ("bert-base", "resnet50", "t5-base")
        for case in infer(network, "fp16", 1, 32)
    ],
    *[c for c in SUITES["packages_third_compiled"] if "dinov3" in c.name],
)

readings: list[tuple[str, int]] = []


def log(text: str) -> None:
    """Read the clock after a statement."""
    readings.append((text, time.perf_counter_ns()))


class Clocks(ast.NodeTransformer):
    """Adds a reading of the clock at the start of each function of the wrapper and after each of
    its statements."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        if node.name == "call" or node.name.startswith("partition_"):
            node.body = [_reading(f"def {node.name}"), *self._timed(node.body)]
        return node

    def _timed(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.With):
                statement.body = self._timed(statement.body)
            if isinstance(statement, ast.Return):
                statements += [_reading("before return"), statement]
            else:
                statements += [statement, _reading(ast.unparse(statement).splitlines()[0])]
        return statements


def _reading(text: str) -> ast.stmt:
    return ast.parse(f"{_LOG}({text[:_TEXT]!r})").body[0]


def instrumented(source: str) -> str:
    """The source of a wrapper with clocks."""
    if "def call(" not in source:
        return source
    tree = Clocks().visit(ast.parse(source))
    imported = ast.parse(f"from calibration.measure.wrapper_lines import log as {_LOG}").body
    at = 1 if isinstance(tree.body[0], ast.Expr) else 0
    tree.body[at:at] = imported
    return ast.unparse(ast.fix_missing_locations(tree))


def instrument() -> None:
    """Let Inductor write and load wrappers with clocks from now on."""
    torch._inductor.config.force_disable_caches = True
    write = PyCodeCache.write.__func__  # pyright: ignore[reportFunctionMemberAccess]

    def written(cls: Any, source_code: str, *rest: Any, **options: Any) -> Any:
        return write(cls, instrumented(source_code), *rest, **options)

    PyCodeCache.write = classmethod(written)  # pyright: ignore[reportAttributeAccessIssue]


def measure(case: Case) -> dict[str, Any]:
    """Compile a case and time the statements of its wrappers."""
    from calibration.measure import wrapper_lines  # the module that the wrappers import

    log_of = wrapper_lines.readings
    step = Step(case, "cuda")
    for _ in range(4):
        step()
    torch.cuda.synchronize()
    probes = Probes("cuda")
    before = probes.seconds()
    rounds: list[list[tuple[str, int]]] = []
    alone: list[float] = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        log_of.clear()
        began = time.perf_counter_ns()
        step()
        ended = time.perf_counter_ns()
        rounds.append([("start", began), *log_of, ("end", ended)])
        alone.append((ended - began) / 1e9)
    names = [text for text, _ in rounds[0]]
    rows = [[t for _, t in row] for row in rounds if [text for text, _ in row] == names]
    seconds = [median((row[i] - row[i - 1]) / 1e9 for row in rows) for i in range(1, len(names))]
    began = time.perf_counter_ns()
    for _ in range(1000):
        wrapper_lines.log("")
    clock_s = (time.perf_counter_ns() - began) / 1e12
    log_of.clear()
    return {
        "case": case.record(),
        "issue_s": median(alone),
        "rounds": len(rows),
        "lines": [[text, round(s, 8)] for text, s in zip(names[1:], seconds, strict=True)],
        "clock_s": clock_s,
        "dynamo": {kind: dict(counters[kind]) for kind in ("stats", "graph_break")},
        "probes": [before, probes.seconds()],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=200.0)
    parser.add_argument("--suite", choices=SUITES, help="default: CASES")
    parser.add_argument("--only", default="", help="regular expression on names")
    options = parser.parse_args()
    until = time.perf_counter() + options.seconds
    instrument()
    with options.out.open("w") as out:
        machine = {"gpu": find().name, **versions()}
        out.write(json.dumps({"machine": machine, "host_index": suite(gpu=True)}) + "\n")
        cases = SUITES[options.suite] if options.suite else CASES
        for case in (c for c in cases if re.search(options.only, c.name)):
            if time.perf_counter() > until:
                print("out of time before", case.name, flush=True)
                break
            began = time.perf_counter()
            try:
                row = measure(case)
            except Exception as error:  # a network may raise any error
                row = {"case": case.record(), "failed": repr(error)[:500]}
            out.write(json.dumps(row, separators=(",", ":")) + "\n")
            out.flush()
            took_s = time.perf_counter() - began
            print(
                f"{took_s:5.1f} s  {case.name}: {row.get('issue_s', row.get('failed'))}", flush=True
            )
            torch._dynamo.reset()
            counters.clear()
            gc.collect()
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
