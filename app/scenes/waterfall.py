"""The height and the labels of a waterfall."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulator.analysis.compare import Waterfall


def highest_s(fall: Waterfall) -> float:
    """The longest time to draw, including the ends of intervals and each change applied alone."""
    tops = [
        fall.a.period_s,
        fall.b.period_s,
        fall.a.interval_s[1],
        fall.b.interval_s[1],
        *(max(s.period_s, s.interval_s[1]) for s in fall.steps),
    ]
    tops += [fall.a.period_s + s.alone_s for s in fall.steps if s.alone_s is not None]
    return max(tops)


def broken(text: str) -> str:
    """The label of a bar: what-ifs with several arguments break before the second argument."""
    text = text.replace(",", ",\n", 1) if len(text) > 22 else text
    return text.replace(" → ", "\n→ ") if len(text) > 18 else text
