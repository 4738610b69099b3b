"""Measure convolutions with the sizes of layers of networks.

`python -m calibration.measure.network_layers FILE --draw` writes the layers of networks from timm
that no suite of cases contains, and of speech networks from transformers, as JSON lines: the points
of `calibration.sweeps.spatial.network_layers`. Batch, precision and memory format follow from the
hash of the layer. It needs no GPU. `… LOG --points FILE --seconds 200` measures their kernels, warm
and cold, as `calibration.measure.further` does.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from hashlib import sha256
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from calibration.measure.further import measure
from calibration.measure.run import error_line
from calibration.sweeps.registry import Params, Point

_NETWORKS = 110
_BATCHES = (1, 1, 2, 2, 4, 8, 16, 32)
_PRECISIONS = ("fp16", "bf16", "fp32")
_WAVES = ("Wav2Vec2", "Hubert", "WavLM", "Data2VecAudio", "SEW", "UniSpeech", "Whisper")
_SAMPLES = (8000, 20000, 48000, 80000)
_MOST_MULTIPLICATIONS = 2e11
_TRAINED = 0.3
"""The share of layers whose gradients are measured as well."""


class _Convolutions(TorchDispatchMode):
    """Records the sizes of each convolution that runs, with a batch of 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layers: list[Params] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.ops.aten.convolution.default and not args[6]:
            x, w, b, stride, padding, dilation, _, _, groups = args
            self.layers.append(
                {
                    "image": list(x.shape), "weight": list(w.shape), "stride": list(stride),
                    "padding": list(padding), "dilation": list(dilation), "groups": groups,
                    "bias": b is not None,
                }
            )  # fmt: skip
        return func(*args, **(kwargs or {}))


def _networks() -> Iterator[tuple[nn.Module, tuple[torch.Tensor, ...]]]:
    """Networks on the meta device, each with an example input of one image or sound."""
    from calibration.cases.suites import SUITES  # here, since it imports every network

    timm, transformers = import_module("timm"), import_module("transformers")
    used = {case.network.removeprefix("timm:") for cases in SUITES.values() for case in cases}
    names = sorted(set(timm.list_models()) - used, key=_digest)
    for name in names[:_NETWORKS]:
        with torch.device("meta"):
            yield (
                timm.create_model(name).eval(),
                (torch.empty(1, *timm.get_pretrained_cfg(name, True).input_size),),
            )
    for name in _WAVES:
        config = getattr(transformers, f"{name}Config")()
        with torch.device("meta"):
            network = getattr(transformers, f"{name}Model")(config).eval()
            if name == "Whisper":
                yield network.encoder, (torch.empty(1, config.num_mel_bins, 3000),)
                continue
            for samples in _SAMPLES:
                yield network, (torch.empty(1, samples),)


def _digest(text: str) -> bytes:
    return sha256(f"layers {text}".encode()).digest()


def drawn() -> Iterator[Point]:
    """The points: each layer with two draws of batch, precision and memory format."""
    layers: dict[str, Params] = {}
    for network, example in _networks():
        try:
            with torch.no_grad(), _Convolutions() as recorder:
                network(*example)
        except Exception as error:  # a network may need other inputs
            print(f"left out: {type(network).__name__}: {error_line(error)[:120]}")
            continue
        layers |= {json.dumps(layer): layer for layer in recorder.layers}
    print(f"{len(layers)} different layers")
    for text in sorted(layers, key=_digest):
        for draw in range(2):
            yield from _sized(layers[text], _digest(f"{draw} {text}"))


def _sized(layer: Params, seed: bytes) -> Iterator[Point]:
    image, weight = layer["image"], layer["weight"]
    last = len(image) == 4 and seed[2] < 90
    params = {"dtype": _PRECISIONS[seed[0] % 3], "last": last} | layer
    batch = _BATCHES[seed[1] % len(_BATCHES)]
    sides = [-(-n // s) for n, s in zip(image[2:], layer["stride"], strict=True)]
    while batch > 1 and batch * prod(sides) * prod(weight) > _MOST_MULTIPLICATIONS:
        batch //= 2
    params["image"] = [batch, *image[1:]]
    yield Point("layer_convolution", params)
    if seed[3] < 256 * _TRAINED:
        yield Point("layer_convolution_backward", params)


def main() -> int:
    """Draw the points, or measure them. Returns exit status 3 if CUDA became unusable."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--points", type=Path, help="file that --draw wrote")
    parser.add_argument("--seconds", type=float, default=200.0)
    options = parser.parse_args()
    if not options.draw and options.points is None:
        parser.error("expected --draw, or --points and a file that --draw wrote")
    if options.draw:
        lines = [json.dumps([p.operation, p.params]) for p in drawn()]
        options.file.write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{len(lines)} points")
        return 0
    text = options.points.read_text(encoding="utf-8")
    points = [Point(*json.loads(line)) for line in text.splitlines()]
    return measure(points, options.file, time.perf_counter() + options.seconds)


if __name__ == "__main__":
    sys.exit(main())
