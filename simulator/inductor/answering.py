"""From a question to its answer, within the child process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from torch import nn

from simulator.errors import InputError
from simulator.inductor.answer import Answer
from simulator.inductor.capture import captured
from simulator.inductor.decisions import decide
from simulator.inductor.deepening import deepened
from simulator.inductor.device import believe
from simulator.inductor.graph_breaks import reason
from simulator.inductor.question import Question
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule
from simulator.inductor.survey import surveyed
from simulator.scenario.module import AUTOCAST, loaded
from simulator.scenario.resolved import TraceRequest
from simulator.timing.profile import learned


def answered(question: Question, progress: Callable[[str], None]) -> Answer:
    """The schedule, or those of its pieces. RefusalError, with the line of the user's code that is
    why, where there is none."""
    believe(question.gpu)
    decide(question.gpu, learned(question.gpu.id), question.sdpa)
    progress(f"building {question.network}")
    ask = TraceRequest(
        network=question.network,
        batch=question.batch,
        seq=question.seq,
        dtype=question.dtype,
        training=question.training,
        optimizer=None,
        sizes=question.sizes,
        data_sizes=question.data_sizes,
        frozen=question.frozen,
        module_dtypes=question.module_dtypes,
    )
    try:
        found = loaded(ask)
    except InputError as error:
        raise RefusalError(str(error)) from error
    autocast = AUTOCAST.get(question.dtype)

    def schedule(change: Callable[[nn.Module], None], progress: Callable[[str], None]) -> Schedule:
        try:
            change(found.module)
            return captured(
                found.module, found.args, found.kwargs, question.training, autocast, progress
            )
        except RefusalError:
            raise
        except Exception as error:
            raise RefusalError(reason(error)) from error

    made = question.blocks and deepened(
        schedule, question.stack, question.blocks, question.training, progress
    )
    try:
        return Answer(made or schedule(lambda _: None, progress))
    except RefusalError as refusal:
        in_pieces = _in_pieces(question, ask, str(refusal), progress)
        if in_pieces is None:
            raise
        return in_pieces


def _in_pieces(
    question: Question, ask: TraceRequest, refused: str, progress: Callable[[str], None]
) -> Answer | None:
    """What Dynamo makes of the step otherwise; None where that has no break, or fails too."""
    fresh = loaded(ask)
    with suppress(Exception):
        autocast, sizes = AUTOCAST.get(question.dtype), dict(question.data_sizes)
        pieces, schedules = surveyed(
            fresh.module, fresh.args, fresh.kwargs, question.training, autocast, sizes, progress
        )
        if any(piece.graph for piece in pieces) and any(piece.reason for piece in pieces):
            return Answer(None, pieces, schedules, refused)
    return None
