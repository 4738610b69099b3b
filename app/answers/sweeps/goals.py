"""Goals of `ridgepoint seek`: the batch, rate or fusion level at which a scenario meets them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from app.answers.sweeps.sweep import retraced_at
from app.quantities import count_of, number, plain, seconds
from simulator.analysis import seek as seeking
from simulator.analysis import seek_fusion
from simulator.analysis.sweep import axis as axis_of
from simulator.errors import InputError
from simulator.fusion import LEVELS

if TYPE_CHECKING:
    from app.progress import Step
    from simulator.analysis.along import Figures, Watch
    from simulator.analysis.seek import SeekResult
    from simulator.scenario.scenario import Scenario


@dataclass
class Search:
    """One goal: its question, the points tried as (value, figures), and the answer, or the reason
    why there is no answer. `target` is the goal's figure in SI units."""

    kind: str
    question: str
    axis: str
    target: float | None
    run: Callable[[Watch], SeekResult]
    tried: list[tuple[float, Figures]] = field(default_factory=list["tuple[float, Figures]"])
    sought: SeekResult | None = None
    reason: str = ""

    @property
    def retraced(self) -> str:
        """The values at which the search traced the network again, with the reasons; empty if it
        did not.
        """
        return retraced_at(self.axis, self.sought.traced) if self.sought else ""


def searches_of(
    scenario: Scenario,
    fits: bool,
    out_of_overhead: bool,
    latency: str | None,
    throughput: str | None,
    flip: list[str] | None,
    down: bool,
    fusion: str | None = None,
) -> list[Search]:
    """The goals that a command line names; by default, all goals that need no figure."""
    searches: list[Search] = []
    names_none = not (fits or out_of_overhead or latency or throughput or flip or fusion)

    def add(
        kind: str,
        question: str,
        target: float | None,
        run: Callable[..., SeekResult],
        *goal: float,
        axis: str = "batch",
        **more: Any,
    ) -> None:
        seek = partial(run, scenario, *goal, **more)
        searches.append(Search(kind, question, axis, target, lambda watch: seek(watch=watch)))

    if fits or names_none:
        add("fits", "Largest batch that fits", None, seeking.largest_batch)
    if out_of_overhead or names_none:
        add(
            "overhead",
            "Smallest batch that is not overhead-bound",
            None,
            seeking.batch_out_of_overhead,
        )
    if latency:
        limit = time_s(latency)
        question = f"Largest batch within {seconds(limit)}"
        add("latency", question, limit, seeking.batch_for_latency, limit)
    if throughput:
        rate = per_s(throughput)
        question = f"Smallest batch for {count_of(rate, 'samples/s')}"
        add("throughput", question, rate, seeking.batch_for_throughput, rate)
    if fusion and (times := _figure(fusion, _TIMES, {"": 1.0})):
        run = seek_fusion.fusion_for_speedup
        add("fusion", f"Lowest fusion level for {times:g}×", times, run, times, axis="fusion")
    elif fusion:
        limit = time_s(fusion, "--fusion", "20ms, or a factor such as 1.5x")
        run = seek_fusion.fusion_for_time
        add(
            "fusion",
            f"Lowest fusion level within {seconds(limit)}",
            limit,
            run,
            limit,
            axis="fusion",
        )
    for name in flip or (["bandwidth", "host_speed"] if names_none else []):
        name = name.removeprefix("+").replace("-", "_")
        axis_of(scenario, name)  # report a typo before any slow work
        question = f"Regime flips along {name}{' (downwards)' if down else ''}"
        add("flip", question, None, seeking.flip, axis=name, along=name, down=down)
    return searches


_TIMES = re.compile(r"\s*([\d.]+)\s*()[x×]\s*")


_TIME = re.compile(r"\s*([\d.]+(?:e-?\d+)?)\s*(ns|us|µs|ms|s|min)?\s*")


_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


def time_s(text: str, option: str = "--latency", such: str = "20ms or 0.5s") -> float:
    """Parse "20ms" or "0.5s" into seconds. Raises InputError unless it is a positive time with a
    unit."""
    bare = text.strip()[-1:] in "0123456789."
    if bare and _figure(text, _TIME, dict.fromkeys((*_UNITS, None), 1.0)):
        raise InputError(
            f"{option} {text!r} has no unit: expected a time such as {such}; write "
            f"{text.strip()}ms or {text.strip()}s"
        )
    value = _figure(text, _TIME, _UNITS | {None: 0.0})
    if value is None:
        raise InputError(f"{option} {text!r}: expected a time above 0, such as {such}")
    return value


_RATE = re.compile(r"\s*([\d.]+(?:e\+?\d+)?)\s*([kM])?(?:/s|\s*samples/s)?\s*")


def per_s(text: str) -> float:
    """Parse "5000" or "5k" into samples per second. Raises InputError unless it is positive."""
    value = _figure(text, _RATE, {"k": 1e3, "M": 1e6, None: 1.0})
    if value is None:
        raise InputError(
            f"--throughput {text!r}: expected samples per second above 0, such as 5000 or 5k"
        )
    return value


def _figure(text: str, form: re.Pattern[str], units: dict[Any, float]) -> float | None:
    match = form.fullmatch(text)
    try:
        value = float(match[1]) * units[match[2]] if match else 0.0
    except ValueError:
        return None
    return value if 0 < value < inf else None


def _near(axis: str, tried: Mapping[float, Figures]) -> list[tuple[float, Figures]]:
    """The tried points to draw: up to twice the first batch that does not fit; empty for fusion
    levels."""
    most = min((value for value, each in tried.items() if not each.fits), default=inf)
    return sorted((v, f) for v, f in tried.items() if v <= 2 * most and axis != "fusion")


def shown_value(search: Search) -> str:
    """An answer's value as shown: "113", "1.42×"."""
    if search.sought is None:
        return "none"
    value = search.sought.value
    if search.kind == "fusion":
        return LEVELS[int(value)]
    return (
        plain(value)
        if float(value).is_integer() and search.axis in ("batch", "seq")
        else (plain(value) if float(value).is_integer() else f"{number(value)}×")
    )


def run(search: Search, step: Step) -> None:
    """Run the search; store the tried points, and the answer or the reason why there is no
    answer."""

    def watch(tried: Mapping[float, Figures]) -> None:
        search.tried = _near(search.axis, tried)
        step(f"predicting {len(tried):,} points: {search.question}")

    step(search.question)
    try:
        search.sought = search.run(watch)
    except InputError as error:
        search.reason = str(error)
