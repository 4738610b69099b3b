from calibration.record.measured_steps import text
from simulator.measured.steps import FOLDER, steps


def test_the_packaged_file_agrees_with_the_recordings() -> None:
    assert (FOLDER / "h200_sxm.json").read_text("utf-8") == text("h200_sxm")


def test_every_step_that_was_timed_is_in_it() -> None:
    known = steps("h200_sxm")
    eager = [step for step in known if step.mode == "eager"]
    assert len(eager) == 67 + 62 + 88  # recordings, validation, batches
    assert sum(step.mode == "compiled" for step in known) == 15 + 34
    assert sum(step.fitted for step in eager) == 67
    # a single host; the default host is the median of 42 processes, and slower
    assert all(0.48 < step.host_times < 0.52 for step in known)
