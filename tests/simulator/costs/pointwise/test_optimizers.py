"""Foreach costs, and the launches of a tensor list counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs.pointwise.foreach import CHUNK, _fast, multi_tensor_launches
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig

A, B = ((4, 6), "float32"), ((10,), "float32")


@pytest.mark.parametrize(
    ("numels", "depth", "launches"),
    [
        ([], 1, 0),
        ([0, 0], 1, 0),
        ([1], 1, 1),
        # 110 small tensors fill a launch of depth 1; the 111th opens another
        ([1] * 110, 1, 1),
        ([1] * 111, 1, 2),
        # empty tensors take no place
        ([0, 1] * 110, 1, 1),
        # depth 4: 36 tensors per launch, so 300 take ceil(300 / 36) = 9 launches
        ([1] * 300, 4, 9),
        # one tensor of 320 chunks fills the blocks; one more element needs a second launch
        ([320 * CHUNK], 2, 1),
        ([320 * CHUNK + 1], 2, 2),
        # 1000 chunks: ceil(1000 / 320) = 4
        ([1000 * CHUNK], 2, 4),
        ([2241 * CHUNK], 2, 8),
        # 319 chunks, then 2: the blocks are full during the second tensor, whose other chunk starts
        # a new launch
        ([319 * CHUNK, 2 * CHUNK], 3, 2),
        # 29 small tensors; the 30th has 291 chunks and exactly fills 320 blocks and depth 5: one
        # launch, not two
        ([1] * 29 + [291 * CHUNK], 5, 1),
        # the 30th tensor is unfinished after 320 blocks and begins the next launch, which 29 more
        # tensors fill: 1 + 1, and one tensor is left
        ([1] * 29 + [292 * CHUNK] + [1] * 30, 5, 3),
    ],
)
def test_launches(numels: list[int], depth: int, launches: int) -> None:
    planned = multi_tensor_launches(numels, depth)
    assert len(planned) == launches
    assert sum(launch.elements for launch in planned) == sum(numels)


def test_tensors_of_each_launch() -> None:
    # 319 whole chunks and one of the second tensor's two fill 320 blocks; its other chunk, of 5
    # elements, is alone. The second tensor's size is not a multiple of 4
    assert multi_tensor_launches([319 * CHUNK, CHUNK + 5], 3) == [
        (320 * CHUNK, 320, CHUNK, CHUNK),
        (5, 1, 5, 5),
    ]


def test_a_scalar_a_tensor_takes_room() -> None:
    # 96 tensors of depth 1 with a scalar each, 110 without
    assert multi_tensor_launches([1] * 100, 1, scalar_list=True) == [
        (96, 96, 1, 96),
        (4, 4, 1, 4),
    ]
    assert multi_tensor_launches([1] * 100, 1) == [(100, 100, 1, 100)]


@pytest.mark.parametrize(
    ("depth", "tensors", "with_scalars"),
    [(1, 110, 96), (2, 64, 64), (3, 48, 48), (4, 36, 36), (5, 30, 30)],
)
def test_the_tensors_of_a_launch_by_its_lists(depth: int, tensors: int, with_scalars: int) -> None:
    for scalar_list, most in ((False, tensors), (True, with_scalars)):
        planned = multi_tensor_launches([4] * (2 * most + 1), depth, scalar_list=scalar_list)
        assert [launch.elements for launch in planned] == [4 * most, 4 * most, 4]


def test_addcdiv_in_place() -> None:
    (work,) = launched(
        sig(
            "aten._foreach_addcdiv_.ScalarList",
            (),
            args={"scalars": [0.1, 0.2]},
            self=[A, B],
            tensor1=[A, B],
            tensor2=[A, B],
        )
    )
    # reads 3·(24 + 10)·4 bytes, writes one list; value·t1 / t2 + self is 3 FLOPs
    assert (work.read_bytes, work.write_bytes, work.flops) == (408, 136, 102)
    assert work.dims == {
        "tensors": 2,
        "elements": 34,
        "lists": 3,
        "scalars": True,
        "numels": [24, 10],
    }


def test_out_of_place_writes_a_new_list() -> None:
    (work,) = launched(sig("aten._foreach_sqrt.default", [A, B], self=[A, B]))
    assert (work.read_bytes, work.write_bytes, work.dims["lists"]) == (136, 136, 2)


def test_add_of_a_list_with_alpha() -> None:
    (work,) = launched(
        sig("aten._foreach_add_.List", (), args={"alpha": -0.1}, self=[A, B], other=[A, B])
    )
    assert (work.flops, work.read_bytes, work.write_bytes) == (68, 272, 136)


def test_zero_and_copy_read_no_target() -> None:
    (zero,) = launched(sig("aten._foreach_zero_.default", (), self=[A, B]))
    assert (zero.read_bytes, zero.write_bytes) == (0, 136)
    (clone,) = launched(sig("aten._foreach_clone.default", [A, B], self=[A, B]))
    # a load or a store for each list and one more instruction, for each of 24 + 10 numbers
    assert (clone.flops, clone.instructions) == (0, (clone.dims["lists"] + 1) * 34)
    (copy,) = launched(sig("aten._foreach_copy_.default", (), self=[A, B], src=[A, B]))
    assert (copy.read_bytes, copy.write_bytes) == (136, 136)


def test_mixed_dtypes_launch_each() -> None:
    half = ((10,), "bfloat16")
    kernels = launched(sig("aten._foreach_mul_.Scalar", (), self=[A, half]))
    assert [w.family for w in kernels] == ["pointwise", "pointwise"]
    assert [w.bytes for w in kernels] == [192, 40]


def test_norm_zeroes_reduces_and_cleans_up() -> None:
    outs = [((), "float32")] * 2
    zero, work, final = launched(sig("aten._foreach_norm.Scalar", outs, self=[A, B]))
    assert work.dims["lists"] == 1
    assert (zero.family, work.family, final.family) == ("fill", "foreach", "reduction")
    # a square and its sum for 34 elements; two results of 4 bytes
    assert (work.flops, work.read_bytes, final.write_bytes) == (68, 136, 8)


ADAM: dict[str, Any] = {name: [A, B] for name in ("self", "grads", "exp_avgs", "exp_avg_sqs")}
ADAM["state_steps"] = [((), "float32")] * 2


@pytest.mark.parametrize(
    ("args", "more", "figures"),
    [
        # reads 4·136 bytes and two step counters of 4; writes parameters and two moments; 15 FLOPs
        # in 36 instructions for each of 34 elements, four loads, and a store for each result
        ({}, {}, (552, 408, 15 * 34, (36 + 4) * 34, 4)),
        ({"amsgrad": False}, {}, (552, 408, 15 * 34, (36 + 4) * 34, 4)),
        # the maximum of the second moment is compared, read and written
        ({"amsgrad": True}, {"max_exp_avg_sqs": [A, B]},
         (552 + 136, 408 + 136, 16 * 34, (37 + 5) * 34, 5)),
        # unscaled gradients are written back
        ({}, {"grad_scale": [((), "float32")]}, (556, 408 + 136, 15 * 34, (36 + 4) * 34, 4)),
    ],
)  # fmt: skip
def test_fused_adam_is_one_pass(
    args: dict[str, Any], more: dict[str, Any], figures: tuple[int, ...]
) -> None:
    for name in ("adam", "adamw"):
        (work,) = launched(sig(f"aten._fused_{name}_.default", (), None, args, **ADAM, **more))
        moved = (work.read_bytes, work.write_bytes, work.flops, work.instructions)
        assert (*moved, work.dims["lists"]) == figures
        assert (work.dims["elements"], work.dims["variant"]) == (34, "fused")


def test_a_scaler_unscales_its_gradients_in_one_list() -> None:
    scalar = ((), "float32")
    name = "aten._amp_foreach_non_finite_check_and_unscale_.default"
    (work,) = launched(sig(name, (), None, {}, self=[A, B], found_inf=scalar, inv_scale=scalar))
    # a check and a product for 34 elements: 4 instructions and a load
    assert (work.flops, work.instructions, work.write_bytes) == (68, 34 * (4 + 1), 136)
    assert (work.dims["lists"], work.dims["tensors"]) == (1, 2)
    (update,) = launched(
        sig("aten._amp_update_scale_.default", scalar, None, {}, self=scalar,
            growth_tracker=((), "int32"), found_inf=scalar)
    )  # fmt: skip
    # one thread reads three numbers of 4 bytes and writes two
    assert (update.flops, update.read_bytes, update.write_bytes) == (2, 12, 8)
    assert update.instructions == 10
    assert update.dims == {"elements": 1, "inputs": 3, "contiguous": True}


def test_fused_adagrad_is_one_pass_over_three_lists() -> None:
    inputs: dict[str, Any] = {"self": [A, B], "grads": [A, B], "state_sums": [A, B]}
    (work,) = launched(sig("aten._fused_adagrad_.default", (), None, {}, **inputs))
    assert (work.flops, work.instructions) == (9 * 34, (30 + 3) * 34)
    assert (work.read_bytes, work.write_bytes, work.dims["lists"]) == (3 * 136, 2 * 136, 3)


def test_fused_sgd_first_step_only_writes_momentum() -> None:
    inputs: dict[str, Any] = {"self": [A], "grads": [A], "momentum_buffer_list": [A]}
    for first, read, flops in ((True, 192, 2), (False, 288, 5)):
        args = {"weight_decay": 0.0, "is_first_step": first}
        (work,) = launched(sig("aten._fused_sgd_.default", (), args=args, **inputs))
        assert (work.read_bytes, work.write_bytes, work.flops) == (read, 192, 24 * flops)
        assert work.dims["lists"] == 3


@pytest.mark.parametrize(
    ("args", "momentum", "flops"),
    [
        ({}, False, 2),
        ({"weight_decay": 0.0}, False, 2),
        ({"weight_decay": 0.1}, False, 4),
        ({}, True, 5),
        ({"nesterov": True}, True, 7),
        ({"nesterov": True, "weight_decay": 0.1}, True, 9),
    ],
)
def test_the_flops_of_fused_sgd(args: dict[str, Any], momentum: bool, flops: int) -> None:
    buffers: dict[str, Any] = {"momentum_buffer_list": [A]} if momentum else {}
    (work,) = launched(
        sig("aten._fused_sgd_.default", (), None, args, self=[A], grads=[A], **buffers)
    )
    lists = 2 + momentum
    assert (work.flops, work.instructions) == (24 * flops, 24 * (flops + lists))
    assert (work.read_bytes, work.write_bytes) == (96 * lists, 96 * (1 + momentum))
    assert work.dims["lists"] == lists
    scaled = sig(
        "aten._fused_sgd_.default", (), None, args, self=[A], grads=[A], **buffers,
        grad_scale=((), "float32"),
    )  # fmt: skip
    assert launched(scaled)[0].write_bytes == 96 * (2 + momentum)


def test_lists_of_one_dtype_and_layout_run_in_one_launch() -> None:
    single, half = (Tensor((4, 6), dtype, (6, 1)) for dtype in ("float32", "float16"))
    turned = Tensor((4, 6), "float32", (1, 4))
    assert _fast([[single, single], [single, single]], mixed=False)
    # tensors with the same index share a layout; layouts may differ within a list
    assert _fast([[single, turned], [single, turned]], mixed=False)
    assert not _fast([[single, single], [single, turned]], mixed=False)
    # where dtypes may differ between lists, each list has a single one
    assert not _fast([[single, single], [half, half]], mixed=False)
    assert _fast([[single, single], [half, half]], mixed=True)
    assert not _fast([[single, half], [single, half]], mixed=True)


LONE = ((100,), "float32")


@pytest.mark.parametrize(
    "name", ["abs", "neg", "sqrt", "exp", "log", "sigmoid", "tanh", "round", "reciprocal", "sign"]
)
def test_a_list_op_has_the_flops_of_the_op_for_each_element(name: str) -> None:
    (several,) = launched(sig(f"aten._foreach_{name}.default", [LONE], self=[LONE]))
    (one,) = launched(sig(f"aten.{name}.default", LONE, self=LONE))
    assert several.flops == one.flops > 0


@pytest.mark.parametrize(("name", "lone"), [
    ("add", "add.Tensor"), ("sub", "sub.Tensor"), ("mul", "mul.Tensor"), ("div", "div.Tensor"),
    ("maximum", "maximum.default"), ("minimum", "minimum.default"),
    ("clamp_min", "clamp_min.Tensor"), ("clamp_max", "clamp_max.Tensor"),
    ("pow", "pow.Tensor_Tensor"),
])  # fmt: skip
def test_a_list_op_of_two_lists_has_the_flops_of_the_op(name: str, lone: str) -> None:
    (several,) = launched(sig(f"aten._foreach_{name}.List", [LONE], self=[LONE], other=[LONE]))
    key = {"clamp_min": "min", "clamp_max": "max", "pow": "exponent"}.get(name, "other")
    (one,) = launched(sig(f"aten.{lone}", LONE, self=LONE, **{key: LONE}))
    assert several.flops == one.flops > 0
