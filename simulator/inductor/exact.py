"""The exact fusion of a step, by Inductor's scheduler in a child process, cached on disk."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec.structs import replace

from simulator.fusion import fused
from simulator.fusion.fused import Fused
from simulator.inductor.answer import Answer
from simulator.inductor.breaks.exact_pieces import exact_pieces
from simulator.inductor.breaks.pieces import broken
from simulator.inductor.cache import ScheduleCache, key
from simulator.inductor.child import LIMIT_S, Child
from simulator.inductor.deep.stack import stack
from simulator.inductor.exact_trace import exact_trace
from simulator.inductor.question import Question
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule
from simulator.isolated import ISOLATION
from simulator.modes import autotunes
from simulator.records import Trace
from simulator.scenario.predict import scaled_profile
from simulator.scenario.resolved import ResolvedScenario
from simulator.scenario.trace_source import FOLDER_VARIABLE

Progress = Callable[[str], None]


def exact(
    resolved: ResolvedScenario,
    origin: Trace,
    progress: Progress = lambda _: None,
    limit_s: float = LIMIT_S,
) -> Fused:
    """The launches of a scenario's compiled step, whose eager trace is `origin`.

    Raises RefusalError, with the reason, if Inductor cannot schedule the step.
    """
    question, blocks = question_of(resolved), stack(origin)
    if blocks is not None:
        question = replace(question, stack=blocks.path, blocks=blocks.blocks)
    answer = ask(question, progress, limit_s)
    if answer.schedule is not None:
        return exact_trace(answer.schedule, origin)
    profile = scaled_profile(resolved)
    ruled = fused(
        broken(origin, answer.pieces), resolved.gpu, resolved.fusion or "compiled", profile
    )
    return exact_pieces(answer, ruled)


def question_of(resolved: ResolvedScenario) -> Question:
    """The question for the child process. Raises RefusalError if a scenario changes the trace."""
    request = resolved.request
    if autotunes(resolved.mode):
        raise RefusalError("max-autotune chooses matrix products by timing them on the GPU")
    if request.saved:
        raise RefusalError("a saved trace has no module to compile")
    if resolved.edits or request.checkpoint:
        raise RefusalError("a what-if changed the traced step, which the compiler does not see")
    return Question(
        network=request.network,
        gpu=resolved.gpu,
        batch=request.batch,
        seq=request.seq,
        dtype=request.dtype,
        training=request.training,
        sizes=request.sizes,
        data_sizes=request.data_sizes,
        frozen=request.frozen,
        module_dtypes=request.module_dtypes,
        sdpa=request.sdpa,
    )


def scheduled(question: Question, progress: Progress, limit_s: float = LIMIT_S) -> Schedule:
    """The schedule of a step that is one graph. Raises RefusalError if it is not."""
    answer = ask(question, progress, limit_s)
    if answer.schedule is None:
        raise RefusalError(answer.refused)
    return answer.schedule


def ask(question: Question, progress: Progress, limit_s: float = LIMIT_S) -> Answer:
    """The answer from disk, else from a child process."""
    folder = os.environ.get(FOLDER_VARIABLE, "")
    cache = None if folder == "off" else ScheduleCache(folder or None)
    name = key(question)
    cached = cache.get(name) if cache else None
    if cached is not None:
        return cached
    answer = Child(question, limit_s, ISOLATION.limits_for(question.network)).result(progress)
    if cache:
        cache.put(name, answer)
    return answer
