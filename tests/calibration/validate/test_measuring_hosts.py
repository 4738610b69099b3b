"""The accuracy table says when its rows were measured, and on hosts of which speed."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from calibration.measure.log import read
from calibration.record.read import MEASUREMENTS, measured_on
from calibration.validate.report import PAGE, README
from calibration.validate.table.measuring_hosts import (
    EAGER,
    STEPS,
    Group,
    about_hosts,
    call_files,
    days_in_words,
    groups,
    hosts_in_one_line,
    table_of_hosts,
)
from simulator.hardware.host_speed import Parts


@pytest.fixture(scope="module")
def every() -> list[Group]:
    return groups()


def test_every_file_of_the_table_has_a_date() -> None:
    files = [(gpu, name) for _, gpu, name in STEPS]
    files += [(gpu, name) for gpu in ("h200_sxm", "h100_sxm") for name in call_files(gpu)]
    assert len(files) == 11
    for gpu, name in files:
        assert date(2026, 11, 21) <= measured_on(name, gpu) <= date(2026, 11, 29)


@pytest.mark.parametrize("gpu", ["h200_sxm", "h100_sxm"])
def test_the_dates_agree_with_the_clocks_of_the_processes(gpu: str) -> None:
    days = [
        (datetime.fromtimestamp(process["at_s"], UTC).date(), measured_on(name, gpu))
        for name in call_files(gpu)
        for process in read(MEASUREMENTS / gpu / f"{name}.jsonl.gz").processes
    ]
    assert len(days) == {"h200_sxm": 7, "h100_sxm": 1}[gpu]
    assert all(clock == stated for clock, stated in days)


def test_the_processes_of_each_group(every: list[Group]) -> None:
    assert [(each.rows, each.gpu, each.processes) for each in every] == [
        ("eager, overhead-bound, CUDA graph", "h200_sxm", 1),
        ("compiled", "h200_sxm", 1),
        ("compiled, alternating", "h200_sxm", 4),
        ("sweeps over the batch", "h200_sxm", 1),
        ("steps", "h100_sxm", 1),
        ("single ops", "h200_sxm", 8),
        ("single ops", "h100_sxm", 1),
    ]


def test_the_pages_say_who_measured_them(every: list[Group]) -> None:
    stated = PAGE.read_text("utf-8")
    assert table_of_hosts(every) in stated, "run `ridgepoint validate --write`"
    assert about_hosts(every) in stated, "run `ridgepoint validate --write`"
    assert hosts_in_one_line(every) in README.read_text("utf-8")


def test_the_text_names_a_section_and_a_page_that_exist(every: list[Group]) -> None:
    named = "docs/accuracy.md, under “Blind sets”, and in docs/accuracy/host.md."
    assert named in " ".join(about_hosts(every).split())
    assert "\n## Blind sets\n" in PAGE.read_text("utf-8")
    assert (PAGE.parent / "accuracy" / "host.md").is_file()


def test_a_group_as_a_row() -> None:
    day, later = date(2026, 11, 21), date(2026, 12, 3)
    quiet, slow = Parts(0.73, 0.726, 0.726), Parts(1.5, 1.25, 1.25)
    calls = Group("calls", "h100_sxm", (later, day), (quiet, slow), (), 1)
    rounds = Group("rounds", "h200_sxm", (day,), (slow,), (1.4,))
    assert table_of_hosts([calls, rounds]).splitlines()[2:] == [
        "| calls | H100 | 21 November 2026 to 3 December 2026 | 3 "
        "| 0.73 / 0.73, 1.25 / 1.50; not timed in 1 of them |",
        "| rounds | H200 | 21 November 2026 | 1 | 1.25 / 1.50; ops between the rounds: 1.40 |",
    ]
    assert days_in_words([date(2026, 11, 29), day]) == "21 to 29 November 2026"


def test_the_text_names_the_host_of_the_overhead_bound_row() -> None:
    host = Parts(0.8, 0.744, 0.744)  # half of the default's 1.49
    group = Group(EAGER, "h200_sxm", (date(2026, 11, 21),), (host,))
    text = " ".join(about_hosts([group]).split())
    assert "The default host has 1.49 / 1.58." in text
    assert (
        "So the row “overhead-bound, eager” is for one host, with the index 0.74 / 0.80, on which "
        "ops take 0.50 times as long as on the default host."
    ) in text
    line = " ".join(hosts_in_one_line([group]).split())
    assert line.startswith(
        "Measured on 21 November 2026 in 1 processes on rented machines. Their hosts took 0.74 to "
        "0.74 times as long as the reference for ops and 0.80 to 0.80 times for Python; the "
        "default host takes 1.49 / 1.58."
    )
