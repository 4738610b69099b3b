"""Steps over two H200s that were predicted before they were measured: the table of the docs."""

from pathlib import Path

import pytest

from calibration.validate.blind_steps import errors, measured, predicted_before, table

DOCS = Path(__file__).parents[3] / "docs" / "several-gpus.md"


def test_the_table_of_the_docs_is_that_of_the_files() -> None:
    lines = list(table(predicted_before()))
    assert len(lines) == 2 + 5 + 5  # five kinds, and their GPU-bound steps
    assert "\n".join(lines) in DOCS.read_text("utf-8")


def test_each_measured_step_was_predicted_in_time() -> None:
    steps = measured(predicted_before())
    assert len({row["step"] for row in steps}) == len(steps) == 33
    assert sum(row["graph"] for row in steps) == 1


def test_errors_are_those_of_one_step() -> None:
    """The pipelines: 424.087211 and 93.529742 ms predicted, 418.615596 and 125.440190 ms
    measured."""
    pipelines = errors("pipeline", predicted_before())
    assert pipelines["period"] == pytest.approx(
        [424.087211 / 418.615596 - 1, 1 - 93.529742 / 125.440190], abs=1e-6
    )
    assert pipelines["in the 80% interval"] == [1.0, 1.0]


def test_a_captured_step_has_no_peak_memory() -> None:
    tensor = errors("tensor", predicted_before())
    assert (len(tensor["period"]), len(tensor["peak memory"])) == (7, 6)
