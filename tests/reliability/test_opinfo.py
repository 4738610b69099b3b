"""A part of the run over torch's ops, chosen by the hash of their names."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.reliability import opinfo
from tests.reliability.answers import answered

_BUDGET_S = 20.0  # seconds of this processor; the remaining cases belong to the long run


@pytest.fixture(scope="module")
def chosen() -> list[opinfo.Case]:
    return [c for c in opinfo.cases() if c.part < 0.1 and c.dtype == "fp32"]


@pytest.mark.parametrize("phase", opinfo.PHASES)
def test_a_tenth_of_torchs_ops_is_predicted_without_a_crash(
    phase: str, chosen: list[opinfo.Case]
) -> None:
    until = time.process_time() + _BUDGET_S / 2
    answers: list[opinfo.Result] = []
    for case in chosen:
        if case.phase == phase and time.process_time() < until:
            answers.append(opinfo.run(case, samples=1))
    assert answers
    assert [(r.key, r.crashed) for r in answers if r.crashed] == []
    refused = [(r.key, text) for r in answers for text in r.refused]
    assert [each for each in refused if not opinfo.is_explained(*each)] == []
    assert [(r.key, r.uncosted) for r in answers if r.uncosted] == []


def test_a_refusal_is_explained_by_its_op_or_by_its_text() -> None:
    assert opinfo.is_explained("to_sparse fp32 training", "any")
    name = "nn.functional.batch_norm.without_cudnn bf16 training"
    assert opinfo.is_explained(name, "IndexError: tuple index out of range (a.py, line 3)")
    assert not opinfo.is_explained(name, "any")
    assert not opinfo.is_explained("lerp fp32 training", "tuple index out of range")


@pytest.mark.parametrize("name", ["lerp", "addbmm"])
def test_inputs_of_no_dimension_keep_their_dtype_in_training(name: str) -> None:
    """Their product with a weight in fp32 would be in fp32."""
    (case,) = [c for c in opinfo.cases() if c.key == f"{name} fp16 training"]
    answer = opinfo.run(case, samples=12)
    assert answer.predicted > 1 and not (answer.refused or answer.crashed)


def test_the_choice_is_a_tenth_of_the_ops(chosen: list[opinfo.Case]) -> None:
    ops = {c.name for c in opinfo.cases()}
    assert len(ops) > 500 and 0.07 < len({c.name for c in chosen}) / len(ops) < 0.13


def test_answered_cases_are_not_run_again(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    first, second, *_ = opinfo.cases()
    path.write_text(json.dumps(opinfo.run(first, samples=1)._asdict()) + '\n{"key": "cut', "utf-8")
    assert list(answered(path)) == [first.key]
    left = list(opinfo._left(path, "0/1"))
    assert first not in left and second in left
    shards = [set(opinfo._left(path, f"{i}/3")) for i in range(3)]
    assert sum(map(len, shards)) == len(left) and set.union(*shards) == set(left)


def test_a_crash_is_in_the_summary(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    line = opinfo.Result("abs fp32 inference", 1, (), ("KeyError: x at a.py:3",), ("aten.a",), ())
    path.write_text(json.dumps(line._asdict()) + "\n", "utf-8")
    assert "1 predictions: 1 crashes" in opinfo.summary(path)
    assert "  abs fp32 inference: KeyError: x at a.py:3" in opinfo.summary(path)
