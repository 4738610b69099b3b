"""The table of the hosts, and the figures of one host with their sources."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text

from app.quantities import number, seconds
from app.report.tables import numbers, table, words
from app.terminal import Terminal
from simulator.hardware.host import COUNTS, DEFAULT, Host, host, hosts
from simulator.hardware.host_catalogue import catalogue, figure, unrecorded

_TRAINING = (
    "measured over predicted time of training steps, relative to inference steps of the same "
    "process, for hosts not timed in a process that trains (docs/accuracy/host.md)"
)
_MEASURED_SPREAD = (
    "the spread of the measured hosts, with the errors of the model (docs/accuracy/host.md)"
)
_OWN_SPREAD = "variation of one host over seconds, with the errors of the model"
_DERIVED_SPREAD = (
    "set wide, because the rating leaves out caches, memory, the hypervisor and other processes on "
    "the same core"
)
_SLOWEST = "the slowest of independent draws of measured processes (docs/several-gpus.md)"


class _Row(NamedTuple):
    """A figure of a host; `times` is its ratio to that of the default host."""

    figure: str
    value: str
    source: str | None
    times: float | None = None


def all_hosts() -> None:
    """Print every host as a row relative to the default host, then the costs of the default
    host."""
    default = host()
    rows = table()
    words(rows, "host")
    numbers(rows, "an op", "times", "80%")
    words(rows, "")
    rows.add_column("processor")
    for name in hosts():
        row = host(name)
        rows.add_row(
            row.id,
            seconds(_op_s(row)),
            number(row.seconds["op"] / default.seconds["op"], 2),
            _range(row.spread),
            "measured" if row.measured else "derived",
            row.cpu,
        )
    console = Terminal(highlight=False)
    console.print(rows)
    console.print(
        "an op: host time to launch one op; times: relative to the default host, the first row; "
        "80%: interval\nof host-bound steps, as a factor of the prediction. Measured: timed on a "
        f"machine of this kind; derived:\nfrom {figure()}{_exceptions()}.\n"
        "`ridgepoint hosts NAME` shows all figures of a host with their sources.\n"
        "Your own host: `ridgepoint calibrate measure --host-only FOLDER`, `calibrate "
        "fit FOLDER`, `--host FOLDER/host.json`.\n",
        style="dim",
    )
    console.print(Text(default.id, "bold"), Text(default.cpu))
    console.print(Text(default.source, "dim"))
    costs = table()
    words(costs, "cost of one")
    numbers(costs, "time")
    for row in _costs(default):
        costs.add_row(row.figure, row.value)
    console.print(costs)


def _exceptions() -> str:
    """The derived hosts whose processor has no public figure."""
    names = [name for name, entry in catalogue().items() if entry.estimated]
    return f", or an estimate of it ({', '.join(names)})" if names else ""


def _op_s(host: Host) -> float:
    """Seconds to issue an op with its launch."""
    return host.seconds["op"] + host.launch_s


def _range(spread: tuple[float, float]) -> str:
    low, high = spread
    return f"{low:g}–{high:g}"


def one_host(name: str) -> None:
    """Print all figures of a host, each with its source."""
    shown = host(name)
    entry = None if shown.measured else catalogue().get(shown.id)
    rows = [*_costs(shown), *_intervals(shown)]
    if entry:
        rating = "rating, estimated" if entry.estimated else "rating"
        rows.insert(0, _Row(rating, f"{entry.single_thread:,.0f}", shown.source))
    sources = list(dict.fromkeys(row.source for row in rows if row.source))
    relative = shown is not host()
    figures = table()
    words(figures, "figure")
    numbers(figures, "value", *["times"] * relative)
    words(figures, "source")
    for row in rows:
        cited = f"[{sources.index(row.source) + 1}]" if row.source else "none"
        times = "" if row.times is None else number(row.times, 3)
        figures.add_row(
            row.figure, row.value, *[times] * relative, Text(cited, "" if row.source else "yellow")
        )
    console = Terminal(highlight=False)
    console.print(Text(shown.cpu, "bold"), Text(f"({shown.id})", "dim"))
    facts = [entry.kind] if entry else []
    facts.append("measured" if shown.measured else "derived, not measured")
    console.print(", ".join([*facts, *["the default host"] * (not relative)]), style="dim")
    console.print(figures)
    for index, source in enumerate(sources, 1):
        console.print(Text(f"[{index}] {source}", "dim"))
    if entry:
        console.print(f"Not recorded: {unrecorded(shown.id)}.")
    times = f"times: relative to {DEFAULT}, the default host; " if relative else ""
    console.print(
        f"{times}80% interval: of host-bound steps, as a factor of the prediction.", style="dim"
    )


def _costs(shown: Host) -> list[_Row]:
    """The seconds of each kind of work, and of a launch. The driver's time of a launch is not
    fitted on the default host; the GPU's part of a launch and of a sync has no source."""
    default = host()

    def row(name: str, own_s: float, default_s: float, source: str | None) -> _Row:
        return _Row(name, seconds(own_s), source, own_s / default_s if default_s else None)

    unfitted = ("launch",) if shown is default else ()
    return [
        *(
            row(
                name.replace("_", " "),
                shown.seconds[name],
                default.seconds[name],
                None if name in unfitted else shown.source,
            )
            for name in COUNTS
        ),
        row("launch to start", shown.latency_s, default.latency_s, None),
        row("resume after a sync", shown.sync_s, default.sync_s, None),
    ]


def _intervals(shown: Host) -> list[_Row]:
    """The length of the launch queue, the factor of a training step, and the intervals."""
    spread = _DERIVED_SPREAD
    if shown.measured:
        spread = _MEASURED_SPREAD if shown.id in hosts() else _OWN_SPREAD
    return [
        _Row("launches in the queue", f"{shown.depth:,}", None),
        _Row("times in training", f"{shown.training:g}", _TRAINING),
        _Row("80% interval", _range(shown.spread), spread),
        *(
            _Row(f"80% interval with {gpu}", _range(ends), spread)
            for gpu, ends in shown.spread_with.items()
        ),
        *(
            _Row(f"slowest of {ranks} ranks", f"{times:g} ({_range((low, high))})", _SLOWEST)
            for ranks, (times, low, high) in shown.slowest.items()
        ),
    ]
