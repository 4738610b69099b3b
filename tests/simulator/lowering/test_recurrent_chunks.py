"""Bytes of the chunks of a stacked layer's inputs, of spread layers and of split steps."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from simulator.costs import Work
from simulator.lowering.recurrent import inputs, recurrence
from tests.simulator.costs.conftest import sig
from tests.simulator.lowering.test_recurrent import H200, product, recurrences, rnn


def test_each_chunk_reads_the_weights_and_its_rows() -> None:
    """90 steps of 4 rows in chunks of 22 steps: 4 chunks of 88 rows and one of 8. W is [2048, 512],
    4 · 1,048,576 bytes; a row of x has 4 · 512 bytes and a row of the result 4 · 2,048."""
    op = rnn("lstm", 512, 90, 4, layers=2)
    chunks = inputs(op, product(360, 2048, 512), H200)
    rows = [88, 88, 88, 88, 8]
    assert [k.dims["m"] for k in chunks] == rows
    assert [k.read_bytes for k in chunks] == [4_194_304 + 2048 * m for m in rows]
    assert [k.write_bytes for k in chunks] == [8192 * m for m in rows]
    assert [k.flops for k in chunks] == [2 * m * 2048 * 512 for m in rows]


@pytest.mark.parametrize(("steps", "batch", "chunks"), [
    (5, 16, 5), (3, 16, 3), (1, 16, 1),  # a quarter of the steps is one step or less
    (16, 512, 16), (16, 600, 16),  # one step has 512 rows or more
    (8, 16, 4), (16, 256, 8), (96, 16, 4), (100, 16, 9), (200, 16, 17),
])  # fmt: skip
def test_a_chunk_has_at_least_one_step(steps: int, batch: int, chunks: int) -> None:
    """100 steps in quarters are 25 each, more than 24, so chunks have an eighth: 12 steps, and 4
    remain; 200 steps make 16 chunks of 12, a sixteenth, and one of 8."""
    op = rnn("lstm", 512, steps, batch, layers=2)
    kernels = inputs(op, product(steps * batch, 2048, 512), H200)
    products = [k for k in kernels if k.family == "gemm"]
    assert len(products) == chunks
    assert sum(k.dims["m"] for k in products) == steps * batch


@pytest.mark.parametrize("sizes", [False, True])
def test_packed_and_batch_first_inputs_count_their_own_steps(sizes: bool) -> None:
    """64 steps of 16 rows make chunks of 16 steps, however the steps are stored."""
    args: dict[str, Any] = {
        "mode": 2,
        "hidden_size": 512,
        "num_layers": 2,
        "batch_sizes": [16] * 64 if sizes else [],
        "batch_first": not sizes,
    }
    shape = (1024, 512) if sizes else (16, 64, 512)
    op = sig("aten._cudnn_rnn.default", (shape, "float32"), None, args, input=(shape, "float32"))
    chunks = inputs(op, product(1024, 2048, 512), H200)
    assert [k.dims["m"] for k in chunks] == [256] * 4


@pytest.mark.parametrize(("hidden", "dtype", "back", "chunks"), [
    (192, "float32", False, 1), (193, "float32", False, 4), (128, "float32", True, 1),
    (129, "float32", True, 8), (48, "bfloat16", False, 4),
])  # fmt: skip
def test_inputs_of_a_single_kernel_recurrence_come_whole(
    hidden: int, dtype: str, back: bool, chunks: int
) -> None:
    op = rnn("lstm", hidden, 64, 16, layers=2, dtype=dtype, back=back)
    kernels = inputs(op, product(1024, 4 * hidden, hidden), H200)
    assert sum(k.family == "gemm" for k in kernels) == chunks


def test_a_spread_layer_synchronizes_its_units_by_flags() -> None:
    """4 bytes for each of 132 multiprocessors; the states of 8 rows of 1,024 half-precision numbers
    are 16 KiB."""
    forward = rnn("lstm", 1024, 50, 8, dtype="float16", train=True)
    flags, spread = recurrence(forward, recurrences(forward)[0], H200)
    assert (flags.family, flags.write_bytes) == ("fill", 4 * 132)
    assert (spread.dims["variant"], spread.dims["wide"]) == ("spread", 1024)
    back = rnn("lstm", 1024, 50, 8, dtype="float16", train=True, back=True)
    state, flags, again, _, last = recurrence(back, recurrences(back)[0], H200)
    assert state == again == last
    assert (state.read_bytes, state.write_bytes) == (16384, 16384)


@pytest.mark.parametrize(("changed", "kernels"), [
    ({}, 2), (dict(batch=12), 100), (dict(dtype="float32"), 100), (dict(train=False), 2),
    (dict(hidden=1000), 100), (dict(hidden=320), 100), (dict(hidden=1536), 100),
    (dict(batch=128), 2), (dict(batch=256), 100), (dict(hidden=512, batch=128), 100),
    (dict(both=True), 100), (dict(layers=2), 100), (dict(dtype="bfloat16"), 100),
    (dict(kind="gru"), 100),
])  # fmt: skip
def test_only_one_wide_lstm_in_float16_with_rows_in_eights_and_whole_tiles_is_spread(
    changed: dict[str, Any], kernels: int
) -> None:
    given: dict[str, Any] = dict(
        kind="lstm", hidden=1024, steps=50, batch=8, dtype="float16", train=True
    )
    op = rnn(**(given | changed))
    # a product and a cell for each of 50 steps
    assert len(recurrence(op, recurrences(op)[0], H200)) == kernels


def with_projection(gates: int, hidden: int, projection: int, dtype: str = "float16") -> Work:
    op = rnn("lstm", hidden, 4, 8, dtype=dtype)
    (work,) = recurrences(op)
    return replace(work, dims=work.dims | {"projection": projection, "gates": gates})


@pytest.mark.parametrize(("gates", "hidden", "projection", "kernels"), [
    # 1 · 362² weights of 2 bytes are 262,088 bytes, 363² are 263,538; registers hold 262,144
    (1, 256, 256, 1), (1, 362, 362, 1), (1, 363, 363, 8),
    # (4 · 256 + 256) · 102 · 2 = 261,120 bytes; with 103 they are 263,680; registers hold 262,144
    (4, 256, 102, 1), (4, 256, 103, 8),
])  # fmt: skip
def test_recurrences_without_gates_or_with_projections_are_one_kernel_if_registers_hold_them(
    gates: int, hidden: int, projection: int, kernels: int
) -> None:
    op = rnn("lstm", hidden, 4, 8, dtype="float16")
    assert len(recurrence(op, with_projection(gates, hidden, projection), H200)) == kernels


def test_a_step_of_half_precision_backward_sums_parts_of_deep_or_unaligned_products() -> None:
    """4 · 767 = 3,068 gates are not deep enough, 4 · 768 are; 769 half-precision numbers are 1,538
    bytes."""
    for hidden, families in (
        (760, ["pointwise", "gemm"]),
        (768, ["pointwise", "gemm", "reduction"]),
        (513, ["pointwise", "gemm", "reduction"]),
    ):
        op = rnn("lstm", hidden, 1, 12, dtype="float16", train=True, back=True)
        assert [k.family for k in recurrence(op, recurrences(op)[0], H200)] == families
    # two float32 partial results, 2 · 4 · 12 · 768 bytes; the sum is written in half precision
    op = rnn("lstm", 768, 1, 12, dtype="float16", train=True, back=True)
    total = recurrence(op, recurrences(op)[0], H200)[-1]
    assert (total.read_bytes, total.write_bytes) == (2 * 4 * 12 * 768, 2 * 12 * 768)
    assert (total.instructions, total.dims["elements"]) == (2 * 12 * 768, 12 * 768)
    assert (total.dims["parts"], total.dims["item_bytes"]) == (2, 2)
    # in the forward pass, nothing is split in half precision
    forward = rnn("lstm", 768, 1, 12, dtype="float16")
    assert [k.family for k in recurrence(forward, recurrences(forward)[0], H200)] == [
        "gemm",
        "pointwise",
    ]


def test_sizes_of_the_product_of_a_step() -> None:
    """Forward h [3, 512] @ W_hhᵀ [512, 2048]; backward gates [3, 2048] @ W_hh [2048, 512]."""
    for back, sizes in ((False, (3, 2048, 512)), (True, (3, 512, 2048))):
        op = rnn("lstm", 512, 1, 3, train=True, back=back)
        (step,) = [k for k in recurrence(op, recurrences(op)[0], H200) if k.family == "gemm"]
        assert (step.dims["m"], step.dims["n"], step.dims["k"]) == sizes
        assert (step.dims["transa"], step.dims["transb"]) == (False, not back)
        assert (step.dims["align_bytes"], step.dims["variant"]) == (16, "tensor_step")
    wide = rnn("lstm", 512, 1, 3, dtype="float64")
    (step,) = [k for k in recurrence(wide, recurrences(wide)[0], H200) if k.family == "gemm"]
    assert "variant" not in step.dims


def test_directions_and_stacked_layers_run_on_streams() -> None:
    def streams(**changed: Any) -> dict[str, Any]:
        given: dict[str, Any] = dict(kind="gru", hidden=256, steps=8, batch=4, dtype="float32")
        op = rnn(**(given | changed))
        product, *_ = recurrence(op, recurrences(op)[0], H200)
        return {name: product.dims.get(name) for name in ("streams", "stream_blocks")}

    assert streams() == {"streams": None, "stream_blocks": None}
    # 3·256 columns are 24 blocks of 32
    assert streams(both=True) == {"streams": 2.0, "stream_blocks": 24.0}
    # four chunks and the wait for the first of them: 4·2 / 5 and 4·3 / 6
    assert streams(layers=2)["streams"] == pytest.approx(1.6)
    assert streams(layers=3)["streams"] == pytest.approx(2.0)
    # one direction follows the other if both are single kernels
    assert streams(hidden=64, both=True) == {"streams": None, "stream_blocks": None}
