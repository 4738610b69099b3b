"""Many settings answered at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.many import COLUMNS, Step, simulated
from simulator.prediction import Prediction
from simulator.profiles import Profile
from simulator.whatif.answer import learned, solved
from simulator.whatif.lines import expecting
from simulator.whatif.setting import Rates, Setting
from simulator.whatif.tracing_ask import trace_key, traced

_OPS_AT_ONCE = 50_000  # of the traces that are held at a time

Table = NDArray[np.float64]


def answers(
    settings: Sequence[Setting], figures: Callable[[Prediction], list[float]],
    counted: Callable[[int], None] = lambda done: None,
) -> tuple[Table, dict[int, str]]:  # fmt: skip
    """A row of COLUMNS for each setting, NaN (regime −1) where it has no answer, and why by row.
    `figures` makes the row of a prediction where kernels are sped up one by one; `counted` is
    told how many are done."""
    table = np.full((len(settings), len(COLUMNS)), np.nan)
    table[:, -1] = -1
    refused: dict[int, str] = {}
    groups: dict[object, list[int]] = {}
    for row, found in enumerate(settings):
        if found.speeds or found.rates != Rates():
            groups["one by one", row] = [row]
        else:
            groups.setdefault(trace_key(found), []).append(row)
    profiles: dict[tuple[str, float], Profile] = {}
    waiting: list[tuple[int, Step]] = []
    ops = done = 0

    def flush() -> None:
        nonlocal ops, done
        figure, why = simulated([step for _, step in waiting])
        rows = [row for row, _ in waiting]
        table[rows] = figure
        refused.update({rows[place]: reason for place, reason in why.items()})
        done += len(rows)
        counted(done)
        waiting.clear()
        ops = 0

    batches = len({s.ask.batch for s in settings})
    with expecting(batches, len({s.ask.seq for s in settings})):
        for rows in groups.values():
            first = settings[rows[0]]
            try:
                if first.speeds or first.rates != Rates():
                    table[rows[0]] = figures(solved(first))
                    continue
                trace = traced(first)
            except InputError as error:
                refused.update(dict.fromkeys(rows, str(error)))
                continue
            for row in rows:
                found = settings[row]
                own = found.gpu.id, found.gap_times
                if own not in profiles:
                    profiles[own] = learned(found)
                waiting.append((row, Step(trace, found.gpu, found.host, profiles[own], found.mode)))
            ops += len(trace.ops)
            if ops >= _OPS_AT_ONCE:
                flush()
        flush()
    return table, refused
