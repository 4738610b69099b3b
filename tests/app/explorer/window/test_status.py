"""The status bar names long work until it ends."""

import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from app.explorer.background.worker import SLOW
from app.explorer.files import exporting
from app.explorer.window.window import Window
from app.time_left import running
from tests.app.explorer.files.settling import until
from tests.app.explorer.waiting import wait


def elapsed_s(text: str) -> int | None:
    """The seconds that a text gives for the job "Slow"; None for another text."""
    named = re.fullmatch(r"Computing Slow, (\d+) s \(Esc cancels\)", text)
    return int(named[1]) if named else None


def test_a_long_job_of_a_view_is_named_with_its_seconds(window: Window):
    activity, ended = window.status.activity, threading.Event()
    assert activity.text().startswith("Simulated in ")
    window.worker.ask("view Slow", lambda _: ended.wait(20), lambda _: None, lane=SLOW)
    assert activity.text().startswith("Simulated in ")  # the job may end soon
    until(lambda: elapsed_s(activity.text()) is not None)
    first_s = elapsed_s(activity.text())
    assert first_s is not None
    until(lambda: (elapsed_s(activity.text()) or 0) > first_s)
    ended.set()
    wait(window.worker)
    until(lambda: activity.text().startswith("Simulated in "))


def test_a_message_is_not_replaced_when_work_ends(window: Window):
    window.status.say("Copied the command line")
    window.worker.ask("view Short", lambda _: None, lambda _: None, lane=SLOW)
    wait(window.worker)
    assert window.status.activity.text() == "Copied the command line"


def test_a_message_ends_with_the_time_of_the_simulation(window: Window):
    """Regression: after a file that cannot be opened, the bar began with an empty label."""
    window.status.say("Reading odd.json (Esc cancels)")
    window.status.say("")
    assert window.status.activity.text().startswith("Simulated in ")


def test_pages_with_their_own_question_hide_the_counts_of_the_scenario(window: Window):
    """Regression: next to a plan of five GPUs, the bar showed "474 ops, 180 kernels" of the
    scenario in Explore."""
    status = window.status
    wait(window.worker)
    window.session.show("Lessons")
    wait(window.worker)
    shown = [each.isVisible() for each in (status.counted, status.sources)]
    assert shown == [False, False] and status.activity.text() == ""
    window.session.show("Explore")
    wait(window.worker)
    assert status.counted.isVisible() and status.sources.isVisible()
    assert status.activity.text().startswith("Simulated in ")


def test_a_counted_job_shows_its_count_the_time_left_and_cancel(window: Window):
    status, began, ended = window.status, threading.Event(), threading.Event()
    assert not status.stop.isVisible()
    now_s = 0.0

    def run(cancelled: Callable[[], bool]) -> None:
        report = running()
        report.left.clock = lambda: now_s
        report.count(0, 40, "points")
        began.set()
        ended.wait(20)

    window.worker.ask("view Slow", run, lambda _: None, lane=SLOW)
    until(began.is_set)
    until(lambda: status.activity.text() == "Computing Slow, 0 of 40 points (Esc cancels)")
    assert status.stop.isVisible()
    assert not status.bar.isVisible()
    report = window.worker.jobs["view Slow"].report
    for done in (5, 10, 15, 20):
        now_s += 1.0
        report.count(done, 40, "points")
    # 20 points took 4 steps of 1 s, and 4 steps are missing
    text = "Computing Slow, 20 of 40 points, about 4 s left (Esc cancels)"
    until(lambda: status.activity.text() == text)
    assert status.bar.value() == 50
    status.stop.click()
    assert status.activity.text() == "Cancelled"
    assert not window.worker.busy()
    ended.set()
    until(lambda: not status.stop.isVisible())


def test_the_progress_of_a_long_activity_fits_into_a_small_window(window: Window):
    status, ended = window.status, threading.Event()
    before = window.size()
    window.resize(980, 700)

    def run(cancelled: Callable[[], bool]) -> None:
        report = running()
        for done in (100_000, 200_000):
            report.count(done, 1_000_000, "points")
        ended.wait(20)

    window.worker.ask("view Combinations", run, lambda _: None, lane=SLOW)
    until(status.bar.isVisible)
    until(lambda: status.activity.width() > 300)
    assert window.width() == 980
    bar = status.rect()
    for widget in (status.activity, status.bar, status.stop, status.sources):
        assert bar.contains(widget.geometry()), widget
    words = status.activity.fontMetrics().horizontalAdvance(status.activity.text())
    assert status.activity.width() >= words
    assert not status.counted.isVisible()
    ended.set()
    wait(window.worker)
    until(status.counted.isVisible)
    window.resize(before)


def test_an_export_runs_in_the_background_is_named_and_can_be_cancelled(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Regression: the window froze for the 0.3 to 3 s that a report takes."""
    status, ended, path = window.status, threading.Event(), tmp_path / "report.html"
    monkeypatch.setattr(exporting, "ask_where", lambda *_: path)

    def slow(_: object, cancelled: Callable[[], bool]) -> str:
        running().count(3, 400, "points")
        while not cancelled() and not ended.wait(0.01):
            pass
        return "<html>"

    form = exporting.Form("Report", ".html", slow)
    window.export(form)
    until(lambda: status.stop.isVisible())
    assert status.activity.text() == "Computing the report, 3 of 400 points (Esc cancels)"
    status.stop.click()
    wait(window.worker)
    assert not path.exists() and not status.stop.isVisible()
    window.export(form)
    ended.set()
    wait(window.worker)
    assert path.read_text("utf-8") == "<html>"


def test_an_export_that_cannot_be_written_says_why(
    window: Window, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = tmp_path / "gone" / "report.html"
    monkeypatch.setattr(exporting, "ask_where", lambda *_: path)
    window.export(exporting.Form("Report", ".html", lambda *_: ""))
    wait(window.worker)
    assert re.search(r"Export report .*gone.*: cannot write: No such", window.banner.label.text())
