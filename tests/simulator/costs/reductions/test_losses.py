"""Losses and distances against hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import Work
from tests.simulator.costs.conftest import Spec, launched, sig

F32, I64 = "float32", "int64"
X, ONE = ((16, 100), F32), ((), F32)
NONE, MEAN, SUM = 0, 1, 2


def run(name: str, out: Spec | list[Spec], args: dict[str, Any], **inputs: Any) -> tuple[Work, ...]:
    return launched(sig(f"aten.{name}.default", out, None, args, **inputs))


def families(works: tuple[Work, ...]) -> list[str]:
    return [w.family for w in works]


@pytest.mark.parametrize("name", ["mse_loss", "smooth_l1_loss", "huber_loss"])
def test_a_reduced_loss_is_its_terms_and_their_sum(name: str) -> None:
    terms, total = run(name, ONE, {"reduction": MEAN}, self=X, target=X)
    # 1,600·4 = 6,400 bytes for each of x, y and the terms
    assert (terms.read_bytes, terms.write_bytes) == (12800, 6400)
    assert (total.family, total.read_bytes, total.write_bytes) == ("reduction", 6400, 4)
    assert (total.dims["rows"], total.dims["cols"], total.dims["vector"]) == (1, 1600, 4)
    assert len(run(name, X, {"reduction": NONE}, self=X, target=X)) == 1


def test_mse_flops_and_backward() -> None:
    terms, total = run("mse_loss", ONE, {}, self=X, target=X)
    # a difference and a square each, then 1,600 additions
    assert (terms.flops, total.flops) == (3200, 1600)
    clear, back = run(
        "mse_loss_backward", X, {"reduction": MEAN}, grad_output=ONE, self=X, target=X
    )
    assert (clear.family, clear.write_bytes) == ("fill", 6400)
    # 4 + 2·6,400
    assert (back.read_bytes, back.write_bytes, back.flops) == (12804, 6400, 4800)


def test_nll_reads_one_value_a_row() -> None:
    target = ((16,), I64)
    (work,) = run("nll_loss_forward", [ONE, ONE], {"reduction": MEAN}, self=X, target=target)
    # reads 16·4 + 16·8 = 192 bytes, independent of the number of classes; writes the loss and the
    # weights' sum
    assert (work.read_bytes, work.write_bytes) == (192, 8)
    clear, put = run(
        "nll_loss_backward",
        X,
        {"reduction": MEAN},
        grad_output=ONE,
        self=X,
        target=target,
        total_weight=ONE,
    )
    assert (clear.write_bytes, put.write_bytes) == (6400, 64)
    # reads the gradient, 16 targets and the weights' sum
    assert put.read_bytes == 4 + 128 + 4


@pytest.mark.parametrize(
    ("rows", "threads", "steps"),
    [
        (16, 32, 1),
        (5371, 256, 21),  # 5371 / 16 = 335.7 is nearer to 2^8 than to 2^9 on a logarithmic scale
        (100_000, 1024, 98),
    ],
)
def test_a_reduced_nll_is_one_block(rows: int, threads: int, steps: int) -> None:
    x, target = ((rows, 8), "float32"), ((rows,), I64)
    (work,) = run("nll_loss_forward", [ONE, ONE], {"reduction": MEAN}, self=x, target=target)
    assert (work.family, work.dims["threads"], work.dims["steps"]) == ("nll", threads, steps)


def test_nll_of_images_clears_and_averages() -> None:
    x, target = ((2, 10, 8, 8), F32), ((2, 8, 8), I64)
    name = "nll_loss2d_forward"
    works = run(name, [ONE, ONE], {"reduction": MEAN}, self=x, target=target)
    assert families(works) == ["fill", "fill", "nll", "pointwise"]
    # reads 128·4 + 128·8 bytes
    assert works[2].read_bytes == 1536
    assert len(run(name, [ONE, ONE], {"reduction": SUM}, self=x, target=target)) == 3


def test_binary_cross_entropy() -> None:
    terms, weigh, total = run(
        "binary_cross_entropy", ONE, {"reduction": MEAN}, self=X, target=X, weight=X
    )
    assert families((terms, weigh, total)) == ["pointwise", "pointwise", "reduction"]
    # 1,600·9
    assert terms.flops == 14400
    back = run(
        "binary_cross_entropy_backward", X, {"reduction": SUM}, grad_output=X, self=X, target=X
    )
    # three tensors of 6,400 bytes; no division by n
    assert [(w.read_bytes, w.write_bytes) for w in back] == [(19200, 6400)]


@pytest.mark.parametrize(("more", "launches"), [({}, 6), ({"pos_weight": ((100,), F32)}, 10)])
def test_bce_with_logits_is_op_by_op(more: dict[str, Spec], launches: int) -> None:
    works = run("binary_cross_entropy_with_logits", ONE, {}, self=X, target=X, **more)
    assert len(works) == launches


def test_soft_margin_loss() -> None:
    assert len(run("soft_margin_loss", ONE, {}, self=X, target=X)) == 5
    assert len(run("soft_margin_loss", X, {"reduction": NONE}, self=X, target=X)) == 4


def test_margin_loss_is_a_row_each_and_their_sum() -> None:
    rows, total = run("multi_margin_loss", ONE, {}, self=X, target=((16,), I64))
    # reads 6,400 + 16·8 bytes, writes 16·4
    assert (rows.read_bytes, rows.write_bytes, total.read_bytes) == (6528, 64, 64)


def test_ctc_sends_lengths_and_scans() -> None:
    log_probs, targets = ((50, 4, 20), F32), ((4, 10), I64)
    args = {"input_lengths": [50] * 4, "target_lengths": [10] * 4}
    outs: list[Spec] = [((4,), F32), ((4, 50, 21), F32)]
    works = run("_ctc_loss", outs, args, log_probs=log_probs, targets=targets)
    assert families(works) == ["memcpy", "memcpy", "memcpy", "scan"]
    # alpha of 4·50·21 = 4,200 and 4 losses
    assert works[-1].write_bytes == 16816


def cdist(p: int, r: int, norm: float) -> tuple[Work, ...]:
    args = {"p": norm, "compute_mode": None}
    out = ((p, r), F32)
    return run("_cdist_forward", out, args, x1=((p, 8), F32), x2=((r, 8), F32))


def test_few_distances_are_one_kernel() -> None:
    (work,) = cdist(20, 25, 2.0)
    # 500 pairs of 8 coordinates with 3 FLOPs each
    assert (work.flops, work.write_bytes) == (12000, 2000)


def test_many_euclidean_distances_are_a_product() -> None:
    works = cdist(30, 40, 2.0)
    assert families(works).count("gemm") == 1
    # 2·30·40·(8 + 2) FLOPs
    assert next(w for w in works if w.family == "gemm").flops == 24000
    assert len(cdist(30, 40, 1.0)) == 1
