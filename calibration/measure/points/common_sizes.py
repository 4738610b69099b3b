"""Layers with the sizes that most networks have: widths and sides of few values, batches that are
powers of two.

A library chooses its kernel by the exact sizes, so sizes that recur are worth measuring themselves.
`python -m calibration.measure.points.common_sizes FILE` writes points of the sweeps of
convolutions, products, norms, reductions and pictures, and of their gradients, as JSON lines.
`python -m calibration.measure.network_layers LOG --points FILE --seconds 300` measures their
kernels.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from calibration.measure.points.command import command
from calibration.sweeps.registry import Point

_COUNT = 30_000
_PRECISIONS = ("fp32", "fp16", "bf16")
_WIDTHS = (32, 64, 64, 96, 128, 128, 192, 256, 256, 384, 512, 512, 768, 1024, 1024, 2048)
_CHANNELS = (16, 24, 32, 32, 48, 64, 64, 96, 128, 128, 192, 256, 256, 512)
_BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_SIDES = (4, 7, 8, 14, 16, 28, 32, 48, 56, 64, 96, 112, 128, 224)
_LENGTHS = (16, 32, 50, 64, 100, 128, 196, 197, 200, 256, 512, 784, 1000, 1024, 2048, 4096)
_MOST_MULTIPLICATIONS = 6e10
_MOST_ELEMENTS = 6e7
_TRAINED = 0.5
"""The share of draws whose gradients are measured as well."""

Params = dict[str, object]


def drawn(seed: int = 0) -> Iterator[Point]:
    """The points, in random order of their kinds."""
    rng = Random(seed)
    kinds = (_layer, _layer, _layer, _linear, _linear, _linear, _batched, _row, _picture, _column)
    for _ in range(_COUNT):
        yield from rng.choice(kinds)(rng, rng.choice(_PRECISIONS))


def _fitting(rng: Random, most: float) -> int:
    """A batch of at most `most`, or 1."""
    return rng.choice([batch for batch in _BATCHES if batch <= most] or [1])


def _with_gradient(rng: Random, operation: str, params: Params) -> Iterator[Point]:
    yield Point(operation, params)
    if rng.random() < _TRAINED:
        yield Point(f"{operation}_backward", params)


def _layer(rng: Random, dtype: str) -> Iterator[Point]:
    """A convolution of an image: the first one of a network, or one further inside."""
    inputs, outputs = rng.choice(_CHANNELS), rng.choice(_CHANNELS)
    if rng.random() < 0.12:
        inputs = rng.choice((1, 3, 3, 4))
    elif rng.random() < 0.4:
        outputs = inputs
    taps = rng.choice((1, 3, 3, 3, 3, 5, 7) if inputs > 4 else (3, 3, 5, 7))
    stride = 2 if rng.random() < 0.2 else 1
    side = rng.choice(_SIDES)
    work, size = side**2 * taps**2 * inputs * outputs // stride**2, side**2 * max(inputs, outputs)
    batch = _fitting(rng, min(_MOST_MULTIPLICATIONS / work, _MOST_ELEMENTS / size))
    params: Params = {
        "dtype": dtype,
        "last": rng.random() < 0.2,
        "image": [batch, inputs, side, side],
        "weight": [outputs, inputs, taps, taps],
        "stride": [stride] * 2,
        "padding": [taps // 2] * 2,
        "dilation": [1, 1],
        "groups": 1,
        "bias": rng.random() < 0.6,
    }
    yield from _with_gradient(rng, "layer_convolution", params)


def _linear(rng: Random, dtype: str) -> Iterator[Point]:
    """A layer on a batch of vectors, of sequences or of pixels; also the last one, which has few
    outputs, and the first one, which has few inputs."""
    inputs, outputs = rng.choice(_WIDTHS), rng.choice(_WIDTHS)
    if rng.random() < 0.3:
        outputs = rng.choice((inputs, 3 * inputs, 4 * inputs))
    few = (1, 2, 3, 4, 6, 8, 10, 12, 16, 17, 20, 30, 33, 50, 63, 100)
    if rng.random() < 0.2:
        inputs = rng.choice(few)
    elif rng.random() < 0.2:
        outputs = rng.choice(few)
    rows = rng.choice(_BATCHES) * (1 if rng.random() < 0.4 else rng.choice(_LENGTHS))
    most = _MOST_MULTIPLICATIONS / (inputs * outputs), _MOST_ELEMENTS / max(inputs, outputs)
    rows = int(min(rows, *most))
    yield Point("linear", {"dtype": dtype, "m": rows, "n": outputs, "k": inputs,
                           "bias": rng.random() < 0.75})  # fmt: skip
    if rng.random() < _TRAINED:
        of_input = {"layout": "nn", "m": rows, "n": inputs, "k": outputs}
        of_weight = {"layout": "tn", "m": outputs, "n": inputs, "k": rows}
        for params in (of_input, of_weight):
            yield Point("product", {"dtype": dtype} | params)


def _batched(rng: Random, dtype: str) -> Iterator[Point]:
    """The products of attention that a network writes itself: scores, or their sums of values."""
    width, length = rng.choice((16, 32, 64, 64, 128)), rng.choice(_LENGTHS[:-1])
    other = length if rng.random() < 0.8 else rng.choice(_LENGTHS[:8])
    most = min(_MOST_MULTIPLICATIONS / (length * other * width), _MOST_ELEMENTS / (length * other))
    heads = rng.choice((1, 4, 8, 12, 16))
    b = heads * _fitting(rng, most / heads)
    scores = {"layout": "nt", "b": b, "m": length, "n": other, "k": width}
    values = {"layout": "nn", "b": b, "m": length, "n": width, "k": other}
    yield Point("batched_product", {"dtype": dtype} | rng.choice((scores, values)))


def _row(rng: Random, dtype: str) -> Iterator[Point]:
    """Norms, softmaxes, lookups and sums of rows of a network's width."""
    cols = rng.choice(_WIDTHS)
    rows = int(min(rng.choice(_BATCHES) * rng.choice(_LENGTHS), _MOST_ELEMENTS / cols))
    kind = rng.choice(("softmax", "across", "layer_norm", "lookup", "sum", "middle"))
    if kind == "across":
        outer, inner = rng.choice(_BATCHES) * rng.choice((1, 64, 256, 1000)), rng.choice(
            (1, 2, 4, 8, 8, 16, 64, 196)
        )  # fmt: skip
        cols = int(max(1, min(rng.choice(_LENGTHS), _MOST_ELEMENTS / (outer * inner))))
        yield Point(
            "softmax_across", {"dtype": dtype, "outer": outer, "cols": cols, "inner": inner}
        )
    elif kind == "lookup":
        table = rng.choice((2, 8, 31, 100, 512, 1000, 5000, 20000, 50000, 200_000))
        cols = min(rng.choice((1, 2, 4, 8, 16, 50, cols)), int(_MOST_ELEMENTS / table))
        params: Params = {"dtype": dtype, "rows": table, "cols": cols, "picked": min(rows, 65536)}
        yield from _with_gradient(rng, "embedding", params)
    elif kind == "sum":
        name, dim = rng.choice(("sum", "mean", "max", "argmax", "var", "norm")), rng.choice((0, 1))
        yield Point(
            "reduce", {"name": name, "dtype": dtype, "rows": rows, "cols": cols, "dim": dim}
        )
    elif kind == "middle":
        outer, inner = rng.choice(_BATCHES), rng.choice((1, 8, *_WIDTHS))
        middle = int(max(1, min(rng.choice(_LENGTHS), _MOST_ELEMENTS / (outer * inner))))
        yield Point("reduce_middle", {"name": rng.choice(("sum", "mean", "amax")), "dtype": dtype,
                                      "outer": outer, "middle": middle, "inner": inner,
                                      "outermost": rng.random() < 0.3})  # fmt: skip
    else:
        yield from _with_gradient(rng, kind, {"dtype": dtype, "rows": rows, "cols": cols})


