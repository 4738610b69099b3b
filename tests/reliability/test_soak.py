"""The growth that is derived from the samples of a run."""

from __future__ import annotations

import time

import pytest

from tests.reliability import soak
from tests.reliability.soak import Sample, growth


def samples(mb_per_h: float, files: int = 9, noise_mb: float = 0.0) -> list[Sample]:
    """Samples of an hour, one every ten seconds, with 50 MB of warm-up in its first half."""
    return [
        Sample(
            at,
            int(at),
            int((100 + min(at, 1500) / 30 + mb_per_h * at / 3600 + noise_mb * (-1) ** step) * 1e6),
            9 if at < 2700 else files,
        )
        for step, at in enumerate(10.0 * n for n in range(361))
    ]


@pytest.mark.parametrize("slope", [0.0, 0.5, 3.0, -2.0])
def test_the_slope_is_that_after_the_warm_up(slope: float) -> None:
    shown = growth(samples(slope))
    assert shown.mb_per_h == pytest.approx(slope, abs=1e-3)
    assert shown.is_flat == (slope < 1)


def test_noise_is_not_growth_and_an_open_file_is() -> None:
    noisy = growth(samples(0.0, noise_mb=20.0))
    # 181 samples of ±20 MB over 30 minutes: 20 / (sqrt(181) · 0.1451 h)
    assert noisy.error_mb_per_h == pytest.approx(10.25, rel=0.02) and noisy.is_flat
    assert not growth(samples(0.0, files=10)).is_flat
    replaced = samples(0.0)
    replaced[180] = replaced[180]._replace(files=7)  # the first sample after the warm-up
    assert growth(replaced).is_flat


def test_a_run_is_summarised_in_a_line() -> None:
    line = (
        "{} (limits: less than 1 MB/h and no more open files): 60 minutes, 3,600 events: "
        "memory {} ± 0.0 MB/h after the warm-up, open files 9 → {}"
    )
    assert str(growth(samples(3.0))) == line.format("failed", "+3.0", 9)
    assert str(growth(samples(0.5))) == line.format("passed", "+0.5", 9)
    assert str(growth(samples(0.5, files=10))) == line.format("failed", "+0.5", 10)


def test_events_begin_at_most_at_the_given_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s, waits_s = 0.0, list[float]()

    def pass_by(seconds: float) -> None:
        nonlocal now_s
        now_s += seconds

    def wait(seconds: float) -> None:
        waits_s.append(seconds)
        pass_by(seconds)

    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    durations_s = iter([0.25, 0.5, 3.0] + [0.25] * 99)
    samples = soak.observed(lambda: pass_by(next(durations_s)), 20.0, 1.0, wait)
    # 1 + 1 + 3 + 5·1 = 10 s with eight events, then ten events in ten seconds
    assert [(sample.at_s, sample.events) for sample in samples] == [(0, 0), (10, 8), (20, 18)]
    assert waits_s == [0.75, 0.5] + [0.75] * 15
    assert all(sample.used_bytes > 1e6 and sample.blocks > 1e4 for sample in samples)
