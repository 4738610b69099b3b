"""Pipeline schedules: the order of the forward and backward passes of a stage's micro-batches.

GPipe: Huang et al. 2019. 1F1B: Narayanan et al. 2019 (PipeDream-Flush). Interleaved 1F1B: Narayanan
et al. 2021; each rank holds several chunks of blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulator.errors import InputError


@dataclass(frozen=True)
class Action:
    """A pass of one micro-batch through one chunk: `kind` is "forward" or "backward"."""

    kind: str
    chunk: int
    microbatch: int


def actions(schedule: str, stage: int, stages: int, microbatches: int, chunks: int) -> list[Action]:
    """The order of a stage's passes. Raises InputError if the number of micro-batches does not suit
    the schedule."""
    if schedule == "interleaved":
        return _interleaved(stage, stages, microbatches, chunks)
    forward = [Action("forward", 0, i) for i in range(microbatches)]
    backward = [Action("backward", 0, i) for i in range(microbatches)]
    if schedule == "gpipe":
        return [*forward, *backward]
    ahead = min(microbatches, stages - stage)
    order = forward[:ahead]
    for i in range(microbatches):
        order.append(backward[i])
        order.extend(forward[ahead + i : ahead + i + 1])
    return order


def _interleaved(stage: int, stages: int, microbatches: int, chunks: int) -> list[Action]:
    if microbatches % stages:
        raise InputError(
            f"schedule=interleaved with {microbatches} micro-batches and pp = {stages}: expected "
            "a multiple of pp; change microbatches"
        )
    total = microbatches * chunks
    ahead = min(total, 2 * (stages - stage - 1) + (chunks - 1) * stages + 1)

    def action(kind: str, number: int) -> Action:
        rounds, place = divmod(number, stages * chunks)
        chunk, within = divmod(place, stages)
        if kind == "backward":
            chunk = chunks - 1 - chunk
        return Action(kind, chunk, rounds * stages + within)

    order = [action("forward", i) for i in range(ahead)]
    for i in range(total):
        order.append(action("backward", i))
        order.extend(action("forward", j) for j in range(ahead + i, min(ahead + i + 1, total)))
    return order
