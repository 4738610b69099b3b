"""Products with integer weights in one kernel, which loads the packed bytes."""

from __future__ import annotations

from simulator.costs import Work
from tests.simulator.costs.conftest import Spec, launched, sig

X: Spec = ((16, 64), "bfloat16")  # [m, k]


def packed(name: str, weight: Spec, *, columns: int = 32, x: Spec = X) -> Work:
    out = ((16, columns), "bfloat16")
    (work,) = launched(sig(f"aten.{name}.default", out, None, {}, self=x, mat2=weight))
    return work


def test_eight_bits_are_one_byte_a_weight() -> None:
    """[n, k] = [32, 64]: 2·16·32·64 FLOPs, and 16·64·2 + 32·64 bytes."""
    work = packed("_weight_int8pack_mm", ((32, 64), "int8"))
    assert (work.flops, work.read_bytes, work.write_bytes) == (65536, 4096, 1024)
    assert work.dims["item_bytes"] == 1.0
    assert (work.dims["m"], work.dims["n"], work.dims["k"]) == (16, 32, 64)
    assert (work.engine, work.dtype) == ("tensor", "bfloat16")
    # rows of 68 bytes of weights allow loads of 4 bytes; rows of 136 bytes of x allow loads of 8
    odd = packed("_weight_int8pack_mm", ((32, 68), "int8"), x=((16, 68), "bfloat16"))
    assert odd.dims["align_bytes"] == 4


def test_four_bits_in_tiles_are_half_a_byte_a_weight() -> None:
    """64 · 64 weights in groups of two tiles, [n / 8, k / (2 · 16), 32, 2 / 2] of int32, each of
    which has 8 weights: 8·2·32·1·4 = 2,048 bytes. The rows of the tiles do not limit the loads."""
    work = packed("_weight_int4pack_mm", ((8, 2, 32, 1), "int32"), columns=64)
    assert work.dims["item_bytes"] == 0.5
    assert work.read_bytes == 16 * 64 * 2 + 2048
    # rows of 128 bytes of x, and of 136
    narrow = packed("_weight_int4pack_mm", ((8, 2, 32, 1), "int32"), x=((16, 68), "bfloat16"))
    assert (work.dims["align_bytes"], narrow.dims["align_bytes"]) == (16, 8)
