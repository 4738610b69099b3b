"""Measure products with the sizes of layers of networks.

`python -m calibration.measure.points.network_products FILE` writes the linear layers of networks
from transformers and timm as JSON lines: points of the sweeps `linear`, `product` (gradients) and
`batched_product` (scores of attention and their sums). Rows and precision follow from the hash of
the layer. It needs no GPU. `python -m calibration.measure.network_layers LOG --points FILE
--seconds 200` measures their kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from typing import Any

import torch
from torch import nn

from calibration.measure.points.command import command
from calibration.sweeps.registry import Point

_TIMM_NETWORKS = 150
_BATCHES = (1, 1, 2, 4, 8, 16, 32)
_LENGTHS = (1, 1, 32, 64, 128, 196, 197, 256, 512)
_PRECISIONS = ("fp16", "bf16", "fp32")
_MOST_MULTIPLICATIONS = 3e11
_DRAWS = 3
_TRAINED = 0.25
"""The share of draws whose gradients are measured as well."""

Linear = tuple[int, int, bool]
"""Inputs and outputs of a layer, and whether it has a bias."""
Heads = tuple[int, int]
"""The number of heads, and the width of each."""


def _digest(text: str) -> bytes:
    return sha256(f"products {text}".encode()).digest()


def _of(network: nn.Module) -> set[Linear]:
    linear = (each for each in network.modules() if isinstance(each, nn.Linear))
    sizes = (
        (*map(int, each.weight.shape), getattr(each, "bias", None) is not None) for each in linear
    )
    return {(inputs, outputs, bias) for outputs, inputs, bias in sizes}


def _configured() -> Iterator[tuple[nn.Module, Any]]:
    """Networks from transformers with two layers each, and their configurations."""
    transformers = import_module("transformers")
    auto = import_module("transformers.models.auto.modeling_auto")
    for kind, name in sorted(auto.MODEL_MAPPING_NAMES.items()):
        try:
            config = transformers.AutoConfig.for_model(kind)
            for field in ("num_hidden_layers", "n_layer", "num_layers", "encoder_layers"):
                if hasattr(config, field):
                    setattr(config, field, 2)
            with torch.device("meta"):
                yield getattr(transformers, name)(config), config
        except Exception as error:  # some need other packages or a nested configuration
            print(f"left out: {kind}: {type(error).__name__}")


def layers() -> tuple[set[Linear], set[Heads]]:
    """The sizes of linear layers and of attention heads."""
    sizes, heads = set[Linear](), set[Heads]()
    for network, config in _configured():
        sizes |= _of(network)
        written = config.to_dict()
        count, width = (written.get(name) for name in ("num_attention_heads", "hidden_size"))
        if isinstance(count, int) and isinstance(width, int):
            heads.add((count, written.get("head_dim") or width // count))
    timm = import_module("timm")
    for name in sorted(timm.list_models(), key=_digest)[:_TIMM_NETWORKS]:
        with torch.device("meta"):
            sizes |= _of(timm.create_model(name))
    return sizes, heads


def drawn() -> Iterator[Point]:
    """The points, in an order by hash."""
    sizes, heads = layers()
    print(f"{len(sizes)} linear layers, {len(heads)} kinds of heads")
    draws = [(each, draw) for each in (*sizes, *heads) for draw in range(_DRAWS)]
    for each, draw in sorted(draws, key=lambda pair: _digest(f"{pair}")):
        seed = _digest(f"{draw} {each}")
        dtype = _PRECISIONS[seed[0] % 3]
        batch, length = _BATCHES[seed[1] % len(_BATCHES)], _LENGTHS[seed[2] % len(_LENGTHS)]
        if len(each) == 2:
            yield from _attention(dtype, batch, length, *each)
        else:
            yield from _linear(dtype, batch * length, *each, seed[3] < 256 * _TRAINED)


def _linear(
    dtype: str, rows: int, inputs: int, outputs: int, bias: bool, trained: bool
) -> Iterator[Point]:
    while rows > 1 and rows * inputs * outputs > _MOST_MULTIPLICATIONS:
        rows //= 2
    yield Point("linear", {"dtype": dtype, "m": rows, "n": outputs, "k": inputs, "bias": bias})
    if trained:
        of_input = {"layout": "nn", "m": rows, "n": inputs, "k": outputs}
        of_weight = {"layout": "tn", "m": outputs, "n": inputs, "k": rows}
        for params in (of_input, of_weight):
            yield Point("product", {"dtype": dtype} | params)


def _attention(dtype: str, batch: int, length: int, heads: int, width: int) -> Iterator[Point]:
    past = 256 if length == 1 else length
    both = {"dtype": dtype, "b": batch * heads, "m": length}
    yield Point("batched_product", both | {"layout": "nt", "n": past, "k": width})
    yield Point("batched_product", both | {"layout": "nn", "n": width, "k": past})


if __name__ == "__main__":
    command(__doc__ or "", drawn())
