"""The rows from which `calibration.fit.host` fits a host: counts of work, and measured seconds.

steps    host-bound steps of two machines (`calibration.record.host_rounds`)
phases   the forward pass, the backward pass and the update of training steps, timed apart
         (`calibration.measure.host_phases`). Whole steps alone cannot separate the optimizer's
         work from autograd's: both grow with the number of weights.
threads  the same phases of steps whose threads were timed too, each on its own processor
         (`calibration.measure.host_threads`). The backward pass runs in a separate
         thread, whose core may be shared with other processes.
layers   calls of recurrent layers (`calibration.measure.recurrent_calls`), and three networks that
         have such layers
on CPU   the fixed steps of the host index on small CPU tensors. In other rows, only the step counts
         of AdamW are on the CPU.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from calibration.cases.case import Case
from calibration.cases.networks.host import MICRO
from calibration.measure.host_phases import PHASES as TIMED
from calibration.measure.instruments.host_index import ON_CPU
from calibration.measure.recurrent_calls import Called, operand
from calibration.record.host_rounds import (
    MACHINES,
    REFERENCE,
    Round,
    Step,
    few_launches,
    probed,
    sharing,
    steps,
)
from calibration.record.read import MEASUREMENTS, recordings
from calibration.validate.trace_fidelity import retrace
from simulator.errors import InputError
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import COUNTS
from simulator.hardware.host_speed import ON_CPU_MARK, PYTHON, Parts
from simulator.hardware.waits import syncs
from simulator.records import Trace
from simulator.schedule.launch_plan import issued
from simulator.tracing import trace

Floats = NDArray[np.float64]
WHOLE = "step"
PHASES = {
    "forward": ("forward_s",),
    "backward": ("backward_s",),
    "optimizer": ("update_s", "clear_s"),
}
"""The measured times of each phase of a trace; `clear` is `zero_grad`."""
THREADS = ("host_threads", "host_threads_fourth", "host_threads_fifth")
"""Files of processes on an H100's machine that timed the threads of their steps."""
_TIMED_ON = "h100_sxm"
_NETWORKS_ON = "h200_sxm"
_RECURRENT = {
    "own": ("own-tagger/fp32/inference/b32s50", "own-seq2seq/fp32/inference/b32s40"),
    "own_fourth": ("own-listener/fp16/inference/b16s32000",),
}
"""Host-bound steps of networks with recurrent layers, by suite."""
_AT_REFERENCE = Parts(1.0, 1.0, 1.0)
_LAUNCHING = ("op", "library_op", "convolution_op", "norm_op", "attention_op")
_UNCOUNTED_LOOPS = (
    "ops-bytecode",
    "ops-attributes",
    "ops-comprehension",
    "ops-with",
    "ops-tosame",
    "ops-contiguous",
    "ops-dropout",
)
"""Loops without calls: profiling counts only one of their iterations."""


class Row(NamedTuple):
    """The counts of a step, or of a part of it [COUNTS], and its rounds: the time of each count
    relative to the reference [rounds, COUNTS], and seconds [rounds]."""

    step: Step
    counts: Floats
    times: Floats
    seconds: Floats
    part: str = WHOLE

    @property
    def micro(self) -> bool:
        """Whether the row is a loop over one op or one piece of Python on the GPU, in which all
        caches are warm."""
        network: str = self.step.case["network"]
        loop = network.startswith(("ops-", "chain")) or network in MICRO
        return loop and not self.step.case["name"].endswith(ON_CPU_MARK)

    def ratio(self, seconds: Floats) -> float:
        """The ratio of predicted to measured time, at the speed that the host had in each round."""
        return float(np.median((self.times * self.counts) @ seconds / self.seconds))


def rows(reference: Mapping[str, float]) -> list[Row]:
    """All rows. `reference` gives the times of the fixed steps on the reference machine."""
    return [
        *_steps(reference), *_phases(), *_threads(), *_recurrent_calls(), *_recurrent_networks(),
        *_on_cpu(reference),
    ]  # fmt: skip


def _row(step: Step, counts: Floats, part: str = WHOLE) -> Row:
    times = np.array([[each.host.of(name) for name in COUNTS] for each in step.rounds])
    return Row(step, counts, times, np.array([each.seconds for each in step.rounds]), part)


def _steps(reference: Mapping[str, float]) -> Iterator[Row]:
    """Every step that can be traced here and does not wait for the GPU."""
    traced: dict[str, Floats | None] = {}
    for step in chain(*map(steps, MACHINES), few_launches(reference)):
        if step.case["network"].startswith(_UNCOUNTED_LOOPS):
            continue
        if step.name not in traced:
            traced[step.name] = _counted(step)
        counts = traced[step.name]
        if counts is not None:
            yield _row(step, counts)


