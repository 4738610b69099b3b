"""Losses, kernel by kernel, against hand-computed figures."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulator.costs.conftest import launched, sig, sums

F32, F64, I64 = "float32", "float64", "int64"
X, SCALAR = ((16, 8), F32), ((), F32)  # 128 elements, 512 bytes


def loss(
    name: str, out: Any = SCALAR, args: dict[str, Any] | None = None, **inputs: Any
) -> list[tuple[str, int, int, int, int]]:
    return sums(launched(sig(f"aten.{name}", out, None, args, **inputs)))


TOTAL = ("reduction", 128, 512, 4, 256)
UNARY = ("pointwise", 128, 512, 512, 3 * 128)
BINARY = ("pointwise", 128, 1024, 512, 4 * 128)
EXPONENTIAL = ("pointwise", 128, 512, 512, 12 * 128)  # one FLOP that takes 10 instructions


@pytest.mark.parametrize(
    ("name", "flops"), [("mse_loss", 2), ("smooth_l1_loss", 5), ("huber_loss", 5)]
)
def test_an_elementwise_loss_is_its_terms_and_their_sum(name: str, flops: int) -> None:
    terms = ("pointwise", 128 * flops, 1024, 512, 128 * (flops + 3))
    assert loss(f"{name}.default", self=X, target=X) == [terms, TOTAL]
    assert loss(f"{name}.default", X, {"reduction": 2}, self=X, target=X) == [terms, TOTAL]
    assert loss(f"{name}.default", X, {"reduction": 0}, self=X, target=X) == [terms]
    # the gradient of one number: 512 + 512 + 4 bytes are read
    flops = 3 if name == "mse_loss" else 5
    assert loss(f"{name}_backward.default", X, grad_output=SCALAR, self=X, target=X) == [
        ("fill", 0, 0, 512, 256),
        ("pointwise", 128 * flops, 1028, 512, 128 * (flops + 3)),
    ]


def test_binary_cross_entropy_has_two_logarithms() -> None:
    name = "binary_cross_entropy.default"
    # 9 FLOPs, of which two take 10 instructions: 27, plus two loads and a store
    terms = ("pointwise", 9 * 128, 1024, 512, 30 * 128)
    weighing = ("pointwise", 128, 1024, 512, 4 * 128)
    assert loss(name, self=X, target=X) == [terms, TOTAL]
    assert loss(name, self=X, target=X, weight=X) == [terms, weighing, TOTAL]
    assert loss(name, X, {"reduction": 0}, self=X, target=X, weight=X) == [terms, weighing]


def test_the_gradient_of_a_mean_is_divided() -> None:
    name = "binary_cross_entropy_backward.default"
    inputs = {"grad_output": SCALAR, "self": X, "target": X}
    main = ("pointwise", 6 * 128, 1028, 512, 9 * 128)
    assert loss(name, X, {}, **inputs) == [main, UNARY]
    assert loss(name, X, {"reduction": 2}, **inputs) == [main]
    assert loss(name, X, {"reduction": 2}, **inputs, weight=X) == [main, BINARY]


def test_logits_are_weighed_op_by_op() -> None:
    name = "binary_cross_entropy_with_logits.default"
    # min, a difference, an absolute value, an exponential and a logarithm: 5 FLOPs in
    # 3 + 2·10 = 23 instructions
    sigmoid = ("pointwise", 5 * 128, 512, 512, 25 * 128)
    one = ("fill", 0, 0, 4, 2)
    plain = [sigmoid, one, BINARY, BINARY, BINARY]
    assert loss(name, self=X, target=X) == [*plain, TOTAL]
    assert loss(name, X, {"reduction": 0}, self=X, target=X) == plain
    pos = ((8,), F32)
    positive = [
        ("pointwise", 8, 32, 32, 24),  # less one
        ("pointwise", 128, 544, 512, 384),  # times y
        UNARY,
        BINARY,
    ]
    assert loss(name, self=X, target=X, pos_weight=pos) == [
        sigmoid,
        *positive,
        *plain[1:],
        TOTAL,
    ]
    assert loss(name, self=X, target=X, weight=X) == [*plain, BINARY, TOTAL]


def test_soft_margins_are_computed_op_by_op() -> None:
    forward = [UNARY, BINARY, EXPONENTIAL, EXPONENTIAL]
    assert loss("soft_margin_loss.default", self=X, target=X) == [*forward, TOTAL]
    assert loss("soft_margin_loss.default", X, {"reduction": 0}, self=X, target=X) == forward
    name, inputs = "soft_margin_loss_backward.default", {"grad_output": SCALAR, "self": X}
    before = [UNARY, BINARY, EXPONENTIAL, BINARY, UNARY, UNARY, BINARY]
    assert loss(name, X, {}, **inputs, target=X) == [*before, UNARY, BINARY]
    assert loss(name, X, {"reduction": 2}, **inputs, target=X) == [*before, BINARY]


def test_one_value_a_row_is_picked() -> None:
    x, target, weight = ((300, 1000), F32), ((300,), I64), ((1000,), F32)
    name = "nll_loss_forward.default"
    inputs = {"self": x, "target": target}
    # 300 values of 4 bytes and 300 targets of 8
    (work,) = launched(sig(f"aten.{name}", [SCALAR, SCALAR], None, {}, **inputs))
    assert sums([work]) == [("nll", 600, 3600, 8, 2400)]
    # log2(300 / 16 = 18.75) = 4.23 is nearer to that of 16 than of 32; at least one warp
    assert work.dims == {
        "variant": "forward", "picks": 300, "rows": 1, "width": 1000, "steps": 10, "threads": 32,
        "itemsize": 4,
    }  # fmt: skip
    weighed = loss(name, [SCALAR, SCALAR], {}, **inputs, weight=weight)
    assert weighed == [("nll", 600, 4800, 8, 2400)]
    rows = ((300,), F32)
    assert loss(name, [rows, SCALAR], {"reduction": 0}, **inputs) == [
        ("fill", 0, 0, 4, 2),  # the sum of weights
        ("nll", 600, 3600, 1204, 2400),
    ]


@pytest.mark.parametrize(
    ("rows", "threads", "steps"),
    # a thread for every 16 rows, rounded to the nearest power of two by logarithm: 44.8 is 2^5.49
    # and 45.9 is 2^5.52
    [(1, 32, 1), (716, 32, 23), (734, 64, 12), (16384, 1024, 16), (10**6, 1024, 977)],
)
def test_a_reduced_loss_is_one_block(rows: int, threads: int, steps: int) -> None:
    x, target = ((rows, 10), F32), ((rows,), I64)
    (work,) = launched(
        sig("aten.nll_loss_forward.default", [SCALAR, SCALAR], None, {}, self=x, target=target)
    )
    assert (work.dims["threads"], work.dims["steps"]) == (threads, steps)


def test_the_gradient_of_picked_values_is_zero_but_there() -> None:
    x, target, weight = ((300, 10), F32), ((300,), I64), ((10,), F32)
    name = "nll_loss_backward.default"
    inputs = {"grad_output": SCALAR, "self": x, "target": target}
    zeros = ("fill", 0, 0, 12000, 6000)
    # reads the gradient and the sum of the weights, 4 bytes each, and 300 targets
    assert loss(name, x, {}, **inputs) == [zeros, ("nll", 600, 2408, 1200, 2400)]
    assert loss(name, x, {}, **inputs, weight=weight)[1][2] == 3608
    scattered = ("scatter", 300, 2408, 1200, 2100)
    _, each = launched(sig(f"aten.{name}", x, None, {"reduction": 0}, **inputs))
    assert sums([each]) == [("nll", 600, 2408, 1200, 2400)]
    # a thread for each of 300 rows of 10 classes
    assert (each.dims["variant"], each.dims["threads"], each.dims["steps"]) == ("each", 300, 1)
    assert loss("nll_loss2d_backward.default", x, {"reduction": 0}, **inputs) == [zeros, scattered]
    _, block = launched(sig(f"aten.{name}", x, None, {}, **inputs))
    assert (block.dims["variant"], block.dims["width"]) == ("backward", 10)


def test_pixels_add_to_a_cleared_sum() -> None:
    x, target, weight = ((2, 5, 10, 10), F32), ((2, 10, 10), I64), ((5,), F32)
    name, inputs = "nll_loss2d_forward.default", {"self": x, "target": target}
    clear, main = ("fill", 0, 0, 4, 2), ("nll", 400, 2400, 8, 1600)
    average = ("pointwise", 1, 8, 4, 4)
    outs = [SCALAR, SCALAR]
    assert loss(name, outs, {}, **inputs) == [clear, clear, main, average]
    assert loss(name, outs, {"reduction": 2}, **inputs) == [clear, clear, main]
    alone = ("reduction", 400, 2400, 8, 600)
    assert loss(name, outs, {"reduction": 0}, **inputs) == [alone]
    assert loss(name, outs, {}, **inputs, weight=weight)[2][2] == 3200


@pytest.mark.parametrize(
    ("images", "side", "steps"),
    # a block for each 128 · 1,024 pixels of an image, at least one: 10² pixels are one step of a
    # block, 256² are 64, 512² are 128 of each of two blocks, 640² are 134 of each of three
    [(2, 10, 1), (8, 256, 64), (2, 512, 128), (1, 640, 134)],
)
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_pixels_are_picked_by_few_blocks(
    images: int, side: int, steps: int, direction: str
) -> None:
    x, target = ((images, 5, side, side), F32), ((images, side, side), I64)
    out = x if direction == "backward" else [SCALAR, SCALAR]
    inputs = {"grad_output": SCALAR} if direction == "backward" else {}
    works = launched(
        sig(f"aten.nll_loss2d_{direction}.default", out, None, {}, **inputs, self=x, target=target)
    )
    (pick,) = [work for work in works if work.family == "nll"]
    assert (pick.dims["variant"], pick.dims["steps"]) == (direction, steps)
    assert (pick.dims["threads"], pick.dims["width"]) == (1024, 1)


def test_margins_are_reduced_row_by_row() -> None:
    target, one = ((16,), I64), ((100,), F32)
    name, inputs = "multi_margin_loss.default", {"self": X, "target": target}
    main = ("reduction", 512, 640, 64, 640)
    assert loss(name, SCALAR, {}, **inputs) == [main, ("reduction", 16, 64, 4, 32)]
    assert loss(name, ((16,), F32), {"reduction": 0}, **inputs) == [main]
    assert loss(name, SCALAR, {}, self=one, target=((), I64)) == [("reduction", 400, 408, 4, 500)]
    backward = launched(
        sig("aten.multi_margin_loss_backward.default", X, None, {}, grad_output=SCALAR, **inputs)
    )
    assert sums(backward) == [("reduction", 512, 644, 512, 640)]
    assert backward[0].dims == {"rows": 16, "cols": 8, "inner": 1}


def test_connectionist_losses_scan_their_steps() -> None:
    probabilities, targets = ((50, 4, 20), F32), ((4, 10), I64)
    out = [((4,), F32), ((4, 50, 21), F32)]
    name = "_ctc_loss.default"
    sent = ("memcpy", 0, 0, 32, 0)
    inputs = {"log_probs": probabilities, "targets": targets}
    # 4·50·21 = 4,200 cells; three exponentials and a logarithm take 36 more instructions
    main = ("scan", 42000, 16800 + 320, 16800 + 16, 4200 * 46)
    kernels = launched(sig(f"aten.{name}", out, None, {"target_lengths": [10, 3]}, **inputs))
    assert sums(kernels) == [sent, sent, sent, main]
    assert kernels[3].dims == {"variant": "ctc", "samples": 4, "steps": 50, "states": 21}
    # without lengths, the lengths of the targets count
    assert loss(name, out, {}, **inputs)[3] == main
    alpha = ((4, 50, 21), F32)
    kernels = launched(
        sig("aten._ctc_loss_backward.default", probabilities, None, {}, grad=((4,), F32),
            log_alpha=alpha, **inputs)
    )  # fmt: skip
    assert sums(kernels) == [
        sent,
        sent,
        sent,
        ("fill", 0, 0, 16000, 8000),
        ("fill", 0, 0, 16800, 8400),
        ("scan", 42000, 17120, 16800, 4200 * 46),
        # 4 FLOPs, two of them of 10 instructions; 49,600 bytes read are about three operands of
        # 16,000
        ("pointwise", 16000, 16000 + 2 * 16800, 16000, 4000 * 26),
    ]
    assert kernels[5].dims == {"variant": "ctc", "samples": 4, "steps": 50, "states": 21}


def test_a_mean_difference_reads_each_operand_once() -> None:
    double = ((16, 8), F64)
    (terms, summed) = launched(sig("aten.mse_loss.default", ((), F64), self=double, target=double))
    assert (terms.dtype, summed.dtype, terms.read_bytes) == ("float64", "float64", 2048)
