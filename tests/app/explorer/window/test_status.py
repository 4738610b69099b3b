"""The status bar names work that takes long, until it ends."""

import threading

from app.explorer.background.worker import SLOW
from app.explorer.window.window import Window
from tests.app.explorer.files.settling import until
from tests.app.explorer.waiting import wait


def test_a_long_job_of_a_view_is_named_with_its_seconds(window: Window):
    activity, ended = window.status.activity, threading.Event()
    assert activity.text().startswith("Simulated in ")
    window.worker.ask("view Slow", lambda _: ended.wait(20), lambda _: None, lane=SLOW)
    assert activity.text().startswith("Simulated in ")  # it may end soon
    until(lambda: activity.text() == "Computing Slow, 0 s (Esc cancels)")
    until(lambda: activity.text() == "Computing Slow, 1 s (Esc cancels)")
    ended.set()
    wait(window.worker)
    until(lambda: activity.text().startswith("Simulated in "))


def test_a_message_is_not_replaced_when_work_ends(window: Window):
    window.status.say("Copied the command line")
    window.worker.ask("view Short", lambda _: None, lambda _: None, lane=SLOW)
    wait(window.worker)
    assert window.status.activity.text() == "Copied the command line"
