import gc
import gzip
import json
import weakref
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import torch

from calibration.cases.steps.parallel import STEPS, parallel_step
from calibration.measure.parallel_steps import PROFILED
from calibration.measure.programs.parallel_programs import captured

MEASURED = Path("calibration/measurements/h200_sxm_x2/parallel_steps.jsonl.gz")


def test_each_step_has_its_own_name():
    names = [step.name for step in STEPS]
    assert len(set(names)) == len(names)
    assert names[15] == "pipeline/8 gpt2-xl/bf16/training/b32s1024"
    assert names[18] == "tensor/graph llama3-8b-decode/bf16/inference/b16s2048"


def test_a_record_names_its_step():
    assert all(parallel_step(json.loads(json.dumps(step.record()))) == step for step in STEPS)


def test_the_first_measurement_holds_the_first_twelve_steps_in_order():
    with gzip.open(MEASURED, "rt", encoding="utf-8") as file:
        rows = [row for row in map(json.loads, file) if "machine" not in row]
    assert [parallel_step(row) for row in rows] == list(STEPS[:12])


def test_pipelines_cut_their_batch_into_equal_micro_batches():
    pipelines = [step for step in STEPS if step.how == "pipeline"]
    assert {4, 8, 16} == {step.microbatches for step in pipelines}
    assert all(step.case.batch % step.microbatches == 0 for step in pipelines)


def test_profiled_places_are_steps_each_once():
    assert len(set(PROFILED)) == len(PROFILED)
    assert all(0 <= place < len(STEPS) for place in PROFILED)


def test_a_replay_holds_its_step_whose_tensors_the_graph_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without it, another tensor took the place of a decode's token ids: the device asserted."""
    graph, entered = MagicMock(), MagicMock()
    for name in ("Stream", "current_stream", "stream", "synchronize", "graph"):
        monkeypatch.setattr(torch.cuda, name, MagicMock(return_value=entered))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: graph)

    class Step:
        calls = 0

        def __call__(self) -> None:
            Step.calls += 1

    step = Step()
    alive = weakref.ref(step)
    replay = captured(step)
    assert Step.calls == 3 + 1  # three on a side stream, then the captured one
    del step
    gc.collect()
    replay()
    assert graph.replay.call_count == 1 and alive() is not None
    del replay
    gc.collect()
    assert alive() is None
