"""The main figures of a plan: the figures of the chosen candidate, each with its limit."""

from __future__ import annotations

from dataclasses import dataclass

from app.answers.plan.words import is_preliminary, status_words
from app.scenes.plan.table import short_name
from simulator.formats.numbers import number, short
from simulator.planning import Row
from simulator.planning.result import Span
from simulator.planning.spec import Spec
from simulator.planning.verdict import gpu_hours
from simulator.planning.wording import Currency, duration, latency, watts
from simulator.prediction import REGIMES, Regime


@dataclass(frozen=True)
class Figure:
    """A figure with its unit, below a label and above a note; `late` if it exceeds its limit.
    `interval` holds the 80% interval as factors of the figure."""

    label: str
    figure: str
    unit: str
    note: str = ""
    late: bool = False
    interval: Span | None = None


@dataclass(frozen=True)
class HeadlineScene:
    """The candidate, its regime or limit, and its figures; `preliminary` if its plan may still
    change the status."""

    name: str
    mode: str
    status: str
    holds: bool
    regime: Regime | None
    binds: str
    figures: tuple[Figure, ...]
    preliminary: bool = False


def headline_scene(spec: Spec, row: Row, complete: bool = True) -> HeadlineScene:
    """The figures of a candidate of a plan, which may not be `complete` yet."""
    kind, limits = spec.workload.kind, spec.limits
    unit = "tokens" if kind == "serving" or spec.workload.tokens else "samples"
    percent = f"{limits.percentile:g}%"
    figures: list[Figure | None] = [_cost(spec.prices.currency, row, unit)]
    if kind == "serving":
        figures += [
            _time(f"Time per token, {percent}", row.per_token_s, row.per_token_interval_s,
                  limits.per_token_s),
            _time(f"First token, {percent}", row.first_token_s, row.first_token_interval_s,
                  limits.first_token_s),
        ]  # fmt: skip
    elif kind == "training":
        figures.append(
            _time("The run takes", row.duration_s, row.duration_interval_s, limits.deadline_s, True)
        )
    else:
        name = "A batch takes" if spec.rate_per_s is None else f"Latency, {percent}"
        figures.append(_time(name, row.latency_s, row.latency_interval_s, limits.latency_s))
    figures += [_load(spec, row), _memory(row), _energy(row, unit)]
    return HeadlineScene(
        *short_name(row),
        status_words(row, complete),
        row.status in ("fits", "uncertain"),
        row.binds if row.binds in REGIMES else None,
        row.binds,
        tuple(each for each in figures if each is not None),
        is_preliminary(row, complete),
    )


def _cost(currency: Currency, row: Row, unit: str) -> Figure:
    if row.usd_total is not None:
        hourly = "" if row.usd_per_h is None else f"{currency.text(row.usd_per_h)} an hour"
        total = f"{row.usd_total / currency.usd:,.0f}"
        return Figure("Cost of the run", total, currency.name, hourly)
    if row.usd_per_h is None:
        return Figure("Cost", "no price", "", f"{gpu_hours(row)}; type yours on its card")
    hourly = f"{currency.text(row.usd_per_h)} an hour"
    if row.usd_per_million is None:
        return Figure("Cost", f"{row.usd_per_h / currency.usd:.2f}", f"{currency.name}/h", "")
    figure, _, money = currency.text(row.usd_per_million).partition(" ")
    return Figure(f"Cost per million {unit}", figure, money, hourly)


def _time(
    label: str, value: float | None, span: Span | None, limit: float | None, long: bool = False
) -> Figure | None:
    if value is None:
        return None
    write = duration if long else latency
    figure, _, unit = write(value).partition(" ")
    within = "" if limit is None else f" of {write(limit)}"
    if within.endswith(f" {unit}"):  # "ms of 50" if the units agree
        within = within.removesuffix(f" {unit}")
    note, interval = "", None
    if span is not None and span[0] < span[1]:
        note = write(value, *span).partition(" (")[2].removesuffix(")")
        interval = span[0] / value, span[1] / value
    return Figure(label, figure, f"{unit}{within}", note, _late(value, limit), interval)


def _late(value: float, limit: float | None) -> bool:
    return limit is not None and value > limit


def _load(spec: Spec, row: Row) -> Figure | None:
    most = row.largest_rate_per_s
    if most is None:
        if row.per_s is None:
            return None
        return Figure("Throughput", number(row.per_s), "a second", f"in batches of {row.batch:.0f}")
    load_per_s = row.per_s or spec.rate_per_s
    note = "" if not load_per_s or row.at_capacity else f"{short(most / load_per_s, 2)}× the load"
    return Figure(
        "Carries at most", short(most, 3), "a second", note, bool(load_per_s and most < load_per_s)
    )


def _memory(row: Row) -> Figure | None:
    if row.memory_share is None:
        return None
    late = row.memory_share > 1
    note = "does not fit" if late else "fits"
    return Figure("Memory", f"{row.memory_share:.0%}", "of the card", note, late)


def _energy(row: Row, unit: str) -> Figure | None:
    if row.joules_per_unit is None:
        return None
    note = "" if row.watts is None else f"{watts(row.watts)} including the building"
    return Figure("Energy", short(row.joules_per_unit, 3), f"J per {unit.removesuffix('s')}", note)
