"""`ridgepoint seek`: the batch, the rate, or the fusion at which a scenario does what is wanted."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.commands.options import Question, SaveScenario, Written, expanded
from simulator.errors import InputError

if TYPE_CHECKING:
    from app.progress import Step
    from simulator.analysis.along import Figures, Watch
    from simulator.analysis.seek import Sought
    from simulator.scenario.scenario import Scenario

FORMAT, VERSION = "ridgepoint-seek", 1


@dataclass
class Search:
    """One goal: its question, what was tried on the way ((value, figures) each), and the answer,
    or the reason why there is none. `wanted` is the goal's figure, in SI units."""

    kind: str
    question: str
    axis: str
    wanted: float | None
    run: Callable[[Watch], Sought]
    tried: list[tuple[float, Figures]] = field(default_factory=list)
    sought: Sought | None = None
    reason: str = ""

    @property
    def retraced(self) -> str:
        """At which values the search took traces that no family spared, and why; or ""."""
        from app.commands.sweep import retraced_at

        return retraced_at(self.axis, self.sought.traced) if self.sought else ""


@expanded
def seek(
    asked: Question,
    written: Written,
    fits: Annotated[bool, typer.Option("--fits", help="The largest batch that fits.")] = False,
    out_of_overhead: Annotated[
        bool, typer.Option("--out-of-overhead", help="The smallest batch not ruled by overhead.")
    ] = False,
    latency: Annotated[
        str | None, typer.Option(metavar="TIME", help="The largest batch within it: 20ms, 0.5s.")
    ] = None,
    throughput: Annotated[
        str | None, typer.Option(metavar="RATE", help="The smallest batch for it, in samples/s.")
    ] = None,
    fusion: Annotated[
        str | None,
        typer.Option(metavar="TIME|FACTORx", help="The least fusion for a step within it (5ms), or "
                     "that many times as fast as none (1.5x)."),
    ] = None,
    flip: Annotated[
        list[str] | None,
        typer.Option(metavar="AXIS", help="Where the regime flips along bandwidth, tensor_peak, "
                     "host_speed, batch …"),
    ] = None,
    down: Annotated[bool, typer.Option("--down", help="Seek flips below, not above.")] = False,
    save_scenario: SaveScenario = None,
) -> None:  # fmt: skip
    """The batch that fits, leaves overhead or meets a goal; the rate that flips the regime."""
    from app import outputs, progress
    from app.answers.figures import title
    from app.answers.subject import subject
    from simulator.scenario.scenario import predict

    written.check(save_scenario=save_scenario)
    scenario = asked.scenario
    searches = searches_of(scenario, fits, out_of_overhead, latency, throughput, flip, down, fusion)
    if save_scenario and len(searches) != 1:
        raise InputError(
            f"--save-scenario with {len(searches)} goals: expected one, whose answer is kept; ask "
            "for one"
        )
    with progress.shown() as step:
        found = subject(scenario, step)
        base = predict(scenario)
        for search in searches:
            _run(search, step)
    if len(searches) == 1 and searches[0].sought is None:
        raise InputError(searches[0].reason)
    heading = title(base, found)
    if written.json:
        from app.report.exports import json_text

        outputs.write("--json", written.json, json_text(document(searches, heading)))
    if written.csv:
        from app.report.exports import csv_text

        rows = [entry(search) for search in searches]
        outputs.write("--csv", written.csv, csv_text(list(rows[0]), rows))
    if written.png or written.svg:
        from app.plots.seek import SeekPicture
        from app.widgets.drawing import draw

        draw(written, lambda theme: SeekPicture(theme, searches, heading, base))
    if searches[0].sought:
        from app.commands.predict import write_scenario

        write_scenario(save_scenario, searches[0].sought.scenario)
    if written.printed and save_scenario != outputs.STDOUT:
        _show(searches, heading)


