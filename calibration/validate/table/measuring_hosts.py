"""When the steps and calls of the accuracy table were measured, and how fast the hosts were."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby
from textwrap import fill
from typing import NamedTuple

import numpy as np

from calibration.measure.instruments.host_index import REFERENCE
from calibration.measure.log import read
from calibration.record.host_rounds import reference_index
from calibration.record.library_samples import FILES
from calibration.record.read import MEASUREMENTS, host_indexes, measured_on, timed
from calibration.validate.crossing import NAMES
from simulator.hardware.host import host as find_host
from simulator.hardware.host_speed import ON_CPU_MARK, Parts, parts


class Group(NamedTuple):
    """Files of one GPU that rows of the table compare with predictions. `days` and `hosts` have the
    day of each file and the speed of each process, relative to the reference of
    `calibration.record.host_rounds`. A file that times only GPUs has no host. `during` has the time
    of ops between the rounds of each process, if it timed rounds."""

    rows: str
    gpu: str
    days: tuple[date, ...]
    hosts: tuple[Parts, ...]
    during: tuple[float, ...] = ()
    without_host: int = 0

    @property
    def processes(self) -> int:
        """The number of processes that measured the group."""
        return len(self.hosts) + self.without_host


EAGER = "eager, overhead-bound, CUDA graph"
"""The group of all eager steps."""
STEPS = (
    (EAGER, "h200_sxm", "validation"),
    ("compiled", "h200_sxm", "compiled_validation"),
    ("compiled, alternating", "h200_sxm", "compiled_rounds"),
    ("sweeps over the batch", "h200_sxm", "batches"),
    ("steps", "h100_sxm", "validation"),
)
"""Rows of steps, with the GPU and the file that they are compared with."""
PAGE_WIDTH = 100
"""Characters of a line in the pages."""


def groups() -> list[Group]:
    """The groups of the table: steps of each file, and single ops of each GPU."""
    return [*(_steps(*each) for each in STEPS), *(_calls(gpu) for gpu in ("h200_sxm", "h100_sxm"))]


def call_files(gpu: str) -> list[str]:
    """The files of single calls on a GPU."""
    return [name for name in FILES if (MEASUREMENTS / gpu / f"{name}.jsonl.gz").is_file()]


def _steps(rows: str, gpu: str, suite: str) -> Group:
    reference = reference_index()
    hosts = tuple(parts(each, reference) for each in host_indexes(suite, gpu))
    work = [(step.host_index, [round_[0] for round_ in step.rounds]) for step in timed(suite, gpu)]
    during: list[float] = []
    for _, steps in groupby(work, key=lambda each: each[0]):
        seconds = [second for _, rounds in steps for second in rounds]
        if seconds:
            during.append(float(np.mean(seconds)) / reference[REFERENCE.name + ON_CPU_MARK])
    return Group(rows, gpu, (measured_on(suite, gpu),), hosts, tuple(during))


def _calls(gpu: str) -> Group:
    reference = reference_index()
    hosts: list[Parts] = []
    without_host = 0
    for name in call_files(gpu):
        processes = read(MEASUREMENTS / gpu / f"{name}.jsonl.gz").processes
        hosts += [parts(process["host_index"], reference) for process in processes]
        without_host += not processes
    days = tuple(measured_on(name, gpu) for name in call_files(gpu))
    return Group("single ops", gpu, days, tuple(hosts), without_host=without_host)


def table_of_hosts(every: Iterable[Group]) -> str:
    """A Markdown table with a row for each group."""
    head = ("rows", "GPU", "measured on", "processes", "host index of each, ops / Python")
    cells = [
        (
            each.rows,
            NAMES[each.gpu],
            days_in_words(each.days),
            str(each.processes),
            _indexes(each),
        )
        for each in every
    ]
    rule = "|" + "---|" * len(head)
    lines = [f"| {' | '.join(row)} |" for row in (head, *cells)]
    return "\n".join((lines[0], rule, *lines[1:]))


def _indexes(group: Group) -> str:
    """The host index of each process, and what it was in the rounds of each."""
    words = ", ".join(map(_pair, group.hosts))
    if group.without_host:
        words += f"; not timed in {group.without_host} of them"
    if group.during:
        words += "; ops between the rounds: " + ", ".join(f"{each:.2f}" for each in group.during)
    return words


def days_in_words(days: Sequence[date]) -> str:
    """A day, or the first and the last of several."""
    first, last = min(days), max(days)
    if first == last:
        return _day(first)
    begin = f"{first.day}" if (first.year, first.month) == (last.year, last.month) else _day(first)
    return f"{begin} to {_day(last)}"


def _day(day: date) -> str:
    return f"{day.day} {day:%B %Y}"


def about_hosts(every: Sequence[Group]) -> str:
    """What a host index is, and which hosts the table's predictions assume."""
    default = _default()
    (measured,) = next(each for each in every if each.rows == EAGER).hosts
    return "\n\n".join(
        fill(text, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)
        for text in (
            "A host index is the time of fixed steps on a host, divided by that on the reference, "
            "the host of an H200 (`python -m calibration.fit.hosts_seen` lists other processes on "
            f"the same scale). The default host has {_pair(default)}. Each process ran on a rented "
            "machine. The files do not name machines, so two processes may have used the same one.",
            "Eager and compiled periods, latencies and speed-ups are predicted for a host as fast "
            "as the one that measured them, not for the default host. So the row “overhead-bound, "
            f"eager” is for one host, with the index {_pair(measured)}, on which ops take "
            f"{measured.driver / default.driver:.2f} times as long as on the default host. Errors "
            "with the default host are in docs/accuracy.md, under “Blind sets”, and in "
            "docs/accuracy/host.md.",
        )
    )


def hosts_in_one_line(every: Sequence[Group]) -> str:
    """Dates, number of processes and range of host indexes, for the README."""
    hosts = [host for each in every for host in each.hosts]
    ops = [host.driver for host in hosts]
    python = [host.interpreter for host in hosts]
    days = [day for each in every for day in each.days]
    text = (
        f"Measured on {days_in_words(days)} in {sum(each.processes for each in every)} processes "
        f"on rented machines. Their hosts took {min(ops):.2f} to {max(ops):.2f} times as long as "
        f"the reference for ops and {min(python):.2f} to {max(python):.2f} times for Python; the "
        f"default host takes {_pair(_default())}. Eager and compiled steps are predicted for the "
        "host that measured them."
    )
    return fill(text, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)


def _default() -> Parts:
    return parts(find_host().reference, reference_index())


def _pair(host: Parts) -> str:
    return f"{host.driver:.2f} / {host.interpreter:.2f}"
