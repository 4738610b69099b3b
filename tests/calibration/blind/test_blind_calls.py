"""Calls of random shapes that no fit uses: they trace, lower and run, and stored predictions are
compared.
"""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import pytest
import torch
from torch.utils._pytree import tree_leaves

from calibration import blind, stored_predictions
from calibration.blind.draws import LAYOUTS, laid
from calibration.measure.run import load
from calibration.sweeps.registry import OPERATIONS, Point, points
from calibration.validate import blind_calls
from simulator.errors import InputError
from simulator.hardware.gpu import gpu
from simulator.lowering import lower
from simulator.tracing import trace_call

CARD = gpu("h200")
NAMES = [name for name, each in OPERATIONS.items() if each.kind == blind.KIND]


def smallest(name: str) -> Point:
    def size(point: Point) -> int:
        return prod(v for v in tree_leaves(point.params) if isinstance(v, int) and v > 0)

    return min(OPERATIONS[name].points, key=size)


def test_no_fit_sees_a_blind_call() -> None:
    every = [point.name for point in points(blind.KIND)]
    assert len(set(every)) == len(every) == 900
    assert not set(every) & {point.name for point in points("library")}
    assert {each.name for each in load(None, print)}.isdisjoint(NAMES)
    assert [each.name for each in load(blind.KIND, print)] == NAMES


def test_a_tenth_of_the_sizes_are_odd_and_layouts_vary() -> None:
    products = [p.params for p in points(blind.KIND) if "m" in p.params]
    sizes = [p[side] for p in products for side in "mkn"]
    assert 0.1 < sum(size % 2 for size in sizes) / len(sizes) < 0.4
    layouts = {p.params.get("layout", p.params.get("left")) for p in points(blind.KIND)}
    assert set(LAYOUTS) | {"channels_last"} <= layouts


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_of_blind_call_lowers_and_runs(name: str) -> None:
    point = smallest(name)
    traced = trace_call(point.make, CARD)
    assert [traced.ops[i].name for i in lower(traced, CARD).unmodelled] == []
    assert traced.assumptions == []
    with torch.device("cpu"):
        call = point.make()
        call()
        call()


@pytest.mark.parametrize(
    ("layout", "stride"),
    [("contiguous", (3, 1)), ("transposed", (1, 2)), ("slice", (6, 1)), ("offset", (4, 1))],
)
def test_operands_lie_as_their_layout_says(layout: str, stride: tuple[int, int]) -> None:
    x = laid([2, 3], "fp32", layout, grad=True)
    assert (tuple(x.shape), x.stride(), x.is_leaf, x.requires_grad) == ((2, 3), stride, True, True)
    assert x.storage_offset() == (1 if layout == "offset" else 0)


def test_a_stored_prediction_is_compared_with_the_kernels() -> None:
    stored = {"a(n=1)": {"call": "a(n=1)", "warm": 3.0, "cold": 4.0, "kernels": 2}}
    measured = {"a(n=1)": {"kernels": [["x", 1.0, 2.0], ["y", 1.0, None]]}, "b(n=2)": {}}
    rows = [(o.group, o.figure, o.ratio) for o in blind_calls.outcomes(stored, measured)]
    assert rows == [
        ("blind calls, warm", "a", 1.5),
        ("blind calls, cold", "a", 4 / 3),
        ("blind calls", "kernels", 1.0),
    ]


@pytest.mark.parametrize("name", ["kept.jsonl", "kept.jsonl.gz"])
def test_stored_predictions_are_read_back(tmp_path: Path, name: str) -> None:
    predicted = [{"call": "a", "warm": 1e-6}, {"call": "b", "failed": "InputError: no"}]
    stored_predictions.write(tmp_path / name, predicted)
    assert list(stored_predictions.rows(tmp_path / name)) == predicted


def test_an_invalid_file_of_predictions_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl.gz"
    path.write_text(json.dumps({"call": "a"}))
    with pytest.raises(InputError) as raised:
        list(stored_predictions.rows(path))
    assert str(raised.value) == (
        f"{path}: cannot be read: Not a gzipped file (b'{{\"'); expected JSON lines "
        "written with --write"
    )


def test_every_blind_call_was_predicted_before_it_was_measured() -> None:
    predicted = {
        row["call"] for row in stored_predictions.rows(blind_calls.PREDICTED) if "warm" in row
    }
    launched = {point.name for point in points(blind.KIND)}
    assert predicted <= launched and len(launched - predicted) <= 3