def searches_of(
    scenario: Scenario, fits: bool, out_of_overhead: bool, latency: str | None,
    throughput: str | None, flip: list[str] | None, down: bool,
    fusion: str | None = None,
) -> list[Search]:  # fmt: skip
    """The goals of a command line; without one, those that need no figure."""
    from app.quantities import count_of, seconds
    from simulator.analysis import seek as seeking
    from simulator.analysis.sweep import axis as axis_of

    found: list[Search] = []
    asked_none = not (fits or out_of_overhead or latency or throughput or flip or fusion)

    def add(kind: str, question: str, wanted: float | None, run: Callable[..., Sought],
            *goal: float, axis: str = "batch", **more: Any) -> None:  # fmt: skip
        seek = partial(run, scenario, *goal, **more)
        found.append(Search(kind, question, axis, wanted, lambda watch: seek(watch=watch)))

    if fits or asked_none:
        add("fits", "Largest batch that fits", None, seeking.largest_batch)
    if out_of_overhead or asked_none:
        add("overhead", "Smallest batch out of overhead", None, seeking.batch_out_of_overhead)
    if latency:
        limit = time_s(latency)
        question = f"Largest batch within {seconds(limit)}"
        add("latency", question, limit, seeking.batch_for_latency, limit)
    if throughput:
        rate = per_s(throughput)
        question = f"Smallest batch for {count_of(rate, 'samples/s')}"
        add("throughput", question, rate, seeking.batch_for_throughput, rate)
    if fusion and (times := _figure(fusion, _TIMES, {"": 1.0})):
        run = seeking.fusion_for_speedup
        add("fusion", f"Least fusion for {times:g}×", times, run, times, axis="fusion")
    elif fusion:
        limit = time_s(fusion, "--fusion", "20ms, or a factor such as 1.5x")
        run = seeking.fusion_for_time
        add("fusion", f"Least fusion within {seconds(limit)}", limit, run, limit, axis="fusion")
    for name in flip or (["bandwidth", "host_speed"] if asked_none else []):
        name = name.removeprefix("+").replace("-", "_")
        axis_of(scenario, name)  # a mistyped name is answered before anything slow
        question = f"Regime flips along {name}{' (downwards)' if down else ''}"
        add("flip", question, None, seeking.flip, axis=name, along=name, down=down)
    return found


_TIMES = re.compile(r"\s*([\d.]+)\s*()[x×]\s*")
_TIME = re.compile(r"\s*([\d.]+(?:e-?\d+)?)\s*(ns|us|µs|ms|s|min)?\s*")
_UNITS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0}


def time_s(text: str, option: str = "--latency", such: str = "20ms or 0.5s") -> float:
    """Seconds of "20ms" or "0.5s"; InputError for what is no time above 0, or has no unit."""
    if (
        _figure(text, _TIME, dict.fromkeys((*_UNITS, None), 1.0))
        and text.strip()[-1] in "0123456789."
    ):
        raise InputError(f"{option} {text!r} has no unit: expected a time such as {such}; write "
                         f"{text.strip()}ms or {text.strip()}s")  # fmt: skip
    value = _figure(text, _TIME, _UNITS | {None: 0.0})
    if value is None:
        raise InputError(f"{option} {text!r}: expected a time above 0, such as {such}")
    return value


_RATE = re.compile(r"\s*([\d.]+(?:e\+?\d+)?)\s*([kM])?(?:/s|\s*samples/s)?\s*")


def per_s(text: str) -> float:
    """Samples a second of "5000", "5k"; InputError for what is no rate above 0."""
    value = _figure(text, _RATE, {"k": 1e3, "M": 1e6, None: 1.0})
    if value is None:
        raise InputError(
            f"--throughput {text!r}: expected samples a second above 0, such as 5000 or 5k"
        )
    return value


def _figure(text: str, form: re.Pattern[str], units: dict[Any, float]) -> float | None:
    found = form.fullmatch(text)
    try:
        value = float(found[1]) * units[found[2]] if found else 0.0
    except ValueError:
        return None
    return value if 0 < value < inf else None


