"""Ops over lists of tensors, and rare pointwise ops, against hand-computed sums. A float32 [4, 6]
has 24 elements, 96 bytes."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from simulator.records import Tensor
from tests.simulator.costs.conftest import Spec, launched, sig

MAT: Spec = ((4, 6), "float32")
VEC: Spec = ((8,), "float32")
WIDE: Spec = ((4, 6), "float64")
PAIR: list[Spec] = [MAT, VEC]  # 24 + 8 = 32 elements, 128 bytes


def foreach(name: str, args: dict[str, Any] | None = None, **lists: list[Spec]) -> tuple[Work, ...]:
    outputs = () if name.split(".")[0].endswith("_") else lists["self"]
    return launched(sig(f"aten._foreach_{name}", outputs, None, args, **lists))


def test_a_list_is_one_launch_that_reads_and_writes_each_tensor() -> None:
    (work,) = foreach("add.List", self=PAIR, other=PAIR)
    assert (work.flops, work.read_bytes, work.write_bytes) == (32, 2 * 128, 128)
    # an addition, two loads and a store
    assert (work.dims["lists"], work.instructions) == (3, 32 * 4)
    assert (work.dims["tensors"], work.dims["elements"], work.dims["numels"]) == (2, 32, [24, 8])
    assert not work.dims["scalars"]
    (in_place,) = foreach("add_.List", self=PAIR, other=PAIR)
    assert (in_place.dims["lists"], in_place.read_bytes, in_place.write_bytes) == (2, 256, 128)


def test_a_scalar_for_each_tensor_is_no_list_of_tensors() -> None:
    (work,) = foreach("mul_.ScalarList", {"scalars": [2.0, 3.0]}, self=PAIR)
    assert (work.dims["scalars"], work.dims["lists"]) == (True, 1)
    (one,) = launched(
        sig("aten._foreach_mul_.Tensor", (), None, {}, self=PAIR, other=((), "float32"))
    )
    assert one.dims["lists"] == 1


def test_powers_take_what_their_exponent_takes() -> None:
    (square,) = foreach("pow.Scalar", {"exponent": 2}, self=PAIR)
    (other,) = foreach("pow.Scalar", {"exponent": 2.7}, self=PAIR)
    # one multiplication, or 60 instructions; and a load and a store
    assert (square.instructions, other.instructions) == (32 * (1 + 2), 32 * (60 + 2))
    (roots,) = foreach("pow.List", self=PAIR, exponent=PAIR)
    assert roots.instructions == 32 * (60 + 3)


def test_the_product_of_addcmul_has_a_factor_unless_it_is_1() -> None:
    lists = dict(self=PAIR, tensor1=PAIR, tensor2=PAIR)
    (plain,) = foreach("addcmul.Scalar", {"value": 1}, **lists)
    (default,) = foreach("addcmul.Scalar", **lists)
    (scaled,) = foreach("addcmul.Scalar", {"value": 0.5}, **lists)
    (each,) = foreach("addcmul.ScalarList", {"scalars": [1.0, 1.0]}, **lists)
    assert plain.flops == default.flops == scaled.flops - 32 == each.flops - 32
    tensors = {**lists, "scalars": [((2,), "float32")]}
    (by_tensor,) = launched(sig("aten._foreach_addcmul.Tensor", PAIR, None, {}, **tensors))
    assert by_tensor.flops == scaled.flops


def test_zeros_are_written_alone_and_copies_read_their_source_alone() -> None:
    (zero,) = foreach("zero_.default", self=PAIR)
    assert (zero.read_bytes, zero.write_bytes, zero.dims["lists"]) == (0, 128, 1)
    (copied,) = foreach("copy_.default", self=PAIR, src=PAIR)
    assert (copied.read_bytes, copied.write_bytes, copied.dims["lists"]) == (128, 128, 2)
    # a source of another dtype still takes a single launch
    doubles: list[Spec] = [((4, 6), "float64"), ((8,), "float64")]
    (cast,) = foreach("copy_.default", self=PAIR, src=doubles)
    assert (cast.family, cast.read_bytes, cast.write_bytes) == ("foreach", 256, 128)


def test_mixed_dtypes_and_layouts_take_a_launch_for_each_tensor() -> None:
    mixed: list[Spec] = [MAT, WIDE]
    works = foreach("add.List", self=mixed, other=mixed)
    assert [w.family for w in works] == ["pointwise"] * 2
    assert [w.write_bytes for w in works] == [96, 192]
    assert [w.read_bytes for w in works] == [192, 384]
    gaps = Tensor((4, 6), "float32", (12, 2, 1)[:2])
    apart = foreach("mul_.List", self=[gaps, VEC], other=PAIR)
    assert [w.write_bytes for w in apart] == [96, 32]
    # a copy reads its source and not its target
    target: list[Spec] = [gaps, VEC]
    for work in foreach("copy_.default", self=target, src=PAIR):
        assert work.read_bytes == work.write_bytes
    doubled = Tensor((4, 6), "float64", (12, 2))
    uneven: list[Spec] = [doubled, VEC]
    (first, second) = foreach("copy_.default", self=uneven, src=PAIR)
    assert (first.read_bytes, first.write_bytes) == (96, 192)
    assert (second.read_bytes, second.write_bytes) == (32, 32)


def test_no_elements_launch_nothing() -> None:
    empty: Spec = ((0, 6), "float32")
    assert foreach("mul_.Scalar", self=[empty, empty]) == ()
    assert foreach("mul_.Scalar", self=[]) == ()
    assert launched(sig("aten._foreach_norm.Scalar", [], None, {}, self=[empty])) == ()
    (work,) = foreach("mul_.Scalar", self=[empty, MAT])
    assert work.dims["elements"] == 24


@pytest.mark.parametrize(("dtype", "wide"), [("float32", 4), ("float16", 4), ("float64", 8)])
def test_norms_have_a_partial_result_for_each_chunk(dtype: str, wide: int) -> None:
    """Chunks of 65,536 elements: 200,000 elements have four, 65,536 have one. The results for the
    chunks of the longest tensor are cleared and summed for every tensor: 2 · 4."""
    tensors: list[Spec] = [((200_000,), dtype), ((65_536,), dtype)]
    outs: list[Spec] = [((), dtype), ((), dtype)]
    op = sig("aten._foreach_norm.Scalar", outs, None, {"ord": 2}, self=tensors)
    zero, partial, final = launched(op)
    assert (zero.write_bytes, zero.dims["elements"], zero.instructions) == (8 * wide, 8, 8)
    assert partial.write_bytes == (4 + 1) * wide
    assert (partial.flops, partial.dims["lists"]) == (2 * 265_536, 1)
    assert partial.instructions == 265_536 * (1 + 1)
    assert partial.dims["variant"] == "norm"
    assert (final.read_bytes, final.flops, final.instructions) == (8 * wide, 8, 16)
    assert final.write_bytes == 2 * int(dtype.removeprefix("float")) // 8
    assert (final.dims["rows"], final.dims["cols"], final.dims["inner"]) == (2, 4, 1)


def test_a_masked_fill_clones_and_fetches_a_value_of_the_gpu() -> None:
    mask: Spec = ((4, 6), "bool")
    (clone, fill) = launched(sig("aten.masked_fill.Scalar", MAT, self=MAT, mask=mask))
    assert (clone.read_bytes, clone.write_bytes) == (96, 96)
    assert (fill.read_bytes, fill.write_bytes, fill.flops) == (96 + 24, 96, 0)
    value = Tensor((), "float32", ())
    fetch, *rest = launched(sig("aten.masked_fill.Tensor", MAT, self=MAT, mask=mask, value=value))
    assert (fetch.family, fetch.read_bytes) == ("memcpy", 4)
    assert rest == [clone, fill]
    host = Tensor((), "float32", (), "cpu")
    assert launched(sig("aten.masked_fill.Tensor", MAT, self=MAT, mask=mask, value=host)) == (
        clone,
        fill,
    )
    (alone,) = launched(
        sig("aten.masked_fill_.Tensor", MAT, (0, 1, 2, 0), self=MAT, mask=mask, value=host)
    )
    assert alone.write_bytes == 96
    empty: Spec = ((0, 6), "float32")
    none = sig("aten.masked_fill.Scalar", empty, self=empty, mask=((0, 6), "bool"))
    assert launched(none) == ()


def test_a_random_leaky_relu_saves_its_slopes() -> None:
    name = "aten.rrelu_with_noise.default"
    (plain,) = launched(sig(name, MAT, None, {}, self=MAT, noise=MAT))
    assert (plain.read_bytes, plain.write_bytes, plain.flops) == (96, 96, 2 * 24)
    # a comparison and a product, a load and a store
    assert plain.instructions == (2 + 2) * 24
    (random,) = launched(sig(name, MAT, None, {"training": True}, self=MAT, noise=MAT))
    assert (random.read_bytes, random.write_bytes, random.flops) == (96, 192, 4 * 24)
    assert (random.family, random.instructions) == ("random", (24 + 3) * 24)


def test_a_product_of_a_decomposition_is_a_product() -> None:
    (work,) = launched(sig("prims.mul.default", MAT, self=MAT, other=MAT))
    assert (work.flops, work.read_bytes, work.write_bytes) == (24, 192, 96)


def test_the_real_part_of_complex_numbers_is_copied_from_them() -> None:
    source: Spec = ((4, 6), "complex64")
    computed, copied = launched(sig("aten.abs.default", MAT, self=source))
    # complex numbers of 8 bytes: read and written; then every second float is copied
    assert (computed.read_bytes, computed.write_bytes) == (192, 192)
    assert (copied.read_bytes, copied.write_bytes) == (96, 96)
    (inside,) = launched(sig("aten.angle.default", source, self=source))
    assert inside.write_bytes == 192


def test_fused_adagrad_reads_three_lists_and_writes_two() -> None:
    op = sig(
        "aten._fused_adagrad_.default", (), None, {}, self=PAIR, grads=PAIR, state_sums=PAIR,
        state_steps=[((), "float32")] * 2,
    )  # fmt: skip
    (work,) = launched(op)
    assert work.write_bytes == 2 * 128
    assert work.dims["lists"] == 3
