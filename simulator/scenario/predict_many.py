"""Many settings answered at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.modes import compiles
from simulator.records import Trace
from simulator.scenario.predict import as_fused, predict_resolved, scaled_profile
from simulator.scenario.resolved import Rates, ResolvedScenario
from simulator.scenario.trace_families import expecting
from simulator.scenario.trace_source import family, reason_to_trace, trace_key, traced
from simulator.simulate.family import Drive, at_points
from simulator.simulate.step_columns import empty_table, step_row
from simulator.simulate.traces import Step, simulated
from simulator.symbols.family import Family
from simulator.timing.profile import Profile

_OPS_AT_ONCE = 50_000  # of the traces that are held at a time

Table = NDArray[np.float64]


def predict_many(
    settings: Sequence[ResolvedScenario],
    counted: Callable[[int], None] = lambda done: None,
) -> tuple[Table, dict[int, str], dict[int, str]]:
    """A row of COLUMNS for each setting, NaN (regime −1) where it has no answer; why by row; and
    why a row took a trace of its own, where there are several batches or sequences. `counted` is
    called with the number of settings that are done."""
    table = empty_table(len(settings))
    refused: dict[int, str] = {}
    retraced: dict[int, str] = {}
    groups: dict[object, list[int]] = {}
    for row, found in enumerate(settings):
        if found.speeds or found.rates != Rates():
            groups["one by one", row] = [row]
        else:
            groups.setdefault(trace_key(found), []).append(row)
    profiles: dict[tuple[str, float], Profile] = {}
    grids: dict[tuple[int, ...], list[_OfFamily]] = {}
    compiled: dict[tuple[int, tuple[int, int]], list[_OfFamily]] = {}
    waiting: list[tuple[int, Step]] = []
    ops = done = 0

    def flush() -> None:
        nonlocal ops, done
        steps = [step for _, step in waiting]
        figure, why = simulated(steps, lambda more: counted(done + more))
        rows = [row for row, _ in waiting]
        table[rows] = figure
        refused.update({rows[place]: reason for place, reason in why.items()})
        done += len(rows)
        waiting.clear()
        ops = 0

    batches, seqs = (len({getattr(s.ask, axis) for s in settings}) for axis in ("batch", "seq"))
    with expecting(batches, seqs):
        for rows in groups.values():
            first = settings[rows[0]]
            try:
                if first.speeds or first.rates != Rates():
                    table[rows[0]] = step_row(predict_resolved(first))
                    continue
                known = family(first)
                trace = traced(first) if known is None else None
                if known is None and batches * seqs > 1 and (why := why_traced(first)):
                    retraced.update(dict.fromkeys(rows, why))
            except InputError as error:
                refused.update(dict.fromkeys(rows, str(error)))
                continue
            for row in rows:
                found = settings[row]
                own = found.gpu.id, found.gap_times
                if own not in profiles:
                    profiles[own] = scaled_profile(found)
                if known is not None:
                    each = _OfFamily(row, found, profiles[own], *known)
                    if compiles(found.mode):
                        compiled.setdefault((id(each.family), each.point), []).append(each)
                        continue
                    key = id(each.family), id(found.gpu), id(profiles[own])
                    grids.setdefault(key, []).append(each)
                    continue
                assert trace is not None
                try:
                    made = as_fused(trace, found, profiles[own])
                except InputError as error:
                    refused[row] = str(error)
                    continue
                waiting.append((row, Step(made, found.gpu, found.host, profiles[own], found.mode)))
            ops += len(trace.ops) if trace is not None else 0
            if ops >= _OPS_AT_ONCE:
                flush()
        for same in compiled.values():  # partitioned point by point, once for each GPU
            trace = same[0].family.at(*same[0].point)
            waiting += [(each.row, each.of(trace)) for each in same]
            ops += len(trace.ops) * len({id(each.setting.gpu) for each in same})
            if ops >= _OPS_AT_ONCE:
                flush()
        flush()
    for grid in grids.values():
        _answer_grid(grid, table, refused)
        done += len(grid)
        counted(done)
    return table, refused, retraced


def why_traced(found: ResolvedScenario) -> str | None:
    """Why a trace of its own was taken; None where a family gave the trace that is edited or
    fused, or it is a saved one."""
    return None if found.ask.saved else reason_to_trace(found.ask, found.gpu)


class _OfFamily(NamedTuple):
    """A setting whose figures a family gives without a trace."""

    row: int
    setting: ResolvedScenario
    profile: Profile
    family: Family
    point: tuple[int, int]

    def of(self, trace: Trace) -> Step:
        """The step at its point, of which this is the trace."""
        found = self.setting
        return Step(trace, found.gpu, found.host, self.profile, found.mode)


def _answer_grid(asked: Sequence[_OfFamily], table: Table, refused: dict[int, str]) -> None:
    """Settings of one family on one GPU: every point with each host and mode that it is asked
    with, if most are asked for."""
    first = asked[0]
    by_drive: dict[tuple[int, str], list[_OfFamily]] = {}
    for each in asked:
        by_drive.setdefault((id(each.setting.host), each.setting.mode), []).append(each)
    grids: dict[tuple[tuple[int, int], ...], list[list[_OfFamily]]] = {}
    for rows in by_drive.values():
        grids.setdefault(tuple(each.point for each in rows), []).append(rows)
    for points, drives in grids.items():
        batches, seqs = zip(*points, strict=True)
        found = at_points(
            first.family,
            batches,
            seqs,
            first.setting.gpu,
            first.profile,
            [Drive(rows[0].setting.host, rows[0].setting.mode) for rows in drives],
        )
        for rows, (figures, why) in zip(drives, found, strict=True):
            places = [each.row for each in rows]
            table[places] = figures
            refused.update({places[at]: reason for at, reason in why.items()})