def _run(search: Search, step: Step) -> None:
    """Seek, and keep what was tried. A goal without an answer keeps the reason."""

    def watch(tried: Mapping[float, Figures]) -> None:
        search.tried = _near(search.axis, tried)
        step(f"predicting {len(tried):,} points: {search.question}")

    step(search.question)
    try:
        search.sought = search.run(watch)
    except InputError as error:
        search.reason = str(error)


def _near(axis: str, tried: Mapping[float, Figures]) -> list[tuple[float, Figures]]:
    """What to show of what was tried: a little beyond what fits, and no levels of fusion."""
    most = min((value for value, each in tried.items() if not each.fits), default=inf)
    return sorted((v, f) for v, f in tried.items() if v <= 2 * most and axis != "fusion")


def entry(search: Search) -> dict[str, Any]:
    """A goal and its answer, flat."""
    sought = search.sought
    p = sought.prediction if sought else None
    low, high = p.interval_s if p else (None, None)
    return {
        "goal": search.kind, "question": search.question, "axis": search.axis,
        "wanted": search.wanted, "value": sought and sought.value,
        "beyond": sought and sought.beyond, "sentence": sought.sentence if sought else None,
        "period_s": p and p.period_s, "low_s": low, "high_s": high,
        "latency_s": p and p.latency_s, "regime": p and p.regime,
        "memory_bytes": p and p.peak_memory_bytes + p.workspace_bytes,
        "fits": p and p.fits, "reason": search.reason or None,
        "retraced": search.retraced or None,
        "retraced_at": sorted(sought.traced) if sought else [],
    }  # fmt: skip


def document(searches: list[Search], heading: str) -> dict[str, Any]:
    """The answers as data, each with the command that predicts it."""
    from simulator.analysis.advice import command

    rows: list[dict[str, Any]] = []
    for search in searches:
        applied = command(search.sought.scenario) if search.sought else None
        rows.append({**entry(search), "command": applied})
    return {"format": FORMAT, "version": VERSION, "title": heading, "answers": rows}


def shown_value(search: Search) -> str:
    """An answer's value as people write it: "113", "1.42×"."""
    from app.quantities import number, plain

    if search.sought is None:
        return "none"
    value = search.sought.value
    if search.kind == "fusion":
        from simulator.fusion import LEVELS

        return LEVELS[int(value)]
    return plain(value) if float(value).is_integer() and search.axis in ("batch", "seq") else (
        plain(value) if float(value).is_integer() else f"{number(value)}×")  # fmt: skip


def _show(searches: list[Search], heading: str) -> None:
    from rich.text import Text

    from app.quantities import between, seconds
    from app.report.tables import numbers, regime_text, table, words
    from app.terminal import Terminal

    console = Terminal(highlight=False)
    width = min(console.width, 120)
    console.print()
    console.print(Text(heading, "bold"), width=width)
    console.print()
    shown = table()
    words(shown, "goal")
    numbers(shown, "answer", "step there", "80%")
    words(shown, "bound by")
    for search in searches:
        if search.sought is None:
            shown.add_row(search.question, Text("none", "yellow"), "", "", "")
            continue
        p = search.sought.prediction
        shown.add_row(
            search.question, Text(shown_value(search), "bold"), seconds(p.period_s),
            between(*p.interval_s, p.period_s), regime_text(p.regime),
        )  # fmt: skip
    console.print(shown, width=width)
    console.print()
    for search in searches:
        if search.sought:
            line = f"{search.question}: {search.sought.sentence}"
            if search.retraced:
                line += f"; {search.retraced}"
            console.print(Text(line, "dim"), width=width)
        else:
            line = Text(f"{search.question}: ").append(search.reason, "yellow")
            console.print(line, width=width)
    if any(search.sought for search in searches):
        console.print("each answer was predicted again, and holds", style="dim")
