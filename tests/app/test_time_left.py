"""The estimate of the time left, with a clock that the test moves."""

import pytest

from app.time_left import RUNNING, Running, TimeLeft, running


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s

    def after(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock():
    return Clock()


def test_the_pace_since_the_first_count_gives_the_time_left(clock: Clock):
    left = TimeLeft(clock)
    for done in range(5):
        left.count(done, 10)
        clock.after(2)
    # 4 steps in 8 s; 6 are missing, at 2 s each, and 2 s of that have passed
    assert left.seconds() == pytest.approx(6 * 2 - 2)
    assert left.words() == "about 10 s left"


def test_there_is_no_estimate_before_three_steps_a_twentieth_and_half_a_second(clock: Clock):
    left = TimeLeft(clock)
    assert left.words() == ""
    left.count(0, 100)
    for done in range(1, 5):
        clock.after(1)
        left.count(done, 100)
        assert left.words() == "", done
    clock.after(1)
    left.count(5, 100)
    assert left.words() == "about 2 min left"  # 95 steps of 1 s

    few = TimeLeft(clock)
    few.count(0, 4)
    for done in (1, 2):
        clock.after(1)
        few.count(done, 4)
        assert few.words() == ""
    clock.after(1)
    few.count(3, 4)
    assert few.words() == "about 1 s left"

    fast = TimeLeft(clock)
    for done in (0, 100, 200, 300):
        fast.count(done, 1000)
        assert fast.words() == ""
        clock.after(0.1)


def test_a_first_step_that_took_long_does_not_count(clock: Clock):
    left = TimeLeft(clock)
    clock.after(60)  # the network was traced
    for done in (1, 2, 3, 4):
        left.count(done, 8)
        clock.after(1)
    assert left.seconds() == pytest.approx(4 - 1)


def test_a_slow_step_slows_the_estimate_instead_of_running_out(clock: Clock):
    left = TimeLeft(clock)
    for done in range(4):
        left.count(done, 6)
        clock.after(1)
    assert left.seconds() == pytest.approx(2)  # 3 are missing, and at least half of one has passed
    clock.after(5)
    assert left.seconds() == pytest.approx((3 + 6) / 4 * 2)


def test_no_estimate_is_shown_at_the_end_and_a_new_stage_starts_anew(clock: Clock):
    left = TimeLeft(clock)
    for done in range(9):
        left.count(done, 8)
        clock.after(1)
    assert left.words() == ""
    left.count(1, 20)
    clock.after(1)
    left.count(2, 20)
    assert left.words() == ""  # one step of the new stage


@pytest.mark.parametrize(
    "seconds, text",
    [
        (0.2, "about 1 s left"),
        (3.6, "about 4 s left"),
        (12, "about 10 s left"),
        (57, "about 55 s left"),
        (58, "about 1 min left"),
        (200, "about 3 min left"),
        (5400, "about 1.5 h left"),
    ],
)
def test_estimates_are_rounded(clock: Clock, seconds: float, text: str):
    left = TimeLeft(clock)
    for done in (0, 5, 10, 15):
        left.count(done, 30)
        clock.after(seconds / 3 if done < 15 else 0)  # then the same time again
    if seconds >= 0.5:
        assert left.words() == text
    else:
        assert left.words() == ""


def test_texts_with_a_count_are_followed_by_the_estimate(clock: Clock):
    left = TimeLeft(clock)
    texts: list[str] = []
    for done in range(0, 2001, 500):
        texts.append(left.with_text(f"planned {done:,} of 2,500; best H200"))
        clock.after(3)
    assert texts[:3] == [f"planned {n} of 2,500; best H200" for n in ("0", "500", "1,000")]
    assert texts[3:] == [
        "planned 1,500 of 2,500; best H200, about 6 s left",
        "planned 2,000 of 2,500; best H200, about 3 s left",
    ]
    assert left.with_text("varying the assumptions") == "varying the assumptions"
    assert left.with_text("planned 1 of 2,500") == "planned 1 of 2,500"


def test_a_report_counts_items(clock: Clock):
    report = Running(TimeLeft(clock))
    assert report.text == ""
    for done in range(0, 1200, 300):
        report.count(done, 1800, "points")
        clock.after(4)
    # 3 steps of 4 s, one of which has passed
    assert report.text == "900 of 1,800 points, about 8 s left"


def test_a_thread_without_a_job_has_a_report_that_nobody_reads():
    running().count(1, 2, "points")
    report = Running()
    token = RUNNING.set(report)
    running().count(1, 2, "points")
    RUNNING.reset(token)
    assert report.text == "1 of 2 points"
    assert running() is not report
