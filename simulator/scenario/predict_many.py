"""Predict many resolved scenarios at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.errors import InputError
from simulator.modes import compiles
from simulator.records import Trace
from simulator.scenario.predict import as_fused, predict_resolved, scaled_profile
from simulator.scenario.resolved import Rates, ResolvedScenario
from simulator.scenario.trace_source import family, reason_to_trace, trace_key, trace_resolved
from simulator.scenario.traces.families import expecting
from simulator.simulate.family import Drive, at_points
from simulator.simulate.step_columns import empty_table, step_row
from simulator.simulate.traces import Step, simulated
from simulator.symbols.family import Family
from simulator.timing.profile import Profile

_OPS_AT_ONCE = 50_000  # maximum number of ops of the traces in memory at a time
_NO_RATES = Rates()
_POINTS_AT_ONCE = 1 << 14  # points of a family at a time: 50 to 100 MB of columns

Table = NDArray[np.float64]


def predict_many(
    scenarios: Sequence[ResolvedScenario],
    counted: Callable[[int], None] = lambda done: None,
) -> tuple[Table, dict[int, str], dict[int, str]]:
    """Return a table of `step_columns` with a row per scenario, and two mappings by row.

    The first gives the reason why a scenario cannot be predicted (its row is NaN, with regime −1).
    The second gives the reason why a row was traced, if there are several batches or sequences.
    `counted` is called with the number of scenarios predicted so far.
    """
    table = empty_table(len(scenarios))
    refused: dict[int, str] = {}
    retraced: dict[int, str] = {}
    groups = _by_trace(scenarios)
    profiles: dict[tuple[str, float], Profile] = {}
    grids: dict[tuple[int, ...], list[_FamilyPoint]] = {}
    compiled: dict[tuple[int, tuple[int, int]], list[_FamilyPoint]] = {}
    waiting: list[tuple[int, Step]] = []
    ops = done = 0

    def flush() -> None:
        nonlocal ops, done
        steps = [step for _, step in waiting]
        part, reasons = simulated(steps, lambda more: counted(done + more))
        rows = [row for row, _ in waiting]
        table[rows] = part
        refused.update({rows[place]: reason for place, reason in reasons.items()})
        done += len(rows)
        waiting.clear()
        ops = 0

    batches, seqs = (
        len({getattr(s.request, axis) for s in scenarios}) for axis in ("batch", "seq")
    )
    with expecting(batches, seqs):
        for rows in groups:
            first = scenarios[rows[0]]
            try:
                if _is_retimed(first):
                    table[rows[0]] = step_row(predict_resolved(first))
                    continue
                at_family = family(first)
                trace = trace_resolved(first) if at_family is None else None
                if at_family is None and batches * seqs > 1 and (why := why_traced(first)):
                    retraced.update(dict.fromkeys(rows, why))
            except InputError as error:
                refused.update(dict.fromkeys(rows, str(error)))
                continue
            for row in rows:
                resolved = scenarios[row]
                profile_key = resolved.gpu.id, resolved.gap_times
                if profile_key not in profiles:
                    profiles[profile_key] = scaled_profile(resolved)
                profile = profiles[profile_key]
                if at_family is not None:
                    point = _FamilyPoint(row, resolved, profile, *at_family)
                    if compiles(resolved.mode):
                        compiled.setdefault((id(point.family), point.point), []).append(point)
                        continue
                    key = id(point.family), id(resolved.gpu), id(profile)
                    grids.setdefault(key, []).append(point)
                    continue
                assert trace is not None
                try:
                    fused = as_fused(trace, resolved, profile)
                except InputError as error:
                    refused[row] = str(error)
                    continue
                step = Step(fused, resolved.gpu, resolved.host, profile, resolved.mode)
                waiting.append((row, step))
            ops += len(trace.ops) if trace is not None else 0
            if ops >= _OPS_AT_ONCE:
                flush()
        for points in compiled.values():  # partitioned point by point, once for each GPU
            trace = points[0].family.at(*points[0].point)
            waiting += [(p.row, p.step(trace)) for p in points]
            ops += len(trace.ops) * len({id(p.resolved.gpu) for p in points})
            if ops >= _OPS_AT_ONCE:
                flush()
        flush()
    for grid in grids.values():
        _predict_grid(grid, table, refused)
        done += len(grid)
        counted(done)
    return table, refused, retraced


def _is_retimed(resolved: ResolvedScenario) -> bool:
    """Whether a what-if changes the times of kernels; such scenarios are predicted one by one."""
    return bool(resolved.speeds) or resolved.rates != _NO_RATES


def _by_trace(scenarios: Sequence[ResolvedScenario]) -> Iterable[list[int]]:
    """The rows of each trace. Computing a key takes as long as everything else for a row, so it is
    computed once for all scenarios that share the request, the GPU and the edits."""
    by_key: dict[object, list[int]] = {}
    by_parts: dict[tuple[int, ...], list[int]] = {}
    for row, resolved in enumerate(scenarios):
        if _is_retimed(resolved):
            by_key["one by one", row] = [row]
            continue
        parts = id(resolved.request), id(resolved.gpu), id(resolved.edits)
        rows = by_parts.get(parts)
        if rows is None:
            rows = by_parts[parts] = by_key.setdefault(trace_key(resolved), [])
        rows.append(row)
    return by_key.values()


def step_of(resolved: ResolvedScenario) -> Step:
    """The traced step of a resolved scenario, for `simulated`. Raises InputError if it cannot be
    traced or fused."""
    profile = scaled_profile(resolved)
    run = as_fused(trace_resolved(resolved), resolved, profile)
    return Step(run, resolved.gpu, resolved.host, profile, resolved.mode)


def why_traced(resolved: ResolvedScenario) -> str | None:
    """The reason why a scenario is traced; None if its trace is saved or comes from a family."""
    return None if resolved.request.saved else reason_to_trace(resolved.request, resolved.gpu)


class _FamilyPoint(NamedTuple):
    """A scenario at a point of a family: predicted without a trace."""

    row: int
    resolved: ResolvedScenario
    profile: Profile
    family: Family
    point: tuple[int, int]

    def step(self, trace: Trace) -> Step:
        """The step to simulate, given the trace at the point."""
        resolved = self.resolved
        return Step(trace, resolved.gpu, resolved.host, self.profile, resolved.mode)


def _predict_grid(grid: Sequence[_FamilyPoint], table: Table, refused: dict[int, str]) -> None:
    """Predict the points of one family on one GPU, several hosts and modes at once."""
    first = grid[0]
    by_drive: dict[tuple[int, str], list[_FamilyPoint]] = {}
    for point in grid:
        by_drive.setdefault((id(point.resolved.host), point.resolved.mode), []).append(point)
    grids: dict[tuple[tuple[int, int], ...], list[list[_FamilyPoint]]] = {}
    for rows in by_drive.values():
        grids.setdefault(tuple(p.point for p in rows), []).append(rows)
    for points, drives in grids.items():
        for begin in range(0, len(points), _POINTS_AT_ONCE):
            part_of_grid = slice(begin, begin + _POINTS_AT_ONCE)
            batches, seqs = zip(*points[part_of_grid], strict=True)
            predictions = at_points(
                first.family,
                batches,
                seqs,
                first.resolved.gpu,
                first.profile,
                [Drive(rows[0].resolved.host, rows[0].resolved.mode) for rows in drives],
            )
            for rows, (part, reasons) in zip(drives, predictions, strict=True):
                places = [point.row for point in rows[part_of_grid]]
                table[places] = part
                refused.update({places[at]: reason for at, reason in reasons.items()})
