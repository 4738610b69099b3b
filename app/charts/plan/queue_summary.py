"""The parts of a queue in words: as tooltips of the factory, and in its place in a narrow
picture."""

from __future__ import annotations

from collections.abc import Sequence

from app.drawing import Box, Item, Marker, Metrics, Spot, Text, fitting
from simulator.formats.numbers import short
from simulator.planning.server.queue_detail import QueueDetail
from simulator.planning.wording import amount, latency
from simulator.prediction import Regime

_LINE_PX, _MARK_PX = 18.0, 14.0
SUMMARY_PX = 2 * _LINE_PX
_NAMES = ("Customers", "Prefill machine", "Decode line", "Cache shelf")


def queue_spots(d: QueueDetail, boxes: Sequence[Box]) -> list[Spot]:
    """The spots of customers, prefill, decode and cache, with their figures as tooltips."""
    words = (
        f"{short(d.rate_per_s)} requests a second; {short(d.waiting)} wait on average",
        f"one prompt of {amount(d.prompt_tokens)} tokens alone takes {latency(d.prompt_s)}; "
        f"prompts are read {d.prompt_share:.0%} of the time",
        f"{short(d.batch)} of {d.slots} sequences on average; an iteration takes "
        f"{latency(d.decode_s)}, {latency(d.host_s)} of it on the host",
        f"{amount(round(d.cached_tokens))} of {amount(d.cache_tokens)} tokens of cache in use; "
        f"{d.preempted:,} sequences restarted",
    )
    return [Spot(n, b, f"{n}: {w}") for n, b, w in zip(_NAMES, boxes, words, strict=True)]


def queue_summary(d: QueueDetail, box: Box, metrics: Metrics, spots: list[Spot]) -> list[Item]:
    """Two lines with the main figure of each part, and their spots."""
    share = min(d.cached_tokens / max(d.cache_tokens, 1), 1.0)
    waiting = f"{short(d.waiting, 2)} waiting"
    words = (
        (f"{short(d.rate_per_s)} a second, {waiting}", waiting),
        (f"prefill busy {d.prompt_share:.0%}", f"busy {d.prompt_share:.0%}"),
        (f"{short(d.batch)} of {d.slots} slots filled", f"{short(d.batch)} of {d.slots} slots"),
        (f"cache {share:.0%} full", f"{share:.0%} full"),
    )
    regimes: tuple[Regime | None, ...] = (None, "compute", "memory", None)
    half = box.width / 2
    items: list[Item] = []
    boxes: list[Box] = []
    for at, (regime, texts) in enumerate(zip(regimes, words, strict=True)):
        cell = Box(box.left + half * (at % 2), box.top + _LINE_PX * (at // 2), half - 6, _LINE_PX)
        boxes.append(cell)
        x, y = cell.left, cell.top + _LINE_PX / 2
        if regime is not None:
            items.append(Marker(x + 5, y, regime, 4.2))
        x += _MARK_PX
        items.append(Text(x, y, fitting(metrics, cell.right - x, *texts), "ink2"))
    spots += queue_spots(d, boxes)
    return items
