"""The measured compiled steps for `calibration.fit.compiled_host`, which fits the host costs of
compiled code.

All steps are host-bound, and each comes with the speed of its host. No other compiled step is used
in a fit.

small        `compiled_host`: one kind of host work at a time, launched one by one, with PyTorch's
             profiler and without it
chains       `library_calls`: one library call after another, without the profiler
networks     `compiled`: networks of the catalogue, on the least loaded host measured so far
wrapped      networks whose wrappers were timed statement by statement (`wrapper_lines`), without
             the profiler
unprofiled   networks timed in processes without PyTorch's profiler: a GPT-2 in training, and
             BERT as transformers writes it, on the hosts of two GPUs (`MACHINES`), with the host's
             speed measured in each round
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from math import sqrt
from statistics import median
from typing import Any, NamedTuple

from calibration.cases.calls.chains import chain
from calibration.measure.instruments.host_index import REFERENCE as WORK
from calibration.record.host_rounds import MACHINES, Round, as_fast, beside, steps
from calibration.record.profiler_hooks import hooked
from calibration.record.read import MEASUREMENTS, Timed, timed
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.hardware.host_speed import ON_CPU_MARK, parts
from simulator.records import Trace
from simulator.tracing import trace

RULES = 1.25
"""A step is host-bound if its time over the GPU's busy time exceeds this."""
SMALL = ("compiled_host", "compiled_host_second")
_WORKLESS = re.compile(r"del |buf\d+ = buf\d+$|stream0 = ")
"""Statements of a wrapper that only bind or unbind a name; each takes `_WORKLESS_S` seconds."""
_WORKLESS_S = 40e-9
_BLOCKS = "blocks"  # parts of the names of small steps that are networks


class Compiled(NamedTuple):
    """A step that ran back to back in mode "compiled", and its host at the speed that it had then,
    with the profiler's hooks if they were active. `warm` is true for loops over one op or one piece
    of host work."""

    name: str
    trace: Trace
    seconds: float
    host: Host
    warm: bool = False

    @property
    def family(self) -> str:
        """The group of cases that is held out together."""
        return self.name.partition("/")[0].partition(",")[0]


def compiled_steps() -> Iterator[Compiled]:
    """All steps of the fit."""
    for suite in SMALL:
        yield from small(suite)
    yield from chains()
    for step in _ruled("compiled"):
        yield _compiled(step, _beside(step.host_index))
    yield from wrapped()
    yield from unprofiled()


def small(suite: str = "compiled_host") -> Iterator[Compiled]:
    """The small steps. The speed of their host is the geometric mean of two measurements: the loops
    of the host's index, which run one op with warmer caches than networks, and the same steps in
    eager mode, whose caches are nearly as warm as those of the compiled steps."""
    ruled = [step for step in _ruled(suite) if step.case["mode"] == "compiled"]
    host = _beside(ruled[0].host_index)
    twins = [
        step.eager_s / predict_trace(retrace(step.case), host=hooked(host)).period_s
        for step in ruled
        if step.eager_s and _BLOCKS in step.case["network"]
    ]
    for step in ruled:
        warm = _BLOCKS not in step.case["network"]
        yield _compiled(step, host.slower(sqrt(median(twins))))._replace(warm=warm)


def chains() -> Iterator[Compiled]:
    """Chains of one library call each, without a profiler."""
    reference_s = find_host().reference[WORK.name + ON_CPU_MARK]
    with gzip.open(MEASUREMENTS / "h200_sxm" / "library_calls.jsonl.gz", "rt") as rows:
        for row in map(json.loads, rows):
            for length, seconds in row.get("compiled_s", {}).items():
                module, x = chain(row["call"], int(length))
                host = find_host().slower(row["host_s"] / reference_s)
                traced = trace(module, (x,), run="compiled")
                yield Compiled(f"chain {row['call']}/{length}", traced, seconds, host, warm=True)


def wrapped() -> Iterator[Compiled]:
    """The networks whose wrappers were timed statement by statement. Statements without work give
    the time of a reading of the clock in that step, which is subtracted from each."""
    for machine in MACHINES:
        with gzip.open(MEASUREMENTS / machine / "wrapper_lines.jsonl.gz", "rt") as rows:
            for row in map(json.loads, rows):
                if "lines" not in row:
                    continue
                empty = [seconds for text, seconds in row["lines"] if _WORKLESS.match(text)]
                clock_s = median(empty) - _WORKLESS_S
                seconds = sum(each - clock_s for _, each in row["lines"])
                name = f"{row['case']['name']} by statements"
                yield Compiled(name, retrace(row["case"]), seconds, beside(row["probes"]))


def unprofiled() -> Iterator[Compiled]:
    """The networks timed without a profiler."""
    index: dict[str, float] = {}
    with gzip.open(MEASUREMENTS / "h200_sxm" / "further_modes.jsonl.gz", "rt") as rows:
        for row in map(json.loads, rows):
            index = row.get("host_index", index)
            case: dict[str, Any] = row.get("case", {})
            if case.get("mode") == "compiled" and case["phase"] == "training" and "period_s" in row:
                yield Compiled(case["name"], retrace(case), row["period_s"], _beside(index))
    for machine in MACHINES:
        yield from in_rounds(machine)


def in_rounds(machine: str) -> Iterator[Compiled]:
    """The steps of `host_truth` on a machine, with the middle round of each."""
    for step in steps(machine, "compiled"):
        ordered = sorted(step.rounds, key=_work)
        middle = ordered[len(ordered) // 2]
        name = f"{step.name} on {machine}"
        yield Compiled(name, retrace(step.case), middle.seconds, as_fast(middle.host))


def _work(each: Round) -> float:
    return each.seconds / each.host.dispatcher


def _ruled(suite: str) -> Iterator[Timed]:
    return (step for step in timed(suite) if step.period_s > RULES * step.gpu_busy_s)


def _beside(index: dict[str, float]) -> Host:
    return find_host().slower(parts(index, find_host().reference))


def _compiled(step: Timed, host: Host) -> Compiled:
    as_was = hooked(host) if step.profiled else host
    return Compiled(step.name, retrace(step.case), step.period_s, as_was)
