"""Compare predictions with measurements of steps and calls that no fit uses.

`ridgepoint validate` prints a summary, who measured it and the worst cases; `--write` puts the
summary into `docs/accuracy.md` and its most important rows into the README.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from calibration.cases.case import COMPILED_OPTIMIZER, TORCH_MODES
from calibration.measure.instruments.host_index import REFERENCE
from calibration.outcome import Outcome, Summary, summarised, summary, table
from calibration.record.library_samples import Swept, swept
from calibration.record.profiler_hooks import hooked
from calibration.record.read import Recording, host_index, recordings, timed
from calibration.record.samples import Pair
from calibration.validate import batch_sweeps, crossing, single_ops
from calibration.validate.table.measuring_hosts import (
    about_hosts,
    groups,
    hosts_in_one_line,
    table_of_hosts,
)
from calibration.validate.table.printed import (
    every_case,
    interval_in_words,
    put,
    sweeps_in_words,
    worst_cases,
)
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.errors import InputError
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.hardware.host_speed import ON_CPU_MARK, parts
from simulator.records import Trace
from simulator.schedule.memory import memory
from simulator.timing.profile import profile
from simulator.whatif.edits.compiled_update import CompiledUpdate

README = Path(__file__).parents[2] / "README.md"
PAGE = README.with_name("docs") / "accuracy.md"
SHORT = {
    ("inference, eager", "GPU busy"), ("inference, eager", "period"),
    ("overhead-bound, eager", "period"), ("inference, CUDA graph", "period"),
    ("training, eager", "period"), ("inference, compiled", "period"),
    ("training, compiled", "period"), ("inference, eager", "peak memory"),
    ("H100 with the H200’s profile, inference", "GPU busy"), ("single ops, warm", "GPU time"),
}  # fmt: skip
"""The group and figure of the README's rows."""
HOST_BOUND = 1.25
"""Period over GPU-busy time at or above which a step counts as host-bound."""


def host_of(suite: str) -> Host:
    """The calibrated host at the speed of the host that recorded a suite, with the profiler's hooks
    in its process."""
    host = find_host()
    return hooked(host.slower(parts(host_index(suite), host.reference)))


def outcomes(recording: Recording, traced: Trace, host: Host) -> list[Outcome]:
    """Every figure of a recorded case."""
    eager = predict_trace(traced, host=host)
    group = f"{recording.case['phase']}, eager"
    low, high = eager.interval_s
    period = eager.period_s / recording.period_s
    covered = low <= recording.period_s <= high

    def outcome(figure: str, ratio: float) -> Outcome:
        return Outcome(recording.name, group, figure, ratio)

    rows = [
        Outcome(recording.name, group, "period", period, covered, measured_s=recording.period_s),
        outcome("latency", eager.latency_s / recording.latency_s),
        outcome("GPU busy", eager.gpu_busy_s / recording.gpu_busy_s),
        outcome("kernels", eager.kernel_count / recording.kernel_count),
        outcome("peak memory", _peak_ratio(recording, traced)),
    ]
    if recording.period_s > HOST_BOUND * recording.gpu_busy_s:
        spread = recording.period_iqr
        rows.append(
            Outcome(recording.name, "overhead-bound, eager", "period", period, covered, spread)
        )
    if recording.graph and "period" in recording.graph:
        graph = predict_trace(traced, mode="cuda_graph")
        measured = recording.graph["period"]["median_s"]
        low, high = graph.interval_s
        ratio, inside = graph.period_s / measured, low <= measured <= high
        name = "inference, CUDA graph"
        rows.append(Outcome(recording.name, name, "period", ratio, inside, measured_s=measured))
    return rows


