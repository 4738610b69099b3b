"""Kernels of recurrent layers, against recordings on an H200 and hand-computed sums."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from simulator.costs import Work, works
from simulator.hardware.gpu import gpu
from simulator.lowering.recurrent import _backward_chunk, _weight_bytes, inputs, recurrence
from simulator.records import Signature
from tests.simulator.costs.conftest import sig

H200 = gpu("h200")
MODES = {"rnn": 1, "lstm": 2, "gru": 3}


def rnn(
    kind: str,
    hidden: int,
    steps: int,
    batch: int,
    layers: int = 1,
    dtype: str = "float32",
    back: bool = False,
    train: bool = False,
    both: bool = False,
) -> Signature:
    args: dict[str, Any] = {
        "mode": MODES[kind],
        "hidden_size": hidden,
        "num_layers": layers,
        "train": train,
        "bidirectional": both,
        "output_mask": [True, True, True, True],
        "weight_stride0": 4,
    }
    name = "aten._cudnn_rnn_backward.default" if back else "aten._cudnn_rnn.default"
    x = (steps, batch, hidden), dtype
    return sig(name, x, None, args, input=x)


def recurrences(op: Signature) -> list[Work]:
    return [work for work in works(op) or () if work.family == "rnn"]


@pytest.mark.parametrize(
    ("op", "kernels"),
    [
        # two layers of 64 steps, each a product and a cell: 64 · 2
        (rnn("lstm", 1024, 64, 16, layers=2), [128, 128]),
        (rnn("lstm", 1024, 64, 16, layers=2, dtype="float16"), [128, 128]),
        # both directions: 64 · 2 each
        (rnn("lstm", 256, 64, 16, both=True), [128, 128]),
        # W_hh of 4·128·128·4 bytes fits 256 KiB of registers exactly; a GRU first adds a bias
        (rnn("lstm", 128, 64, 16), [1]),
        (rnn("gru", 128, 64, 16), [2]),
        # forward up to a width of 192, part of which the registers hold; backward up to 128
        (rnn("lstm", 192, 64, 16), [1]),
        (rnn("lstm", 193, 64, 16), [128]),
        (rnn("lstm", 128, 64, 16, back=True, train=True), [2]),
        (rnn("lstm", 136, 64, 16, back=True, train=True), [128]),
        # backward in float32: the parts of the product are added to zeros
        (rnn("lstm", 1024, 64, 16, layers=2, back=True, train=True), [192, 192]),
        # 3·256 = 768 is not deep enough for a split
        (rnn("gru", 256, 4, 32, layers=2, back=True, train=True), [8, 8]),
        # a single step of one row is a matrix times a vector
        (rnn("lstm", 1024, 64, 1, back=True, train=True), [128]),
        # float16: another kernel adds the parts, because the depth is 3·1024 = 3072
        (rnn("gru", 1024, 4, 8, dtype="float16", back=True, train=True), [12]),
        # a float16 LSTM layer in training stays on chip
        (rnn("lstm", 1024, 50, 8, dtype="float16", train=True), [2]),
        (rnn("lstm", 1024, 50, 8, dtype="float16", back=True, train=True), [5]),
    ],
)
def test_counts(op: Signature, kernels: list[int]) -> None:
    assert [len(recurrence(op, work, H200)) for work in recurrences(op)] == kernels


@pytest.mark.parametrize("back", [False, True])
def test_steps_add_up_and_each_reads_the_weights(back: bool) -> None:
    op = rnn("lstm", 512, 7, 3, train=True, back=back)
    (work,) = recurrences(op)
    kernels = [k for k in recurrence(op, work, H200) if k.family != "fill"]
    assert sum(k.flops for k in kernels) == work.flops
    assert sum(k.instructions for k in kernels) == work.instructions
    # W_hh has 4·512·512·4 = 4,194,304 bytes and is read 7 times instead of once. Between the two
    # kernels of a step pass the gates of 3 rows, 3·4·512·4 = 24,576 bytes, and the state, 3·512·4 =
    # 6144: one is the operand of the product, the other its result, which is written and which the
    # cell reads
    result, operand = (6_144, 24_576) if back else (24_576, 6_144)
    reads = work.read_bytes + 6 * 4_194_304 + 7 * (result + operand)
    assert sum(k.read_bytes for k in kernels) == reads
    assert sum(k.write_bytes for k in kernels) == work.write_bytes + 7 * result


def test_backward_starts_with_the_cell() -> None:
    op = rnn("lstm", 512, 2, 3, back=True, train=True)
    (work,) = recurrences(op)
    assert [k.family for k in recurrence(op, work, H200)] == ["pointwise", "fill", "gemm"] * 2


def product(m: int, n: int, k: int) -> Work:
    return Work(
        "rnn_input",
        2 * m * n * k,
        4 * (m * k + k * n),
        4 * m * n,
        "tensor",
        "tf32",
        dims={"b": 1, "m": m, "n": n, "k": k, "transa": False, "transb": True, "epilogue": None},
    )


@pytest.mark.parametrize(
    ("steps", "batch", "chunks"),
    [
        (64, 16, 4),  # a quarter of the steps: 16
        (10, 1, 5),  # 10 // 4 = 2 steps
        (100, 64, 13),  # 512 rows are 8 steps: ⌈100 / 8⌉
        (128, 32, 8),  # 16 steps
        (90, 4, 5),  # 22 steps, and a rest of 2
        (160, 4, 8),  # a quarter would be more than 24 steps, so an eighth
    ],
)
def test_inputs_come_in_chunks_to_stacked_layers(steps: int, batch: int, chunks: int) -> None:
    op = rnn("lstm", 512, steps, batch, layers=2)
    work = product(steps * batch, 2048, 512)
    kernels = inputs(op, work, H200)
    assert len(kernels) == chunks
    assert sum(k.flops for k in kernels) == work.flops
    assert sum(k.dims["m"] for k in kernels) == steps * batch


def test_gradients_of_inputs_come_in_chunks() -> None:
    op = rnn("lstm", 1024, 64, 16, layers=2, back=True, train=True)
    kernels = inputs(op, product(1024, 1024, 4096), H200)
    # 128 rows are 8 steps: 8 chunks, each added to zeros
    assert [k.family for k in kernels] == ["fill", "gemm"] * 8


@pytest.mark.parametrize(
    ("layers", "both", "hidden"), [(1, False, 512), (2, True, 512), (2, False, 128)]
)
def test_inputs_come_whole(layers: int, both: bool, hidden: int) -> None:
    op = rnn("lstm", hidden, 64, 16, layers=layers, both=both)
    work = product(1024, 4 * hidden, hidden)
    (kernel,) = inputs(op, work, H200)
    assert (kernel.family, kernel.flops) == ("gemm", work.flops)


def test_a_bias_is_added_to_all_gates_once() -> None:
    op = rnn("gru", 128, 64, 16, dtype="float16")
    bias, _ = recurrence(op, recurrences(op)[0], H200)
    # 3 gates of 128, 16 samples, 64 steps: 393,216 numbers of 2 bytes are read and written
    assert (bias.read_bytes, bias.write_bytes) == (786_432, 786_432)
    assert bias.dims["elements"] == 393_216
    assert bias.instructions == 2 * 393_216


def test_the_cell_of_a_step_has_a_number_for_each_state() -> None:
    op = rnn("lstm", 512, 7, 3, train=True)
    cell = recurrence(op, recurrences(op)[0], H200)[-1]
    # 3 samples of 512 states
    assert (cell.family, cell.dims["elements"], cell.dims["gates"]) == ("pointwise", 1536, 4)
    assert not cell.dims["back"] and cell.dims["train"]


@pytest.mark.parametrize(
    ("hidden", "back", "variant", "wide"),
    [
        # 4 gates · 128² · 4 bytes are exactly the 256 KiB of registers; 4 · 160² · 4 exceed them
        (128, False, "forward", 128),
        (129, False, "spilled", 160),
        (100, False, "forward", 128),
        (128, True, "backward", 128),
    ],
)
def test_weights_beyond_the_registers_are_read_at_each_step(
    hidden: int, back: bool, variant: str, wide: int
) -> None:
    op = rnn("lstm", hidden, 64, 16, back=back, train=True)
    kernel = recurrence(op, recurrences(op)[0], H200)[-1]
    assert (kernel.dims["variant"], kernel.dims["wide"]) == (variant, wide)


@pytest.mark.parametrize(
    ("batch", "families"),
    [
        # 2,048 columns take 32 tiles of 64: from a depth of 1,024 on, 8 to 64 rows are split
        (7, ["gemm", "pointwise"]),
        (8, ["gemm", "reduction", "pointwise"]),
        (64, ["gemm", "reduction", "pointwise"]),
        (65, ["gemm", "pointwise"]),
    ],
)
def test_a_deep_product_of_some_rows_is_split(batch: int, families: list[str]) -> None:
    op = rnn("rnn", 2048, 1, batch)
    assert [k.family for k in recurrence(op, recurrences(op)[0], H200)] == families


def test_bfloat16_is_never_one_kernel() -> None:
    """Recorded on an H100: a bidirectional LSTM of width 48 over 32 steps in bfloat16 launches 32
    products and 32 cells per direction, forward and backward; in float16 it is one kernel."""
    for back in (False, True):
        op = rnn("lstm", 48, 32, 64, dtype="bfloat16", both=True, train=True, back=back)
        assert [len(recurrence(op, work, H200)) for work in recurrences(op)] == [64, 64]
    half = rnn("lstm", 48, 32, 64, dtype="float16", both=True)
    assert [len(recurrence(half, work, H200)) for work in recurrences(half)] == [1, 1]


@pytest.mark.parametrize(
    ("batch", "steps", "chunk"),
    [
        (1, 64, 32), (2, 64, 16), (8, 64, 16), (9, 64, 8), (16, 64, 8), (17, 64, 4), (63, 64, 4),
        (64, 64, 2),
        # at most 32 chunks
        (64, 65, 4), (1, 1025, 64),
    ],
)  # fmt: skip
def test_chunks_of_the_backward_have_about_128_rows(batch: int, steps: int, chunk: int) -> None:
    assert _backward_chunk(batch, steps) == chunk


def test_weights_of_a_step_include_the_projection() -> None:
    sizes = {"gates": 4, "hidden": 8}
    plain, projected = (Work("rnn", dims=sizes | {"projection": n}) for n in (8, 5))
    # 4·8 · 8 weights; with a projection 4·8 · 5, and 8 · 5 of the projection
    assert (_weight_bytes(plain, 2), _weight_bytes(projected, 2)) == (512, 400)


@pytest.mark.parametrize("back", [False, True])
def test_the_last_step_has_what_is_left_of_the_work(back: bool) -> None:
    op = rnn("lstm", 512, 7, 3, train=True, back=back)
    (plain,) = recurrences(op)
    more = {n: getattr(plain, n) + left for n, left in dict(flops=4, instructions=5).items()}
    odd = replace(plain, **more, read_bytes=plain.read_bytes + 6, write_bytes=plain.write_bytes + 3)
    kernels, whole = (recurrence(op, w, H200) for w in (odd, plain))
    for name, left in dict(flops=4, instructions=5, read_bytes=6, write_bytes=3).items():
        by_step = [
            sum(getattr(k, name) for k in part)
            for part in (kernels[: -len(kernels) // 7], kernels[-len(kernels) // 7 :])
        ]
        before = [
            sum(getattr(k, name) for k in part)
            for part in (whole[: -len(whole) // 7], whole[-len(whole) // 7 :])
        ]
        # the remainder of dividing the addition by 7 goes to the last seventh: the first six have
        # none of it
        assert [by_step[0] - before[0], by_step[1] - before[1]] == [0, left], name
