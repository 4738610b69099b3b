"""The longest sequence of a network."""

from __future__ import annotations

import pytest

from app.answers.answer import positions
from simulator.scenario.resolve import resolve
from simulator.scenario.scenario import Scenario


@pytest.mark.parametrize(
    ("scenario", "expected"),
    [
        (Scenario("bert-base"), 512),
        (Scenario("bert-base", sizes={"positions": 2048}), 2048),
        (Scenario("llama3-1b"), 0),
        (Scenario("resnet50"), 0),
    ],
)
def test_the_longest_sequence_is_the_number_of_positions(scenario: Scenario, expected: int) -> None:
    assert positions(resolve(scenario)) == expected
