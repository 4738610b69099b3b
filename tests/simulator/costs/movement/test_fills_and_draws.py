"""Fills, draws, comparisons, cells and collectives: hand-computed figures of each kernel."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig, sums

F32, F64, I64, HALF = "float32", "float64", "int64", "bfloat16"
X = ((16, 8), F32)  # 128 elements, 512 bytes
ON_HOST = Tensor((16, 8), F32, (8, 1), "cpu")
EMPTY = ((0, 8), F32)


def test_fills_and_ranges_take_nothing_on_the_host() -> None:
    for name, expected in (
        ("zeros.default", ("fill", 0, 0, 512, 128)),
        ("arange.default", ("arange", 0, 0, 512, 3840)),
    ):
        assert sums(launched(sig(f"aten.{name}", X))) == [expected]
        assert launched(sig(f"aten.{name}", ON_HOST)) == ()
        assert launched(sig(f"aten.{name}", EMPTY)) == ()


def test_an_identity_is_zeros_and_then_ones() -> None:
    # a 6 × 4 matrix has a diagonal of 4
    assert sums(launched(sig("aten.eye.m", ((6, 4), F32)))) == [
        ("fill", 0, 0, 96, 24),
        ("fill", 0, 0, 16, 4),
    ]


def test_one_element_goes_to_the_host() -> None:
    assert sums(launched(sig("aten.item.default", (), self=((), F64)))) == [("memcpy", 0, 8, 0, 0)]
    host = Tensor((), F64, (), "cpu")
    assert launched(sig("aten.item.default", (), self=host)) == ()


def test_equality_of_tensors_is_waited_for() -> None:
    # a comparison of one instruction, two loads and a store
    assert sums(launched(sig("aten.equal.default", (), self=X, other=X))) == [
        ("pointwise", 128, 1024, 128, 512),
        ("reduction", 128, 128, 1, 256),
        ("memcpy", 0, 1, 0, 0),
    ]
    assert launched(sig("aten.equal.default", (), self=EMPTY, other=EMPTY)) == ()
    assert launched(sig("aten.equal.default", (), self=ON_HOST, other=ON_HOST)) == ()


def test_closeness_is_thirteen_kernels_a_reduction_and_a_copy() -> None:
    unary, binary = (128 * 3, 128 * 4)
    expected = [
        (1024, 128, binary), (512, 512, unary), (512, 512, unary), (512, 512, unary),
        (1024, 512, binary), (512, 512, unary), (512, 128, unary), (512, 512, unary),
        (512, 128, unary), (256, 128, binary), (1024, 128, binary), (256, 128, binary),
        (256, 128, binary),
    ]  # fmt: skip
    kernels = sums(launched(sig("aten.allclose.default", (), self=X, other=X)))
    assert kernels == [
        *(("pointwise", 128, read, write, slots) for read, write, slots in expected),
        ("reduction", 128, 128, 1, 256),
        ("memcpy", 0, 1, 0, 0),
    ]
    assert launched(sig("aten.allclose.default", (), self=ON_HOST, other=ON_HOST)) == ()
    assert launched(sig("aten.allclose.default", (), self=EMPTY, other=EMPTY)) == ()


@pytest.mark.parametrize(
    ("name", "flops", "slots", "read"),
    [
        # a quarter of 80 instructions, plus 2, or those of a logarithm, of a remainder, of a loop
        ("uniform_.default", 1, 22, 0),
        ("rand.default", 1, 22, 0),
        ("randn.default", 3, 30, 0),
        ("exponential_.default", 3, 24, 0),
        ("randint.default", 1, 35, 0),
        ("random_.from", 1, 35, 0),
        ("geometric_.default", 1, 34, 0),
        ("bernoulli_.float", 1, 22, 0),
        ("bernoulli.default", 1, 62, 512),
        ("poisson.default", 1, 210, 512),
    ],
)
def test_draws(name: str, flops: int, slots: int, read: int) -> None:
    (work,) = launched(sig(f"aten.{name}", X, None, {}, self=X))
    assert sums([work]) == [("random", flops * 128, read, 512, slots * 128)]
    assert work.dims == {"elements": 128, "slots": slots - 20, "vector": 1}
    (given,) = launched(sig("aten.bernoulli_.Tensor", X, None, {}, self=X, p=((8,), F32)))
    assert given.read_bytes == 32


@pytest.mark.parametrize(
    ("shape", "dtype", "vector"),
    [((16, 8), F32, 4), ((16, 8), HALF, 8), ((3, 2), F32, 2), ((3, 5), HALF, 1)],
)
def test_dropout_draws_and_writes_a_mask(shape: tuple[int, int], dtype: str, vector: int) -> None:
    x, n = (shape, dtype), shape[0] * shape[1]
    size = n * (4 if dtype == F32 else 2)
    op = sig("aten.native_dropout.default", [x, (shape, "bool")], None, {"train": True}, input=x)
    (work,) = launched(op)
    assert sums([work]) == [("random", 3 * n, size, size + n, 26 * n)]
    assert work.dims == {"variant": "dropout", "elements": n, "slots": 6, "vector": vector}
    off = sig("aten.native_dropout.default", [x, (shape, "bool")], None, {"train": False}, input=x)
    assert sums(launched(off)) == [("fill", 0, 0, n, n)]


def test_normal_numbers_are_scaled_and_shifted() -> None:
    row = ((8,), F32)
    name = "aten.normal.Tensor_Tensor"
    kernels = launched(sig(name, X, None, {}, mean=X, std=row))
    assert sums(kernels) == [
        ("random", 384, 0, 512, 128 * 30),
        ("pointwise", 128, 1024, 512, 512),
        ("pointwise", 128, 544, 512, 512),
    ]
    assert kernels[0].dims == {"elements": 128, "slots": 10, "vector": 1}
    assert launched(sig(name, EMPTY, None, {}, mean=EMPTY, std=row)) == ()


def test_ends_of_a_range_are_fetched() -> None:
    end, out = ((), F64), ((100,), F32)
    fetch = ("memcpy", 0, 8, 0, 0)
    both = sig("aten.linspace.Tensor_Tensor", out, None, {}, start=end, end=end)
    assert sums(launched(both)) == [fetch, fetch, ("arange", 0, 0, 400, 3000)]
    host = Tensor((), F64, (), "cpu")
    one = sig("aten.linspace.Tensor_Tensor", ((0,), F32), None, {}, start=host, end=end)
    assert sums(launched(one)) == [fetch]


def test_cells_of_recurrent_layers() -> None:
    state, gates, three = ((4, 10), F32), ((4, 40), F32), ((4, 30), F32)
    lstm: dict[str, Any] = {"input_gates": gates, "hidden_gates": gates, "cx": state}
    name = "aten._thnn_fused_lstm_cell.default"
    (work,) = launched(sig(name, [state, state, gates], None, {}, **lstm))
    # 40 states, each with 13 FLOPs, of which five take 10 instructions; three inputs and a store
    assert sums([work]) == [("pointwise", 520, 1440, 960, 40 * (13 + 45 + 4))]
    bias = ((40,), F32)
    (biased,) = launched(
        sig(name, [state, state, gates], None, {}, **lstm, input_bias=bias, hidden_bias=bias)
    )
    assert (biased.flops, biased.instructions) == (840, 40 * (21 + 45 + 6))
    gru: dict[str, Any] = {"input_gates": three, "hidden_gates": three, "hx": state}
    name = "aten._thnn_fused_gru_cell.default"
    (work,) = launched(sig(name, [state, gates], None, {}, **gru))
    assert sums([work]) == [("pointwise", 400, 1120, 800, 40 * (10 + 27 + 4))]
    third = ((30,), F32)
    (biased,) = launched(
        sig(name, [state, gates], None, {}, **gru, input_bias=third, hidden_bias=third)
    )
    assert (biased.flops, biased.instructions) == (640, 40 * (16 + 27 + 6))


def test_gradients_of_cells() -> None:
    state, gates, three = ((4, 10), F32), ((4, 40), F32), ((4, 30), F32)
    inputs: dict[str, Any] = {"grad_hy": state, "grad_cy": state, "cx": state, "cy": state,
                              "workspace": gates}  # fmt: skip
    name = "aten._thnn_fused_lstm_cell_backward_impl.default"
    outs = [gates, state, ((40,), F32)]
    main, bias = launched(sig(name, outs, None, {"has_bias": True}, **inputs))
    # the gradients of gates and of c, 640 + 160 bytes
    assert sums([main, bias]) == [
        ("pointwise", 23 * 40, 1280, 800, 40 * (23 + 9 + 6)),
        ("reduction", 160, 640, 160, 320),
    ]
    assert bias.dims == {"rows": 40, "cols": 4, "inner": 40}
    assert len(launched(sig(name, outs, None, {"has_bias": False}, **inputs))) == 1
    name = "aten._thnn_fused_gru_cell_backward.default"
    outs = [three, three, state, ((30,), F32), ((30,), F32)]
    kernels = launched(
        sig(name, outs, None, {"has_bias": True}, grad_hy=state, workspace=((4, 50), F32))
    )
    assert sums(kernels) == [
        ("pointwise", 18 * 40, 960, 1120, 40 * (18 + 3)),
        *[("reduction", 120, 480, 120, 240)] * 2,
    ]


def test_a_collective_moves_its_operands() -> None:
    name = "_c10d_functional.all_gather_into_tensor.default"
    (work,) = launched(sig(name, ((64, 8), F32), self=X))
    assert sums([work]) == [("collective", 0, 512, 2048, 0)]
    assert launched(sig("_c10d_functional.wait_tensor.default", X, self=X)) == ()
    copied = ("pointwise", 0, 512, 512, 256)
    gathered = sig("fsdp.all_gather_copy_in.default", ((64, 8), F32), None, {}, inputs=[X],
                   buffer=((64, 8), F32))  # fmt: skip
    assert sums(launched(gathered)) == [copied]
    split = sig("fsdp.split_with_sizes_copy.default", X, None, {}, all_gather_output=X, out=X)
    assert sums(launched(split)) == [copied]
    parts = sig("fsdp.split_with_sizes_copy.default", (), None, {}, all_gather_output=X,
                out=[((16, 6), F32), ((16, 2), F32)])  # fmt: skip
    assert sums(launched(parts)) == [copied]
    joined = sig("fsdp.chunk_cat.default", X, None, {}, tensors=[X, X], out=((32, 8), F32))
    (work,) = launched(joined)
    assert sums([work]) == [("pointwise", 0, 1024, 1024, 512)]
    assert work.dims == {"elements": 256, "inputs": 1, "contiguous": True}


def test_slices_are_written_into_zeros() -> None:
    part = ((16, 3), F32)
    zeros, copied = launched(
        sig("aten.slice_backward.default", X, None, {"dim": 1}, grad_output=part)
    )
    assert sums([zeros]) == [("fill", 0, 0, 512, 128)]
    assert (copied.read_bytes, copied.write_bytes, copied.dims["elements"]) == (192, 192, 48)
    column = ((16,), F32)
    zeros, copied = launched(
        sig("aten.select_backward.default", X, None, {"dim": 1}, grad_output=column)
    )
    # one column: elements 4 bytes apart are written 32 bytes apart
    assert copied.dims["step_bytes"] == 4 and copied.write_bytes == 64
    none = launched(sig("aten.slice_backward.default", X, None, {"dim": 1}, grad_output=EMPTY))
    assert sums(none) == [("fill", 0, 0, 512, 128)]


@pytest.mark.parametrize(
    ("pad", "out", "elements"),
    [([1, 1], (16, 10), 128), ([-2, 1], (16, 7), 96), ([-1, -1, 2, 0], (18, 6), 96)],
)
def test_padding_fills_and_copies(pad: list[int], out: tuple[int, int], elements: int) -> None:
    zeros, copied = launched(
        sig("aten.constant_pad_nd.default", (out, F32), None, {"pad": pad}, self=X)
    )
    assert zeros.write_bytes == 4 * out[0] * out[1]
    assert (copied.dims["elements"], copied.write_bytes) == (elements, 4 * elements)
    (only,) = launched(
        sig("aten.constant_pad_nd.default", ((16, 5), F32), None, {"pad": [-2, -1]}, self=X)
    )
    assert (only.family, only.write_bytes) == ("copy", 320)


def test_parts_are_copied_one_by_one() -> None:
    outs = [((16, 3), F32), ((16, 5), F32), ((16, 0), F32)]
    kernels = launched(sig("aten.split_with_sizes_copy.default", outs, None, {}, self=X))
    assert sums(kernels) == [("copy", 0, 192, 192, 1440), ("copy", 0, 320, 320, 2400)]
    assert kernels[0].dims == {"elements": 48, "transposed": False}


def test_scales_of_gradients() -> None:
    one = ((), F32)
    (work,) = launched(
        sig("aten._amp_update_scale_.default", one, None, {}, self=one,
            growth_tracker=((), "int32"), found_inf=one)
    )  # fmt: skip
    assert sums([work]) == [("pointwise", 2, 12, 8, 10)]
    (work,) = launched(
        sig("aten._amp_foreach_non_finite_check_and_unscale_.default", (), None, {},
            self=[X, X], found_inf=one, inv_scale=one)
    )  # fmt: skip
    assert (work.flops, work.write_bytes) == (2 * 256, 1024)
