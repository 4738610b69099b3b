"""The accuracy that the README states is the accuracy that is measured."""

from __future__ import annotations

import pytest

from calibration.fidelity import retrace
from calibration.recordings import Recording, recordings
from calibration.validation import README, Outcome, interval, outcomes, put, summary, table

NAMES = [r.name for r in recordings("validation")]


def test_the_table_stands_between_the_marks() -> None:
    text = "a\n<!-- accuracy -->\nold\n<!-- /accuracy -->\nb\n"
    assert put(text, "new") == "a\n<!-- accuracy -->\nnew\n<!-- /accuracy -->\nb\n"


def test_summary_by_hand() -> None:
    ratios = (0.9, 1.0, 1.2)
    found = [Outcome(str(r), "g", "period", r, covered=r < 1.1) for r in ratios]
    ((group, figure, cases, median, worst, lean, covered),) = summary(found)
    # errors 0, 0.1 and 0.2: the median is 0.1, the 90th percentile 0.1 + 0.8·0.1
    assert (group, figure, cases) == ("g", "period", 3)
    assert (median, worst, lean) == pytest.approx((0.1, 0.18, 0.0))
    assert covered == pytest.approx(2 / 3)


def test_interval_is_of_measured_over_predicted() -> None:
    found = [Outcome("", "", "period", r) for r in (0.5, 1.0, 2.0)]
    # 0.5, 1 and 2: the 10th percentile is 0.5 + 0.2·0.5, the 90th 1 + 0.8·1
    assert interval(found) == (0.6, 1.8)


def test_readme_states_what_is_measured() -> None:
    found = [o for recording in recordings("validation") for o in _outcomes(recording)]
    assert len(NAMES) == 62
    assert table(found) in README.read_text(), "run `python -m calibration.validation --readme`"


def _outcomes(recording: Recording) -> list[Outcome]:
    return outcomes(recording, retrace(recording.case))
