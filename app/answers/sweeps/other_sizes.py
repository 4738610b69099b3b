"""The predictions of a scenario at other batches and sequences, for the sliders of a page.

Every point is predicted, not interpolated: the figures are those of the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt, log
from typing import TypeVar

from app import quantities as q
from app.answers.figures import step_sentence, title
from app.answers.subject import Subject
from simulator.errors import InputError, UntracedError
from simulator.modes import compiles
from simulator.networks.catalogue import CATALOGUE
from simulator.prediction import REGIMES, Prediction, Shares
from simulator.scenario.predict_many import predict_many
from simulator.scenario.resolve import resolve
from simulator.scenario.resolved import Rates, ResolvedScenario
from simulator.scenario.scenario import Scenario
from simulator.scenario.text.command import as_command
from simulator.scenario.trace_source import family
from simulator.scenario.traces.families import expecting
from simulator.simulate.step_columns import StepColumns

_LARGEST_BATCH, _SMALLEST_SEQ, _LARGEST_SEQ = 1024, 16, 4096
"""The batch slider starts at 1 and the sequence slider at `_SMALLEST_SEQ` or below; they reach at
least `_LARGEST_BATCH` and `_LARGEST_SEQ`.
"""
_OPS_ONE_BY_ONE = 20_000
"""Maximum number of ops over all points if a step is predicted point by point (compiled modes),
which then takes about 3 s."""
_OPS_TO_FIT = 2000
"""A family is fitted to a user's own network of at most this many ops; a fit takes about 20 traces.
"""

Point = tuple[int, int | None]
Stop = TypeVar("Stop", int, int | None)
Figures = Mapping[str, str | float]


@dataclass(frozen=True)
class OtherSizes:
    """Figures at the product of `batches` and `seqs`, the sequence varying fastest.

    `batch` and `seq` are the indices of the page's own point. `columns` are texts and, under the
    names of regimes, shares of the step. Where there is no prediction, "regime" is empty and
    "sentence" is the reason.
    """

    batches: tuple[int, ...]
    seqs: tuple[int | None, ...]
    batch: int
    seq: int
    columns: Mapping[str, tuple[str | float, ...]]


def other_sizes(
    scenario: Scenario,
    p: Prediction,
    subject: Subject,
    counted: Callable[[int, int], None] = lambda done, total: None,
) -> OtherSizes | None:
    """Predict a scenario at other batches and sequences, up to the memory limit. None if no family
    of traces covers these sizes: for a saved trace, for kernels fused by a what-if, and for a
    user's own network that is slow to trace. `counted` receives the number of points done and of
    all points; it may raise to stop.
    """
    resolved, ops = resolve(scenario), len(p.trace.ops)
    if resolved.request.saved or (resolved.request.network not in CATALOGUE and ops > _OPS_TO_FIT):
        return None
    batches = _stops(1, max(_LARGEST_BATCH, 4 * subject.batch), subject.batch)
    seqs: list[int | None] = [None]
    if subject.seq is not None:
        seqs = [*_stops(_SMALLEST_SEQ, max(_LARGEST_SEQ, 4 * subject.seq), subject.seq)]
    if compiles(resolved.mode) or resolved.speeds or resolved.rates != Rates():
        points = _OPS_ONE_BY_ONE // max(1, ops)
        seqs = _nearest(seqs, subject.seq, isqrt(points))
        batches = _nearest(batches, subject.batch, points // len(seqs))
    try:
        steps, refused = _predicted(scenario, batches, seqs, counted)
    except UntracedError:  # another process traces it and has not finished
        return None
    own = subject.batch, subject.seq
    fits = {point for point, step in steps.items() if step.fits}
    batches = [b for b in batches if b == own[0] or any((b, s) in fits for s in seqs)]
    seqs = [s for s in seqs if s == own[1] or any((b, s) in fits for b in batches)]
    if own not in steps or len(batches) * len(seqs) == 1:
        return None
    rows: list[Figures] = []
    for batch, seq in ((batch, seq) for batch in batches for seq in seqs):
        step, at_point = steps.get((batch, seq)), replace(subject, batch=batch, seq=seq)
        if step is None:
            rows.append(_no_figures(refused.get((batch, seq), "no trace describes this point")))
        else:
            command = _command(at_sizes(scenario, batch, seq))
            rows.append(_figures(step, p, at_point) | {"command": command})
    columns = {name: tuple(row[name] for row in rows) for name in rows[0]}
    places = batches.index(own[0]), seqs.index(own[1])
    return OtherSizes(tuple(batches), tuple(seqs), *places, columns)


def at_sizes(scenario: Scenario, batch: int, seq: int | None) -> Scenario:
    """The scenario at a batch and a sequence, without the what-ifs that set them."""
    others = tuple(a for a in scenario.whatifs if a.name not in ("batch", "seq"))
    return replace(scenario, batch=batch, seq=seq or scenario.seq, whatifs=others)


def _stops(low: int, high: int, own: int) -> list[int]:
    """The stops from `low` to `high`: powers of two times `low`, values between them, and
    `own`."""
    powers = [low << i for i in range((high // low).bit_length())]
    between = [3 * power // 2 for power in powers if power > 1]
    return sorted({own, *(stop for stop in (*powers, *between) if stop <= high)})


def _nearest(stops: Sequence[Stop], own: Stop, count: int) -> list[Stop]:
    """The `count` stops nearest to `own` by their ratio, at least one."""
    near = sorted(stops, key=lambda stop: abs(log((stop or 1) / (own or 1))))[: max(1, count)]
    return [stop for stop in stops if stop in near]


def _predicted(
    scenario: Scenario,
    batches: Sequence[int],
    seqs: Sequence[int | None],
    counted: Callable[[int, int], None],
) -> tuple[dict[Point, StepColumns[float]], dict[Point, str]]:
    """The steps of the families by point, and the reasons for points without a prediction."""
    resolved: dict[Point, ResolvedScenario] = {}
    refused: dict[Point, str] = {}
    with expecting(len(batches), len(seqs)):
        for point in ((batch, seq) for batch in batches for seq in seqs):
            counted(0, len(batches) * len(seqs))
            try:
                at_point = resolve(at_sizes(scenario, *point))
                if family(at_point) is not None:
                    resolved[point] = at_point
            except InputError as error:
                refused[point] = str(error)
    total = len(resolved)
    table, reasons, _ = predict_many([*resolved.values()], lambda done: counted(done, total))
    points = [*resolved]
    refused |= {points[row]: reason for row, reason in reasons.items()}
    steps = {
        point: StepColumns[float](*row)
        for point, row in zip(points, table.tolist(), strict=True)
        if point not in refused
    }
    return steps, refused


def _figures(step: StepColumns[float], p: Prediction, subject: Subject) -> dict[str, str | float]:
    shares: Shares = {"compute": step.compute, "memory": step.memory, "overhead": step.overhead}
    regime, interval_s = REGIMES[int(step.regime)], (step.low_s, step.high_s)
    samples = subject.batch * subject.forwards
    sentence = step_sentence(step.period_s, interval_s, regime, shares)
    return {
        "regime": regime,
        "step": q.seconds(step.period_s),
        "interval": " to ".join(map(q.seconds, interval_s)),
        **{name: round(share, 4) for name, share in shares.items()},
        **{f"{name}-share": q.percent(share) for name, share in shares.items()},
        "latency": q.seconds(step.latency_s),
        "throughput": q.count_of(samples / step.period_s, "samples/s"),
        "busy": q.seconds(step.gpu_busy_s),
        "peak": q.data(step.memory_bytes),
        "capacity": f"of {q.data(p.gpu.memory_bytes)}",
        "misfit": "" if step.fits else "it does not fit",
        # empty if ops are not modelled: the command line's sentence counts them, the columns do not
        "sentence": "" if p.unmodelled else f"{title(p, subject)}: {sentence}",
    }


def _no_figures(reason: str) -> dict[str, str | float]:
    texts = ("regime step interval latency throughput busy peak capacity misfit command").split()
    shares = dict.fromkeys(REGIMES, 0.0) | {f"{name}-share": "" for name in REGIMES}
    return {**dict.fromkeys(texts, ""), **shares, "sentence": reason}


def _command(scenario: Scenario) -> str:
    """The command line of a scenario, or an empty string for a GPU with edited figures,
    which no option expresses."""
    try:
        return as_command(scenario)
    except InputError:
        return ""
