import gc
import gzip
import json
import weakref
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import torch

from calibration.cases.steps.parallel import FIRST_DRAWN, STEPS, parallel_step
from calibration.cases.steps.parallel_pool import drawn
from calibration.measure.collectives import odd_sizes
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
    assert {4, 6, 8, 16} == {step.microbatches for step in pipelines}
    assert all(step.case.batch % step.microbatches == 0 for step in pipelines)


def test_profiled_places_are_steps_each_once():
    assert len(set(PROFILED)) == len(PROFILED)
    assert all(0 <= place < len(STEPS) for place in PROFILED)


def test_a_replay_holds_its_step_whose_tensors_the_graph_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Regression: the memory of a decode's token ids was reused for another tensor, and an
    assertion failed on the device."""
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


def test_drawn_steps_are_those_with_the_smallest_hashes():
    """48 steps were chosen by hand; 8 + 7 + 8 + 4 + 3 = 30 are drawn."""
    assert list(STEPS[FIRST_DRAWN:]) == drawn()
    assert len(STEPS) == 48 + 30


def test_odd_sizes_can_be_split_among_eight_ranks_and_cover_the_range():
    sizes = odd_sizes(14)
    assert sizes == sorted(sizes) and all(size % (2 * 8) == 0 for size in sizes)
    assert 1024 <= sizes[0] < 2560 and 2**28 < sizes[-1] <= 2**29
    assert not any(size & (size - 1) == 0 for size in sizes)  # no power of two