def _counted(step: Step) -> Floats | None:
    try:
        trace = retrace(step.case)
    except (InputError, ImportError, RuntimeError) as error:
        print(f"left out: {step.name}: {str(error)[:80]}")
        return None
    return (
        None
        if any(syncs(op.signature) for op in trace.ops)
        else np.sum(counts_by_phase(trace), axis=0)
    )


def _phases() -> Iterator[Row]:
    """Three rows for each training step whose phases were timed."""
    with gzip.open(MEASUREMENTS / REFERENCE / "host_phases.jsonl.gz", "rt") as lines:
        for timed in map(json.loads, lines):
            if "forward_s" not in timed:
                continue
            case, host = timed["case"], probed(timed["probes"])
            counted = counts_by_phase(retrace(case))
            for (phase, names), counts in zip(PHASES.items(), counted, strict=True):
                seconds = sum(timed[name] for name in names)
                yield _row(Step(REFERENCE, case, (Round(seconds, host),)), counts, phase)


def _threads() -> Iterator[Row]:
    """Three rows for each training step and placement of its threads."""
    for file in THREADS:
        with gzip.open(MEASUREMENTS / _TIMED_ON / f"{file}.jsonl.gz", "rt") as lines:
            for timed in map(json.loads, lines):
                if "phases_s" in timed and not _starved(timed):
                    yield from _on_threads(file, timed)


def _on_threads(file: str, timed: Mapping[str, Any]) -> Iterator[Row]:
    """A row for each phase of a step, at the speed of the thread that ran it. The process counts as
    a machine."""
    medians = np.median(timed["phases_s"], axis=0)
    seconds: dict[str, float] = dict(zip(TIMED, medians, strict=True))
    counted = counts_by_phase(retrace(timed["case"]))
    for (phase, names), counts in zip(PHASES.items(), counted, strict=True):
        thread = timed["backward" if phase == "backward" else "main"]
        host = sharing(float(np.median([each_s for _, each_s in thread])))
        rounds = (Round(float(sum(seconds[name] for name in names)), host),)
        yield _row(Step(file, timed["case"], rounds), counts, phase)


def _starved(timed: Mapping[str, Any]) -> bool:
    """Whether the run was pinned to one processor although the network's CPU ops use several
    threads."""
    return timed["placement"] == "one" and "videomae" in timed["case"]["network"]


def _recurrent_calls() -> Iterator[Row]:
    """A row for each way of calling a recurrent layer in inference."""
    with gzip.open(MEASUREMENTS / _TIMED_ON / "recurrent_calls.jsonl.gz", "rt") as lines:
        for timed in map(json.loads, lines):
            if "calls_s" not in timed or timed["training"]:
                continue
            counts = np.sum(
                counts_by_phase(trace(Called(timed, "meta"), (operand(timed, "meta"),))), axis=0
            )
            seconds, host = float(np.median(timed["calls_s"])), probed(timed["probes"])
            name = "ops-{kind}/{layers}/{bidirectional}/{width}/{called}".format_map(timed)
            case = {"network": f"ops-{timed['kind']}", "name": name, "mode": "eager"}
            yield _row(Step(_TIMED_ON, case, (Round(seconds, host),)), counts)


def _recurrent_networks() -> Iterator[Row]:
    """Networks whose recurrent layers launch a kernel for each element of a sequence. The calls of
    single layers have short sequences."""
    for suite, names in _RECURRENT.items():
        for row in recordings(suite):
            if row.name in names and row.probes is not None:
                counts = np.sum(counts_by_phase(retrace(row.case)), axis=0)
                step = Step(_NETWORKS_ON, row.case, (Round(row.period_s, probed(row.probes)),))
                yield _row(step, counts)


def _on_cpu(reference: Mapping[str, float]) -> Iterator[Row]:
    """The fixed steps on CPU tensors: the ops of the same steps on a GPU, without launches."""
    at = [COUNTS.index(name) for name in _LAUNCHING]
    for network in ON_CPU:
        case = Case(network, "fp32", "inference", 4).record()
        counts = np.sum(counts_by_phase(retrace(case)), axis=0)
        counts[COUNTS.index("cpu_op")] = counts[at].sum()
        counts[[*at, COUNTS.index("cold_op"), COUNTS.index("launch")]] = 0.0
        case["name"] += ON_CPU_MARK
        yield _row(Step(REFERENCE, case, (Round(reference[case["name"]], _AT_REFERENCE),)), counts)


def counts_by_phase(trace: Trace) -> tuple[Floats, ...]:
    """The counts of each of `PHASES` [COUNTS], including launches; Python code after the last op
    counts as part of the optimizer's phase."""
    plan = issued(trace, find_gpu("h200"))
    counts = np.column_stack([plan.counts, plan.launches]).astype(float)
    of = np.array([op.phase for op in trace.ops])
    parts = [counts[of == phase].sum(axis=0) for phase in PHASES]
    for name, field in PYTHON.items():
        parts[-1][COUNTS.index(name)] += getattr(trace, f"tail_{field}")
    return tuple(parts)
