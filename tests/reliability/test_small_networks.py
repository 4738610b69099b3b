"""A few architectures of transformers, different ones each day."""

from __future__ import annotations

import json
import random
import time
from datetime import date
from pathlib import Path

import pytest

pytest.importorskip("transformers")
from tests.reliability import networks
from tests.reliability.answers import answered

_BUDGET_S = 15.0  # seconds of this processor; the remaining cases belong to the long run


def test_architectures_of_the_day_do_not_crash(day: date) -> None:
    chosen = random.Random(day.toordinal()).sample(networks.cases(), 10)
    until = time.process_time() + _BUDGET_S
    answers = [networks.run(case) for case in chosen if time.process_time() < until]
    assert answers
    assert [answer for answer in answers if answer["state"] == "crashed"] == []


@pytest.mark.parametrize("phase", networks.PHASES)
def test_a_small_configuration_is_predicted(phase: str) -> None:
    assert networks.run(networks.Case("bert", phase)) == {
        "key": f"bert {phase}",
        "state": "predicted",
        "text": "",
    }


def test_answered_cases_are_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    first, *_ = networks.cases()
    answer = {"key": first.key, "state": "predicted", "text": ""}
    path.write_text(json.dumps(answer) + '\n{"key": "cut', "utf-8")
    assert list(answered(path)) == [first.key]
    assert first not in list(networks._left(path, "0/1"))
    assert networks.figure(path).startswith(
        "1 of the 1 that torch runs are predicted (100.0%), 0 refused"
    )