def _peak_ratio(recording: Recording, traced: Trace) -> float:
    """The predicted over the measured peak. The measured peak is the memory that the step holds at
    its beginning plus the measured growth, because the process also held the memory and workspaces
    of other cases."""
    standing = sum(
        -(-s.nbytes // 512) * 512
        for s in traced.storages
        if s.device == "cuda" and s.role in ("weight", "buffer", "input", "optimizer")
    )
    grown = recording.peak_bytes - recording.before_bytes
    return memory(traced).peak_bytes / (standing + grown)


def compiled(suite: str = "compiled_validation") -> list[Outcome]:
    """Every figure of every step that was timed in a mode of `torch.compile`, and its speed-up over
    eager mode."""
    rows: list[Outcome] = []
    for step in timed(suite):
        traced = retrace(step.case)
        mode = TORCH_MODES[step.case["mode"]] or "compiled"
        whole = (step.case["optimizer"] or "").endswith(COMPILED_OPTIMIZER)
        updated = CompiledUpdate()(traced) if whole else traced
        host = find_host().slower(parts(step.host_index, find_host().reference))
        p = predict_trace(updated, mode=mode, host=hooked(host) if step.profiled else host)
        low, high = p.interval_s
        group = f"{step.case['phase']}, {mode}"
        period = p.period_s / step.period_s
        rows += [
            Outcome(
                step.name,
                group,
                "period",
                period,
                low <= step.period_s <= high,
                measured_s=step.period_s,
            ),
            Outcome(step.name, group, "latency", p.latency_s / step.latency_s),
            Outcome(step.name, group, "GPU busy", p.gpu_busy_s / step.gpu_busy_s),
            Outcome(step.name, group, "kernels", p.kernel_count / step.kernel_count),
        ]
        if step.eager_s is not None:
            twin = predict_trace(traced, host=hooked(host) if step.twin_profiled else host)
            gain = twin.period_s / p.period_s
            ratio = gain / (step.eager_s / step.period_s)
            rows.append(Outcome(step.name, group, "speed-up", ratio))
    return rows


def alternating(suite: str = "compiled_rounds") -> list[Outcome]:
    """The period and the speed-up of steps that alternated between mode "compiled" and eager on a
    busy host: the median over rounds. Each round is compared with the prediction for the host's
    speed in that round, with the profiler's hooks if they were active."""
    host = find_host()
    reference_s = host.reference[REFERENCE.name + ON_CPU_MARK]
    rows: list[Outcome] = []
    for step in timed(suite):
        traced = retrace(step.case)
        ratios: list[tuple[float, float]] = []
        for work_s, compiled_s, eager_s in step.rounds:
            round_host = host.slower(work_s / reference_s)
            round_host = hooked(round_host) if step.twin_profiled else round_host
            p = predict_trace(traced, mode="compiled", host=round_host).period_s
            gain = predict_trace(traced, host=round_host).period_s / p
            ratios.append((p / compiled_s, gain / (eager_s / compiled_s)))
        period, gain = np.median(ratios, axis=0).tolist()
        group = f"{step.case['phase']}, compiled, alternating"
        rows += [
            Outcome(step.name, group, "period", period),
            Outcome(step.name, group, "speed-up", gain),
        ]
    return rows


def validate(pairs: Sequence[Pair], suite: str = "validation") -> list[Outcome]:
    """Every figure of every case of a suite."""
    host = host_of(suite)
    return [o for recording, traced in pairs for o in outcomes(recording, traced, host)]


def crossed(pairs: Sequence[Pair], ops: Sequence[Swept]) -> list[Outcome]:
    """The H100 with the H200's profile and with its own, and the H200 with the profile fitted only
    to the H100: `pairs` are the H200's steps, `ops` its held-out calls."""
    h100, h200 = find_gpu("h100"), find_gpu("h200")
    known = {recording.name: trace for recording, trace in pairs}
    steps = [(r, known[r.name]) for r in recordings("validation", h100.id)]
    called = list(swept(h100, held_out=True))
    rows: list[Outcome] = []
    for learned in (profile("h200"), profile("h100")):
        rows += crossing.networks(steps, h100, learned)
        rows += crossing.calls(called, h100, learned)
    other = crossing.alone(h100)
    return [
        *rows,
        *crossing.networks(pairs, h200, other),
        *crossing.calls(ops, h200, other),
    ]


def summaries(steps: Iterable[Outcome], calls: Sequence[Outcome]) -> list[Summary]:
    """The rows of the table: one per group of single calls, and whole steps by group and figure."""
    rows = summary(steps)
    for group in dict.fromkeys(o.group for o in calls):
        rows.append(summarised(group, "GPU time", [o for o in calls if o.group == group]))
    return sorted(rows, key=lambda s: not s.group.startswith("single"))


def calls(sweeps: Iterable[Swept]) -> list[Outcome]:
    """Outcomes of the held-out calls."""
    return single_ops.outcomes(sweeps, find_gpu("h200"), profile())


def options() -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="ridgepoint calibrate validate",
        description="Compare predictions with measurements of steps and calls that no fit uses; "
        "needs no GPU and takes about two minutes.",
    )
    parser.add_argument("--all", action="store_true", help="print every case, not only the worst")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every outcome as JSON")
    parser.add_argument(
        "--write",
        action="store_true",
        help="for developers, in a clone: write the tables into docs/accuracy.md and README.md",
    )
    return parser.parse_args()


def check_pages() -> None:
    """Raise InputError if the pages that `--write` changes are missing."""
    for page in (README, PAGE):
        if not page.is_file():
            raise InputError(
                f"--write: no file {page}: expected a clone of Ridgepoint, whose pages it changes; "
                "run it there, or leave out --write"
            )


def main() -> None:
    """Print the table, who measured it, and the worst cases or all of them."""
    chosen = options()
    if chosen.write:
        check_pages()
    print(
        "Predicting the measured steps and calls: about two minutes.", file=sys.stderr, flush=True
    )
    pairs = [(recording, retrace(recording.case)) for recording in recordings("validation")]
    steps = validate(pairs)
    reach = interval_in_words(steps)
    called = list(swept(find_gpu("h200"), held_out=True))
    steps += [*compiled(), *alternating(), *crossed(pairs, called)]
    ops = calls(called)
    sweeps = batch_sweeps.sweeps(host_of("batches"))
    hosts = groups()
    rows = summaries(steps, ops)
    page = "\n\n".join(
        (table(rows), table_of_hosts(hosts), about_hosts(hosts), sweeps_in_words(sweeps))
    )
    if chosen.json:
        every = [asdict(o) for o in (*steps, *ops)]
        chosen.json.write_text(json.dumps(every, indent=1, allow_nan=False) + "\n")
    if chosen.write:
        short = table([row for row in rows if (row.group, row.figure) in SHORT])
        short += "\n\n" + hosts_in_one_line(hosts)
        README.write_text(put(README.read_text(), short))
        PAGE.write_text(put(PAGE.read_text(), page))
    cases = every_case(steps, ops, sweeps) if chosen.all else worst_cases(steps)
    print("\n\n".join((cases, page, reach)))


if __name__ == "__main__":
    main()
