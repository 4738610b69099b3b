"""Formulas of the columns of the op table, with the values of one row."""

from __future__ import annotations

from collections.abc import Callable

from app.formulas.formula import Formula
from app.quantities import data, percent, scaled, seconds
from app.scenes.op_table import OpGroups
from simulator.prediction import REGIMES

Row = Callable[[OpGroups, int], Formula]


def _calls(g: OpGroups, row: int) -> Formula:
    return Formula(
        "Calls",
        "launches of the group in one step",
        f"{int(g.calls[row]):,} of {int(g.calls.sum()):,}",
        "",
        "06-cuda-graph",
    )


def _time(g: OpGroups, row: int) -> Formula:
    calls = int(g.calls[row])
    each = float(g.total_s[row]) / max(1, calls)
    return Formula(
        "Time",
        "calls × time of each",
        f"{calls:,} × {seconds(each)} = {seconds(float(g.total_s[row]))}",
        "Time of each: the longer of compute and memory time, plus start and end.",
        "01-three-regimes",
    )


def _each(g: OpGroups, row: int) -> Formula:
    calls, total = int(g.calls[row]), float(g.total_s[row])
    return Formula(
        "Each", "time / calls", f"{seconds(total)} / {calls:,} = {seconds(total / max(1, calls))}"
    )


def _share(g: OpGroups, row: int) -> Formula:
    whole = float(g.total_s.sum())
    return Formula(
        "Share",
        "time / time in which a kernel runs",
        f"{seconds(float(g.total_s[row]))} / {seconds(whole)} = {percent(float(g.share[row]))}",
        "",
        "04-two-tenths-of-a-percent",
    )


def _flops(g: OpGroups, row: int) -> Formula:
    return Formula(
        "FLOPs",
        "additions and multiplications of all calls",
        f"{scaled(float(g.flops[row]), 'FLOP')} of {scaled(float(g.flops.sum()), 'FLOP')}",
        "A multiply-add is two.",
        "04-two-tenths-of-a-percent",
    )


def _bytes(g: OpGroups, row: int) -> Formula:
    return Formula(
        "Bytes",
        "distinct bytes read and written by each launch, in DRAM",
        f"{data(float(g.bytes[row]))} of {data(float(g.bytes.sum()))}",
        "",
        "02-one-cosine-and-two",
    )


def _flop_rate(g: OpGroups, row: int) -> Formula:
    flops, total = float(g.flops[row]), float(g.total_s[row])
    rate = flops / total if total else 0.0
    return Formula(
        "FLOP/s",
        "FLOPs / time",
        f"{scaled(flops, 'FLOP')} / {seconds(total)} = {scaled(rate, 'FLOP/s')}",
        "",
        "03-intensity",
    )


def _byte_rate(g: OpGroups, row: int) -> Formula:
    moved, total = float(g.bytes[row]), float(g.total_s[row])
    rate = moved / total if total else 0.0
    return Formula(
        "Byte/s",
        "bytes / time",
        f"{data(moved)} / {seconds(total)} = {scaled(rate, 'B/s')}",
        "It can exceed the DRAM bandwidth if the L2 cache holds the data.",
        "10-readers",
    )


def _regime(g: OpGroups, row: int) -> Formula:
    parts = [float(part) for part in g.parts_s[row]]
    whole = sum(parts) or 1.0
    text = " + ".join(f"{percent(s / whole)} {r}" for r, s in zip(REGIMES, parts, strict=True))
    return Formula(
        "Regime",
        "the largest part of its own time",
        f"{text}: {g.regime_of(row)}",
        "",
        "01-three-regimes",
    )


COLUMN_FORMULAS: dict[str, Row] = {
    "Calls": _calls, "Time": _time, "Each": _each, "Share": _share, "FLOPs": _flops,
    "Bytes": _bytes, "FLOP/s": _flop_rate, "Byte/s": _byte_rate, "Regime": _regime,
}  # fmt: skip
"""Formulas by column; the other columns hold names."""
