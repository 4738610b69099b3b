"""Values that are written in pieces, with their bytes and arithmetic by hand: gradients of tables
and of indexed tensors, and concatenations."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from simulator import trace
from simulator.fusion.lowering.lowering import Lowering
from simulator.fusion.node import Node
from simulator.hardware.gpu import gpu
from tests.simulator.conftest import Calls

H200 = gpu("h200")
ROWS, WIDTH = 50, 64
TABLE = ROWS * WIDTH  # 3,200 elements
LOOKED_UP = 10 * WIDTH  # 640 elements


class Table(nn.Module):
    """Rows of a table."""

    def __init__(self, dtype: torch.dtype) -> None:
        super().__init__()
        self.table = nn.Embedding(ROWS, WIDTH, dtype=dtype)

    def forward(self, rows: Tensor) -> Tensor:
        return self.table(rows)


class Indexed(nn.Module):
    """Rows of a computed tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(ROWS, WIDTH))

    def forward(self, rows: Tensor) -> Tensor:
        return (self.weight * 2)[rows]


def backward(module: nn.Module, rows: int, name: str) -> list[Node]:
    """The nests that contain a backward op, for this number of rows that are looked up."""
    step = trace(module, (torch.zeros(rows, dtype=torch.int64),), phase="training", optimizer=None)
    nests = Lowering(step, H200).run()
    return [n for n in nests if any(name in step.ops[op].name for op in n.ops)]


def test_the_gradient_of_a_table_is_zeros_and_atomic_sums() -> None:
    zeros, sums = backward(Table(torch.float32), 10, "embedding_dense")
    assert (zeros.elements, zeros.reads, zeros.flops) == (TABLE, {}, 0)
    assert (sum(zeros.writes.values()), zeros.instructions) == (4 * TABLE, TABLE)
    # the gradient (a number, and the result of the step), the indices of 8 bytes, and the sums
    assert list(sums.reads.values()) == [4, 4 * LOOKED_UP, 80, 4 * LOOKED_UP]
    assert list(sums.writes.values()) == [4 * LOOKED_UP]
    # 3 FLOPs for the gradient, and 4 instructions to add each element
    assert (sums.elements, sums.flops) == (LOOKED_UP, 3 * LOOKED_UP)
    assert (sums.instructions, sums.atomic, zeros.atomic) == (4 * LOOKED_UP, True, False)


def test_a_table_whose_indices_are_sorted_in_eager_mode_has_atomic_sums_too() -> None:
    # above 3,072 indices ATen sorts them; Inductor decomposes the op for any number
    zeros, sums = backward(Table(torch.float32), 4000, "embedding_dense")
    assert (zeros.elements, sums.elements) == (TABLE, 4000 * WIDTH)
    assert sums.atomic


def test_sums_of_a_table_in_half_precision_are_cast() -> None:
    zeros, sums, cast = backward(Table(torch.bfloat16), 10, "embedding_dense")
    assert list(zeros.writes.values()) == [4 * TABLE]
    assert list(sums.reads.values()) == [4, 4 * LOOKED_UP, 80, 4 * LOOKED_UP]
    assert (list(cast.reads.values()), list(cast.writes.values())) == ([4 * TABLE], [2 * TABLE])
    assert (cast.elements, cast.flops, cast.instructions) == (TABLE, 0, TABLE)
    assert cast.reads.keys() == zeros.writes.keys() == sums.writes.keys()


@pytest.mark.parametrize("rows", [10, 50, 200])
def test_the_gradient_of_an_indexed_tensor_is_a_copy_and_atomic_sums(rows: int) -> None:
    added = rows * WIDTH
    copy, sums = backward(Indexed(), rows, "index_put")
    assert (copy.elements, list(copy.writes.values())) == (TABLE, [4 * TABLE])
    assert (copy.instructions, copy.atomic) == (TABLE, False)
    # the sums of more rows than the tensor has change each of its elements
    changed = 4 * min(added, TABLE)
    assert list(sums.reads.values()) == [8 * rows, 4, 4 * added, changed]
    assert list(sums.writes.values()) == [changed]
    # 3 FLOPs for the gradient and one for the sum
    assert (sums.elements, sums.flops) == (added, 4 * added)
    assert (sums.instructions, sums.atomic) == (4 * added, True)


