"""Time the real compiler (`--exact`), and its cancellation. Its results are not cached, and the
network is traced beforehand.
"""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from statistics import median

from msgspec.structs import replace

from simulator.inductor.child import Child
from simulator.inductor.deep.stack import stack
from simulator.inductor.exact import question_of
from simulator.inductor.question import Question
from simulator.inductor.refusal import RefusalError
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario
from simulator.scenario.trace_source import trace_resolved
from tests.benchmarks.timing import Row

REQUIRED = (
    (Scenario("bert-base", batch=8, seq=128, dtype="bf16", training=True), 25.0),
    (Scenario("llama3-8b", batch=1, seq=2048, dtype="bf16"), 30.0),
)
_STAGES = ("importing", "Dynamo", "apart", "scheduling the forward")


def compilers() -> Iterator[Row]:
    """Compile each network once with all of its blocks and once with as few as possible; then
    cancel at each stage.
    """
    for scenario, required_s in REQUIRED:
        few = _question(scenario)
        for question, blocks_words in (
            (few, "few blocks"),
            (replace(few, stack="", blocks=0), "all"),
        ):
            phase = "training" if scenario.training else "inference"
            yield _timed(
                f"{scenario.network} {phase}, by Inductor: {blocks_words}", question, required_s
            )
    cancel_s = [_cancelled(_question(REQUIRED[0][0]), stage) for stage in _STAGES]
    figure, most = (
        "bert-base training, by Inductor: cancelled",
        f"at most {max(cancel_s) * 1e3:.0f} ms",
    )
    yield Row(
        figure, 0.2, median(cancel_s), float("nan"), len(cancel_s), 0, os.getloadavg()[0], most
    )


def _question(scenario: Scenario) -> Question:
    resolved = resolve(scenario)
    equal = stack(trace_resolved(resolved))
    question = question_of(resolved)
    return question if equal is None else replace(question, stack=equal.path, blocks=equal.blocks)


def _timed(figure: str, question: Question, required_s: float) -> Row:
    wall, cpu = time.perf_counter(), _children_s()
    child = Child(question)
    schedule = child.result().schedule
    assert schedule is not None
    wall = time.perf_counter() - wall
    child._process.wait()  # otherwise its time is not counted
    cpu = _children_s() - cpu
    note = f"{len(schedule.launches)} launches"
    return Row(figure, required_s, wall, cpu, 1, 0, os.getloadavg()[0], note)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cancelled(question: Question, stage: str) -> float:
    """Seconds from the cancellation until the waiting caller returns."""
    child, began = Child(question), list[float]()

    def cancel() -> None:
        began.append(time.perf_counter())
        child.cancel()

    def listen(step: str) -> None:
        if stage in step and not began:
            threading.Timer(0.3, cancel).start()

    try:
        child.result(listen)
    except RefusalError:
        return time.perf_counter() - began[0]
    raise AssertionError(f"it was not cancelled {stage!r}")
