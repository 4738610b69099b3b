"""The points that are drawn with the sizes of networks: their kinds, and that each is traced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from math import prod

import pytest

from calibration.measure.points import common_sizes, recurrent_cells, recurrent_layers
from calibration.sweeps.registry import Point
from simulator.tracing import trace_call

DRAWS = (common_sizes.drawn, recurrent_layers.drawn, recurrent_cells.drawn)


@pytest.mark.parametrize("drawn", DRAWS)
def test_a_seed_draws_the_same_points_that_can_be_traced(
    drawn: Callable[[int], Iterator[Point]],
) -> None:
    first = list(islice(drawn(0), 12))
    assert first == list(islice(drawn(0), 12))
    assert first != list(islice(drawn(1), 12))
    for point in first:
        assert trace_call(point.make).ops, point.name


def test_common_sizes_have_layers_products_rows_and_pictures_in_three_precisions() -> None:
    points = list(islice(common_sizes.drawn(0), 4000))
    kinds = Counter(point.operation for point in points)
    # three of ten draws are convolutions and three are linear layers, half of them with gradients
    assert 700 < kinds["layer_convolution"] < 1000
    assert 300 < kinds["layer_convolution_backward"] < 600
    assert 650 < kinds["linear"] < 950
    assert {point.params["dtype"] for point in points} == {"fp32", "fp16", "bf16"}
    images = [p.params["image"] for p in points if p.operation == "layer_convolution"]
    assert max(prod(image) for image in images) <= 6e7


def test_a_recurrent_layer_has_at_most_four_million_states() -> None:
    for module in (recurrent_layers, recurrent_cells):
        for point in islice(module.drawn(0), 500):
            p = point.params
            assert p["hidden"] * p["batch"] * p["steps"] <= 1 << 22
    cells = {(p.params["cell"], p.params["dtype"]) for p in recurrent_cells.drawn(0)}
    assert cells == {("lstm", "fp16"), ("rnn", "fp16"), ("rnn", "fp32")}