def joined(function: Callable[..., Tensor], count: int, **dtype: torch.dtype) -> list[Node]:
    args = tuple(torch.zeros(4, WIDTH, **dtype) for _ in range(count))
    return Lowering(trace(Calls(lambda _, *tensors: function(*tensors)), args), H200).run()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_inputs_are_joined_by_one_launch(dtype: torch.dtype) -> None:
    (copy,) = joined(lambda *tensors: torch.cat(tensors), 9, dtype=dtype)
    assert list(copy.reads.values()) == [4 * WIDTH * dtype.itemsize] * 9
    assert list(copy.writes.values()) == [9 * 4 * WIDTH * dtype.itemsize]
    assert (copy.rows, copy.instructions, copy.flops) == (9 * 4 * WIDTH, 9 * 4 * WIDTH, 0)
    assert copy.alone


def test_eight_operands_are_joined_by_a_loop_over_the_result() -> None:
    (loop,) = joined(lambda *tensors: torch.cat([torch.sin(x) for x in tensors]), 8)
    assert (loop.elements, list(loop.writes.values())) == (8 * 4 * WIDTH, [4 * 8 * 4 * WIDTH])
    assert loop.piece_of is None


def test_each_of_nine_computed_operands_is_written_into_its_place() -> None:
    loops = joined(lambda *tensors: torch.cat([torch.sin(x) for x in tensors]), 9)
    assert len(loops) == 9
    for loop in loops:
        assert (list(loop.reads.values()), list(loop.writes.values())) == ([1024], [1024])
        # a sine is one FLOP; nothing is copied
        assert (loop.elements, loop.flops, loop.instructions) == (4 * WIDTH, 4 * WIDTH, 0)
        assert not loop.alone and loop.piece_of == loops[0].piece_of is not None


def test_an_operand_that_others_read_is_stored_in_its_place() -> None:
    """The sums read the first sine too, so its loop writes it and the kernel of the sum reads it
    from the concatenation."""

    def function(*tensors: Tensor) -> Tensor:
        sines = [torch.sin(x) for x in tensors]
        return torch.cat(sines)[:4] + sines[0].sum(-1, keepdim=True)

    nests = joined(function, 9)
    pieces = [n for n in nests if n.piece_of is not None]
    assert len(pieces) == 9
    assert [len(n.writes) for n in pieces] == [2] + [1] * 8
    assert set(pieces[0].writes.values()) == {1024}


@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_inputs_beside_computed_operands_are_copied_by_one_launch(inputs: int) -> None:
    def function(*tensors: Tensor) -> Tensor:
        return torch.cat([*tensors[:inputs], *[torch.sin(x) for x in tensors[inputs:]]])

    *sines, copy = joined(function, 9)
    assert len(sines) == 9 - inputs and not any(sine.alone for sine in sines)
    assert (list(copy.reads.values()), list(copy.writes.values())) == (
        [1024] * inputs,
        [1024 * inputs],
    )
    assert copy.instructions == copy.rows == 4 * WIDTH * inputs
    # a launch that copies several inputs fuses with no other
    assert copy.alone is (inputs > 1)


def test_an_input_that_is_joined_nine_times_is_copied_into_nine_places() -> None:
    (copy,) = joined(lambda x: torch.cat([x] * 9), 1)
    assert (list(copy.reads.values()), list(copy.writes.values())) == ([9 * 1024], [9 * 1024])
    assert (copy.rows, copy.alone) == (9 * 4 * WIDTH, False)


def test_a_product_and_a_sum_write_their_results_into_their_places() -> None:
    def function(*tensors: Tensor) -> Tensor:
        product = (tensors[0] @ tensors[1].mT) @ tensors[2]
        total = torch.sin(tensors[3]).sum(0, keepdim=True)
        return torch.cat([product, total, *[torch.sin(x) for x in tensors[4:]], tensors[0]])

    _, product, total, *sines, copy = joined(function, 10)
    assert (product.kind, total.kind) == ("library", "reduction")
    assert set(product.writes.values()) == {1024} and set(total.writes.values()) == {256}
    assert len(sines) == 6 and len(product.writes) == len(total.writes) == 2
    pieces = {node.piece_of for node in (product, total, *sines, copy)}
    assert len(pieces) == 1 and None not in pieces
