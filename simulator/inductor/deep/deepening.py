"""Schedule a network of many identical blocks from two shallow versions of it, and extend the
schedule to the full depth, so that scheduling takes the same time at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace
from torch import nn

from simulator.inductor.deep.extension import extend
from simulator.inductor.forked import Forked
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule

Progress = Callable[[str], None]


def depths(blocks: int, training: bool) -> Iterator[tuple[int, int]]:
    """Pairs of depths to try. The depths of a pair differ by one period, and from `blocks` by whole
    numbers of periods. A pair is left out if its new depths add up to more than `blocks`.

    The compiler's fusion repeats with every block if each block saves its result, as in training.
    If residual sums are recomputed until four are read (`realize_reads_threshold` of
    torch/_inductor/config.py), it repeats with every second block of two sums, or every fourth
    block of one. There are two periods between the first and the last block; these two blocks may
    differ from the others.
    """
    tried = set[int]()
    for period, more in ((1, 0), (1, 1), (2, 0)) if training else ((2, 0), (4, 0)):
        least = 2 * period + 2 + more
        short = least + (blocks - least) % period
        pair = short, short + period
        if sum({*pair} - tried) <= blocks:
            tried.update(pair)
            yield pair


def schedule_by_extension(
    schedule: Callable[[Callable[[nn.Module], None], Progress], Schedule],
    path: str,
    blocks: int,
    training: bool,
    progress: Progress,
) -> Schedule | None:
    """The schedule of a network whose module at `path` holds `blocks` identical blocks; None if it
    cannot be extended from fewer. `schedule(change, progress)` schedules the network modified by
    `change`."""

    def fork(depth: int) -> Forked:
        def report(step: str) -> None:
            progress(f"{depth} of {blocks} blocks: {step}")

        return Forked(lambda: schedule(lambda module: shorten(module, path, depth), report))

    schedules: dict[int, Schedule] = {}
    for short, deep in depths(blocks, training):
        running = {depth: fork(depth) for depth in (deep, short) if depth not in schedules}
        try:
            schedules |= {depth: fork.result() for depth, fork in running.items()}
        except RefusalError:
            for forked in running.values():
                forked.end()
            return None  # scheduling all blocks reports why
        shallower, deeper = schedules[short], schedules[deep]
        extended = extend(shallower, deeper, (blocks - deep) // (deep - short))
        if extended is not None:
            more, period = len(deeper.launches) - len(shallower.launches), deep - short
            every = "block" if period == 1 else f"{period} blocks"
            note = (
                f"scheduled with {short} and with {deep} of the {blocks} identical blocks of "
                f"{path}, and extended by {more} launches for every further {every}"
            )
            return replace(extended, notes=(*extended.notes, note))
    return None


def shorten(module: nn.Module, path: str, depth: int) -> None:
    """Remove all blocks but the first `depth` − 1 and the last. Raises RefusalError if the module
    is not a list of blocks."""
    stack: Any = module.get_submodule(path)
    if not isinstance(stack, nn.ModuleList | nn.Sequential):
        raise RefusalError(
            f"{path} is a {type(stack).__name__}: expected a ModuleList or Sequential"
        )
    del stack[depth - 1 : len(stack) - 1]
