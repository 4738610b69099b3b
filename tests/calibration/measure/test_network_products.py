"""The products that are drawn from the sizes of networks' layers."""

from __future__ import annotations

import torch
from torch import nn

from calibration.measure.points.network_products import _attention, _linear, _of


def test_a_layer_is_a_product_of_its_rows_and_its_gradients_are_two() -> None:
    points = list(_linear("bf16", 64, 768, 3072, True, trained=True))
    assert [(each.operation, each.params) for each in points] == [
        ("linear", {"dtype": "bf16", "m": 64, "n": 3072, "k": 768, "bias": True}),
        ("product", {"dtype": "bf16", "layout": "nn", "m": 64, "n": 768, "k": 3072}),
        ("product", {"dtype": "bf16", "layout": "tn", "m": 3072, "n": 768, "k": 64}),
    ]


def test_rows_are_halved_until_the_product_is_small_enough() -> None:
    # 16,384 · 4,096 · 11,008 = 7.4e11 is too large; with a quarter of the rows it is below 3e11
    (point,) = _linear("fp16", 16384, 4096, 11008, False, trained=False)
    assert point.params["m"] == 4096


def test_attention_is_a_product_of_queries_and_keys_and_one_with_values() -> None:
    scores, sums = _attention("fp32", 2, 1, 12, 64)  # one token attends to at least 256
    assert scores.params == {"dtype": "fp32", "layout": "nt", "b": 24, "m": 1, "n": 256, "k": 64}
    assert sums.params == {"dtype": "fp32", "layout": "nn", "b": 24, "m": 1, "n": 64, "k": 256}


def test_the_layers_of_a_network_are_its_distinct_sizes() -> None:
    with torch.device("meta"):
        network = nn.Sequential(nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8, bias=False))
    assert _of(network) == {(8, 16, True), (16, 8, False)}
