"""Answer a question, in the child process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from torch import nn

from simulator.errors import InputError
from simulator.inductor.answer import Answer
from simulator.inductor.breaks.graph_breaks import reason
from simulator.inductor.breaks.survey import survey
from simulator.inductor.capture import schedule_module
from simulator.inductor.decisions import decide
from simulator.inductor.deep.deepening import schedule_by_extension
from simulator.inductor.device import fake_gpu
from simulator.inductor.question import Question
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule
from simulator.scenario.module import AUTOCAST, loaded
from simulator.scenario.resolved import TraceRequest
from simulator.timing.profile import learned


def answer(question: Question, progress: Callable[[str], None]) -> Answer:
    """The schedule of a step, or those of its pieces.

    Raises RefusalError, with the responsible line of user code, if the step cannot be compiled.
    """
    fake_gpu(question.gpu)
    decide(question.gpu, learned(question.gpu.id), question.sdpa)
    progress(f"building {question.network}")
    request = TraceRequest(
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
        network = loaded(request)
    except InputError as error:
        raise RefusalError(str(error)) from error
    autocast = AUTOCAST.get(question.dtype)

    def schedule(change: Callable[[nn.Module], None], progress: Callable[[str], None]) -> Schedule:
        try:
            change(network.module)
            return schedule_module(
                network.module,
                network.args,
                network.kwargs,
                question.training,
                autocast,
                progress,
            )
        except RefusalError:
            raise
        except Exception as error:
            raise RefusalError(reason(error)) from error

    extended = question.blocks and schedule_by_extension(
        schedule, question.stack, question.blocks, question.training, progress
    )
    try:
        return Answer(extended or schedule(lambda _: None, progress))
    except RefusalError as refusal:
        in_pieces = _in_pieces(question, request, str(refusal), progress)
        if in_pieces is None:
            raise
        return in_pieces


def _in_pieces(
    question: Question, request: TraceRequest, refused: str, progress: Callable[[str], None]
) -> Answer | None:
    """The pieces into which Dynamo cuts the step; None without a break, or if Dynamo fails too."""
    fresh = loaded(request)
    with suppress(Exception):
        autocast, sizes = AUTOCAST.get(question.dtype), dict(question.data_sizes)
        pieces, schedules = survey(
            fresh.module, fresh.args, fresh.kwargs, question.training, autocast, sizes, progress
        )
        if any(piece.graph for piece in pieces) and any(piece.reason for piece in pieces):
            return Answer(None, pieces, schedules, refused)
    return None
