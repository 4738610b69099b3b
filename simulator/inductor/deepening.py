"""A network of many equal blocks is scheduled with a few of them, at two depths, and the schedule
is extended to all: the time that this takes does not grow with the depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace
from torch import nn

from simulator.inductor.extension import extended
from simulator.inductor.forked import Forked
from simulator.inductor.refusal import RefusalError
from simulator.inductor.schedule import Schedule

Progress = Callable[[str], None]


def depths(blocks: int, training: bool) -> Iterator[tuple[int, int]]:
    """Pairs of depths to try: a period of blocks apart, as `blocks` is some periods more, and both
    together no deeper than all.

    What a compiler fuses repeats with every block where each saves what it made, as in training;
    where residual sums are made again until four are read (`realize_reads_threshold` of
    torch/_inductor/config.py), it does with every second block of two sums, or fourth of one. Two
    periods are to lie between a first and a last block that may differ.
    """
    for period, more in ((1, 0), (1, 1), (2, 0)) if training else ((2, 0), (4, 0)):
        least = 2 * period + 2 + more
        short = least + (blocks - least) % period
        if 2 * short + period <= blocks:
            yield short, short + period


def deepened(
    schedule: Callable[[Callable[[nn.Module], None], Progress], Schedule],
    path: str,
    blocks: int,
    training: bool,
    progress: Progress,
) -> Schedule | None:
    """The schedule of a network whose module at `path` holds `blocks` equal blocks; None where it
    cannot be had from fewer. `schedule` makes one of the network as a function leaves it."""

    def few(depth: int) -> Forked:
        def tell(step: str) -> None:
            progress(f"{depth} of {blocks} blocks: {step}")

        return Forked(lambda: schedule(lambda module: shorten(module, path, depth), tell))

    known: dict[int, Schedule] = {}
    for short, deep in depths(blocks, training):
        running = {depth: few(depth) for depth in (deep, short) if depth not in known}
        try:
            known |= {depth: each.result() for depth, each in running.items()}
        except RefusalError:
            for each in running.values():
                each.end()
            return None  # with all blocks it is said why
        shallower, deeper = known[short], known[deep]
        made = extended(shallower, deeper, (blocks - deep) // (deep - short))
        if made is not None:
            more, period = len(deeper.launches) - len(shallower.launches), deep - short
            every = "block" if period == 1 else f"{period} blocks"
            note = (
                f"scheduled with {short} and with {deep} of the {blocks} equal blocks of "
                f"{path}, and extended by {more} launches with every {every}"
            )
            return replace(made, notes=(*made.notes, note))
    return None


def shorten(module: nn.Module, path: str, depth: int) -> None:
    """Leave `depth` blocks: the first ones, and the last."""
    found: Any = module.get_submodule(path)
    if not isinstance(found, nn.ModuleList | nn.Sequential):
        raise RefusalError(f"{path} is a {type(found).__name__}, of which no block can be left out")
    del found[depth - 1 : len(found) - 1]
