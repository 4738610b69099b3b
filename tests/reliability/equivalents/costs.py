"""Changes of the costs of ops and of their lowering that change no result."""

from __future__ import annotations

from tests.reliability.equivalents.equivalent import Equivalent

COSTS = (
    Equivalent(
        "simulator/costs/pointwise/foreach.py",
        "'0' -> '1'",
        "length = max(map(len, lists), default=1)",
        "without lists there is none to compare with the length",
    ),
    Equivalent(
        "simulator/costs/matmul/products.py",
        "'1' -> '2'",
        'if addend is not None and op.arg("beta", 2) == 0:',
        "neither default is 0",
    ),
    Equivalent(
        "simulator/costs/matmul/routing.py",
        "'30' -> '31'",
        "z = np.maximum((mean - 0.5 - tile * height) / deviation, -31)",
        "31 terms of e^−51 or of e^−53 vanish in the rounding of the groups with a row, at least 1",
    ),
    Equivalent(
        "simulator/costs/movement/copies.py",
        "'0' -> '1'",
        "strides = [*([1] * lead), *source.stride]",
        "the stride of a dimension of one element has no effect",
    ),
    Equivalent(
        "simulator/costs/recurrent/layers.py",
        "'+' -> '-'",
        "ends_layer = (index - 1) % directions == 0 and index + 1 < len(layers)",
        "`directions` is 1 or 2, and index − 1 differs from index + 1 by 2",
    ),
    Equivalent(
        "simulator/costs/reductions/losses.py",
        "'1' -> '2'",
        "inputs = max(1, read // max(write, 2))",
        "terms of 2 bytes or more are written, or none: then nothing is read either",
    ),
    Equivalent(
        "simulator/costs/tensor_bytes.py",
        "'>=' -> '>'",
        'if tensor.device != "cpu" and size > largest.get(region, 0):',
        "an equal size replaces itself, and a size of 0 adds nothing to the sum",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'1' -> '2'",
        "attended = Band(-1, -2, 0)",
        "any negative number of keys to the right means all of them",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'1' -> '2'",
        "attended = Band(-2, -1, 0)",
        "any negative number of keys to the left means all of them",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'1' -> '2'",
        "every = _head_layout(d, Band(-1, -2, 0), tile)",
        "any negative number of keys to the right means all of them",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'1' -> '2'",
        "every = _head_layout(d, Band(-2, -1, 0), tile)",
        "any negative number of keys to the left means all of them",
    ),
    Equivalent(
        "simulator/lowering/convolution_grouped.py",
        "'8' -> '9'",
        "return groups >= (_SOME_GROUPS if width <= 9 else _MANY_GROUPS)",
        "the width of a group is a power of 2",
    ),
    Equivalent(
        "simulator/lowering/transforms.py",
        "'-' -> '+'",
        "best = 1 << (least + 1).bit_length()",
        "the first product tried is the power of 2 that is at least `least`",
    ),
    Equivalent(
        "simulator/lowering/transforms.py",
        "'4096' -> '4097'",
        "_LARGEST_FACTOR = {True: 4097, False: 1024}",
        "4,097 is no power of 2",
    ),
    Equivalent(
        "simulator/lowering/transforms.py",
        "'1024' -> '1025'",
        "_LARGEST_FACTOR = {True: 4096, False: 1025}",
        "1,025 is no power of a prime",
    ),
    Equivalent(
        "simulator/costs/movement/concatenation.py",
        "'0' -> '1'",
        "least = 1",
        "it is compared with the stride of the channels, which is not 0 here",
    ),
    Equivalent(
        "simulator/lowering/turns.py",
        "'0' -> '1'",
        "capability = tuple(gpu.compute_capability or (1, 0))",
        "an unknown capability is below 7.5 in both cases",
    ),
    Equivalent(
        "simulator/lowering/transforms.py",
        "'140_000' -> '140001'",
        "_ON_CHIP = 140001",
        "complex numbers take 4, 8 or 16 bytes, so no sequence takes 140,001",
    ),
    Equivalent(
        "simulator/lowering/product.py",
        "'0' -> '1'",
        "hopper = (gpu.compute_capability or (0, 1)) >= (9, 0)",
        "an unknown capability is below 9.0 in both cases",
    ),
    Equivalent(
        "simulator/lowering/product.py",
        "'0' -> '1'",
        "hopper = (gpu.compute_capability or (1, 0)) >= (9, 0)",
        "an unknown capability is below 9.0 in both cases",
    ),
    Equivalent(
        "simulator/lowering/attention.py",
        "'192' -> '193'",
        "return _Tile(64 if width > 193 else 128, 128 if width <= 64 else 64, width)",
        "a width above 128 is padded to 192 or 256, or exceeds 256",
    ),
)
