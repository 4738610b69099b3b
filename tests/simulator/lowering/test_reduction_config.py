"""Blocks of reductions against `ReduceConfig` of ATen/native/cuda/Reduce.cuh, written out here."""

from __future__ import annotations

import random
from typing import Any

import pytest

from simulator.costs import Work
from simulator.hardware.gpu import GPU, gpu
from simulator.lowering.reduction import grid, reduction
from tests.simulator.costs.conftest import sig

UNITS = {"h200": (132, 2048), "rtx4090": (128, 1536), "t4": (40, 1024)}
"""The number of multiprocessors, and of threads that each holds."""


def up(a: int, b: int) -> int:
    return (a + b - 1) // b


def last_pow2(n: int) -> int:
    power = 1
    while 2 * power <= n:
        power *= 2
    return power


class ReduceConfig:
    """The steps of `setReduceConfig`, in the same order and with the same names."""

    def __init__(self, outputs: int, inputs: int, across: bool, vec: int, card: str) -> None:
        self.num_inputs, self.num_outputs = inputs, outputs
        self.step_input, self.step_output, self.ctas_per_output = 1, 1, 1
        self.output_vec = vec if across else 1
        dim0, dim1 = (outputs // vec, inputs) if across else (inputs // vec, outputs)
        self.set_block_dimension(dim0, dim1)
        reduces_x = not across
        self.step_input *= self.block_width if reduces_x else 1
        self.step_output *= 1 if reduces_x else self.block_width
        self.reduces_y = self.values_per_thread() >= min(self.block_height * 16, 256)
        if self.reduces_y:
            self.step_input *= self.block_height
        else:
            self.step_output *= self.block_height
        units, threads = UNITS[card]
        target = units * (threads // self.threads)
        self.grid = up(outputs // self.output_vec, self.step_output)
        if self.reduces_y and self.values_per_thread() >= 256 and self.grid <= target:
            by_grid = up(target, self.grid)
            by_least = up(self.values_per_thread(), 16)
            by_most = up(self.values_per_thread(), 256)
            self.ctas_per_output = max(min(by_grid, by_least), by_most)
            self.step_input *= self.ctas_per_output

    def set_block_dimension(self, dim0: int, dim1: int) -> None:
        most = 512 // self.output_vec
        dim0_pow2 = last_pow2(dim0) if dim0 < most else most
        dim1_pow2 = last_pow2(dim1) if dim1 < most else most
        self.block_width = min(dim0_pow2, 32)
        self.block_height = min(dim1_pow2, most // self.block_width)
        self.block_width = min(dim0_pow2, most // self.block_height)
        self.threads = self.block_width * self.block_height

    def values_per_thread(self) -> int:
        return up(self.num_inputs, self.step_input)


@pytest.mark.parametrize("card", UNITS)
def test_the_grid_is_that_of_aten(card: str) -> None:
    chance = random.Random(card)
    shared = 0
    for _ in range(1500):
        outputs = round(2 ** chance.uniform(0, 18))
        inputs = round(2 ** chance.uniform(0, 22))
        across, vector = chance.choice(
            ((True, 1), (True, 2), (True, 4), (False, 1), (False, 4), (False, 8))
        )
        if across:
            outputs *= vector
        else:
            inputs *= vector
        expected = ReduceConfig(outputs, inputs, across, vector, card)
        own = grid(outputs, inputs, across, vector, gpu(card))
        assert (own.blocks, own.parts, own.threads, own.values) == (
            expected.grid,
            expected.ctas_per_output,
            expected.threads,
            expected.values_per_thread(),
        ), (outputs, inputs, across, vector)
        # The threads of the last block gather the parts: those of one warp, or all.
        gathering = expected.block_height if across else expected.threads
        parts = expected.ctas_per_output
        assert own.gathers == (up(parts, gathering) if parts > 1 else 0)
        shared += own.parts > 1
    assert 100 < shared < 1400


def work(rows: int, cols: int, **dims: Any) -> Work:
    own = {"rows": rows, "cols": cols, "inner": 1, "itemsize": 4, "across": False, "vector": 4,
           "unroll": 4, "nested": False, "kind": "sum", "again": False}  # fmt: skip
    return Work("reduction", read_bytes=4 * rows * cols, write_bytes=4 * rows, dims=own | dims)


H200: GPU = gpu("h200")
OP = sig("aten.sum.dim_IntList")


@pytest.mark.parametrize(
    ("dims", "steps"),
    [
        # 64 outputs of 4,224 values: one warp each, 132 values per thread
        ({}, 33),  # loads of 4
        ({"vector": 1}, 33),  # 4 loads of one value in flight
        ({"vector": 1, "unroll": 2}, 66),
        ({"vector": 2, "unroll": 4}, 66),  # a vector of 2 is one step
        ({"kind": "moments", "vector": 2, "unroll": 2}, 66),
        ({"kind": "extremes"}, 33),  # rows are loaded in the same way
    ],
)
def test_steps_along_rows(dims: dict[str, Any], steps: int) -> None:
    (kernel,) = reduction(OP, work(64, 4224, **dims), H200)
    assert kernel.dims["steps"] == steps
    assert (kernel.dims["blocks"], kernel.dims["parts"], kernel.dims["threads"]) == (4, 1, 512)
    assert kernel.dims["runs"] == 4  # multiprocessors that hold 512 threads


@pytest.mark.parametrize(("kind", "vector", "values", "steps"), [
    # A block of 512 / 4 threads has 4 warps, which share the 768 rows: 192 values each. Sums have
    # four loads in flight.
    ("sum", 4, 192, 48), ("norm", 4, 192, 48), ("truth", 4, 192, 48), ("sum", 1, 48, 12),
    # A thread compares its outputs one after the other: four values per step if it has one output.
    ("extremes", 4, 192, 192), ("moments", 4, 192, 192), ("extremes", 2, 96, 48),
    ("extremes", 1, 48, 12),
])  # fmt: skip
def test_steps_across_rows(kind: str, vector: int, values: int, steps: int) -> None:
    dims = dict(across=True, kind=kind, vector=vector, inner=9536)
    (kernel,) = reduction(OP, work(9536, 768, **dims), H200)
    config = ReduceConfig(9536, 768, True, vector, "h200")
    assert (config.values_per_thread(), kernel.dims["steps"]) == (values, steps)
    assert kernel.dims["runs"] == up(config.grid * config.threads, 512)


@pytest.mark.parametrize(("dims", "variant"), [
    ({}, "rows"), ({"kind": "norm"}, "rows"), ({"kind": "truth"}, "rows"),
    ({"kind": "extremes"}, "rows_chained"), ({"kind": "moments"}, "rows_chained"),
    ({"nested": True}, "nested"), ({"nested": True, "kind": "extremes"}, "nested"),
    ({"across": True}, "columns"), ({"across": True, "nested": True}, "columns"),
    ({"across": True, "kind": "extremes"}, "columns_chained"),
])  # fmt: skip
def test_the_variant_of_a_reduction(dims: dict[str, Any], variant: str) -> None:
    (kernel,) = reduction(OP, work(9536, 768, **dims), H200)
    assert kernel.dims["variant"] == variant
    assert kernel.dims["outputs"] == 9536
    assert {name: kernel.dims[name] for name in ("cols", "inner", "itemsize", "again")} == {
        "cols": 768,
        "inner": 1,
        "itemsize": 4,
        "again": False,
    }


def test_parts_across_rows_gather_after_a_memset_of_their_semaphores() -> None:
    call = work(128, 163_840, across=True, inner=128, kind="extremes")
    clear, kernel = reduction(OP, call, H200)
    # one block of 32 × 4 threads, and 2,112 parts of 20 values; each warp then gathers 528
    assert (clear.family, clear.write_bytes, clear.dtype) == ("fill", 4, "int32")
    assert (kernel.dims["variant"], kernel.dims["parts"]) == ("columns_shared", 2112)
    assert kernel.dims["steps"] == 20 + 528
    assert kernel.dims["runs"] == 2112 * 128 // 512


def test_works_of_libraries_are_unchanged() -> None:
    call = Work("reduction", dims={"outer": 7680, "inner": 2})
    assert reduction(OP, call, H200) == (call,)
