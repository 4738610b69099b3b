"""The exact answer to how a step is fused: the real scheduler's, made in a child process and kept
on disk."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec.structs import replace

from simulator.fusion import fused
from simulator.fusion.fused import Fused
from simulator.inductor.answer import Answer
from simulator.inductor.cache import ScheduleCache, key
from simulator.inductor.child import LIMIT_S, Child
from simulator.inductor.exact_pieces import exact_pieces
from simulator.inductor.exact_trace import exact_trace
from simulator.inductor.pieces import broken
from simulator.inductor.question import Question
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule
from simulator.inductor.stack import stack
from simulator.modes import autotunes
from simulator.records import Trace
from simulator.scenario.predict import scaled_profile
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.trace_source import FOLDER_VARIABLE

Progress = Callable[[str], None]


def exact(
    found: ResolvedScenario,
    origin: Trace,
    progress: Progress = lambda _: None,
    limit_s: float = LIMIT_S,
) -> Fused:
    """The launches of a setting's compiled step, `origin` being its eager trace. RefusalError,
    with the reason, where the real scheduler cannot be asked or gives no answer."""
    question, equal = question_of(found), stack(origin)
    if equal is not None:
        question = replace(question, stack=equal.path, blocks=equal.blocks)
    answer = asked(question, progress, limit_s)
    if answer.schedule is not None:
        return exact_trace(answer.schedule, origin)
    profile = scaled_profile(found)
    ruled = fused(broken(origin, answer.pieces), found.gpu, found.fusion or "compiled", profile)
    return exact_pieces(answer, ruled)


def question_of(found: ResolvedScenario) -> Question:
    """What the child is asked. RefusalError for what only a traced step has."""
    ask = found.ask
    if autotunes(found.mode):
        raise RefusalError("max-autotune chooses products by timing them on the GPU")
    if ask.saved:
        raise RefusalError("a saved trace has no module to compile")
    if found.edits or ask.checkpoint:
        raise RefusalError("a what-if changed the traced step, which the compiler does not see")
    return Question(
        ask.network,
        found.gpu,
        ask.batch,
        ask.seq,
        ask.dtype,
        ask.training,
        ask.sizes,
        ask.data_sizes,
        ask.frozen,
        ask.module_dtypes,
        ask.sdpa,
    )


def scheduled(question: Question, progress: Progress, limit_s: float = LIMIT_S) -> Schedule:
    """The schedule of a step that is one graph. RefusalError where it is not."""
    answer = asked(question, progress, limit_s)
    if answer.schedule is None:
        raise RefusalError(answer.refused)
    return answer.schedule


def asked(question: Question, progress: Progress, limit_s: float = LIMIT_S) -> Answer:
    """From disk, else from a child process that is waited for."""
    told = os.environ.get(FOLDER_VARIABLE, "")
    cache = None if told == "off" else ScheduleCache(told or None)
    name = key(question)
    known = cache.get(name) if cache else None
    if known is not None:
        return known
    made = Child(question, limit_s).result(progress)
    if cache:
        cache.put(name, made)
    return made