def _column(rng: Random, dtype: str) -> Iterator[Point]:
    """The gradient of a bias: the sum of each column."""
    cols = rng.choice((*_WIDTHS, 3, 8, 10, 100))
    rows = int(min(rng.choice(_BATCHES) * rng.choice(_LENGTHS), _MOST_ELEMENTS / cols))
    yield Point("column_sum", {"dtype": dtype, "rows": rows, "cols": cols, "keep": True})


def _picture(rng: Random, dtype: str) -> Iterator[Point]:
    """Norms, pools and resized images between the convolutions of a network."""
    channels, side = rng.choice(_CHANNELS), rng.choice(_SIDES)
    batch = _fitting(rng, _MOST_ELEMENTS / (side**2 * channels))
    last = rng.random() < 0.2
    image: Params = {"dtype": dtype, "last": last, "batch": batch, "channels": channels,
                     "side": side}  # fmt: skip
    kind = rng.choice(("norm", "norm", "group_norm", "pool", "resize", "sum"))
    if kind == "norm":
        sizes = [batch, channels, side, side]
        if rng.random() < 0.3:  # a volume or a sound
            sides = [side] if rng.random() < 0.5 else [rng.choice((4, 8, 16)), side, side]
            sizes = [max(1, batch // 8), channels, *sides]
        mixed = dtype != "fp32" and rng.random() < 0.5
        yield from _with_gradient(
            rng,
            "varied_batch_norm",
            {"dtype": dtype, "last": last and len(sizes) == 4, "sizes": sizes, "mixed": mixed,
             "training": rng.random() < 0.6},
        )  # fmt: skip
    elif kind == "group_norm":
        groups = rng.choice([each for each in (1, 8, 16, 32) if channels % each == 0])
        yield from _with_gradient(rng, kind, image | {"groups": groups})
    elif kind == "sum":
        yield Point("channel_sum", image)
    else:
        names = {"pool": ("max2", "max2", "max3", "avg2", "adaptive1"),
                 "resize": ("bilinear", "nearest")}[kind]  # fmt: skip
        yield from _with_gradient(rng, kind, {"name": rng.choice(names)} | image)


if __name__ == "__main__":
    command(__doc__ or "", drawn())
