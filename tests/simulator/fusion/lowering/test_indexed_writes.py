"""Writes to indexed elements as Inductor lowers them. The launches and their order are those of the
scheduler of torch 2.13 for the same networks; bytes are counted by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from simulator import trace
from simulator.fusion import fused
from simulator.hardware.gpu import gpu
from simulator.records import Op, Trace

NODES, EDGES, WIDTH = 512, 2048, 64
TABLE = NODES * WIDTH  # 32,768 elements
ADDED = EDGES * WIDTH  # 131,072 elements
Between = Callable[[nn.Module, Tensor, Tensor], Tensor]


class Edges(nn.Module):
    """A layer over edges, and a function of its result and of an index for each edge."""

    def __init__(self, between: Between) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)
        self.register_buffer("table", torch.zeros(NODES, WIDTH))
        self.between = between

    def forward(self, x: Tensor, index: Tensor) -> Tensor:
        return self.between(self, self.layer(x), index)


def rows(index: Tensor) -> Tensor:
    return index[:, None].expand(-1, WIDTH)


def zeros(x: Tensor) -> Tensor:
    return x.new_zeros(NODES, WIDTH)


def added_in_place(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return zeros(x).scatter_add_(0, rows(index), x.sin()).relu()


def added(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return zeros(x).scatter_add(0, rows(index), x.sin()).relu()


def accumulated(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return zeros(x).index_put_((index,), x.sin(), accumulate=True).relu()


def added_by_row(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return zeros(x).index_add_(0, index, x.sin()).relu()


def without_old_values(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return zeros(x).scatter_reduce(0, rows(index), x.sin(), "sum", include_self=False).relu()


def maxima(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return zeros(x).scatter_reduce(0, rows(index), x.sin(), "amax").relu()


def overwritten(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return zeros(x).index_copy_(0, index, x.sin()).relu()


def assigned(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    y = zeros(x)
    y[index] = x.sin()
    return y.relu()


def one_hot(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return torch.full_like(x, 0.1).scatter_(1, (index % WIDTH)[:, None], 0.9) * x


def masked(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    y = x.sin()
    y[index > 5] = 0.0
    return y.relu()


def in_stored_rows(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    return x.cumsum(0)[:NODES].index_add(0, index, x.sin()).relu()


def in_a_cache(net: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    net.table.index_copy_(0, index, x.sin())
    return net.table.relu()


def in_part_of_a_cache(net: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    part = net.table.view(2, NODES // 2, WIDTH)[1]
    part.index_copy_(0, index % (NODES // 2), x.sin())
    return part.relu()


def degrees(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
    degree = x.new_zeros(NODES).scatter_add_(0, index, torch.ones_like(x[:, 0]))
    return x * degree.clamp(min=1).pow(-0.5)[index][:, None]


def step(between: Between, dtype: torch.dtype = torch.float32) -> Trace:
    module = Edges(between).to(dtype)
    inputs = torch.zeros(EDGES, WIDTH, dtype=dtype), torch.zeros(EDGES, dtype=torch.int64)
    return trace(module, inputs)


def launches(traced: Trace, card: str = "h200") -> list[Op]:
    return fused(traced, gpu(card)).trace.ops


def names(ops: list[Op]) -> list[str]:
    """`loop` for a generated kernel, else the name of the library's op; without the layer's."""
    short = (op.name.split(".")[1].removesuffix("_") for op in ops)
    return [{"pointwise": "loop"}.get(name, name) for name in short if "mm" not in name]


@pytest.mark.parametrize(
    ("between", "expected"),
    [
        *((each, ["loop"] * 3) for each in (added_in_place, added, accumulated, added_by_row)),
        *((each, ["loop"] * 3) for each in (overwritten, assigned, degrees)),
        (in_stored_rows, ["reduction", "loop", "loop"]),
        (without_old_values, ["loop"] * 4),
        (maxima, ["loop", "loop", "scatter_reduce", "loop"]),
        (one_hot, ["loop"]),
        (masked, ["loop"]),
        (in_a_cache, ["loop"] * 2),
        (in_part_of_a_cache, ["loop"] * 4),
    ],
)
def test_the_launches_are_those_of_inductor(between: Between, expected: list[str]) -> None:
    assert names(launches(step(between))) == expected


def test_sums_are_zeros_then_additions_then_the_loop_that_reads_them() -> None:
    fill, add, relu = launches(step(added_in_place))[1:]
    assert (fill.inputs, [t.nbytes for t in fill.outputs]) == ((), [4 * TABLE])
    # the product, its bias, an index of 8 bytes for each edge, and the sums that are changed
    reads = sorted(t.nbytes for t in add.inputs)
    assert reads == sorted([4 * ADDED, 4 * WIDTH, 8 * EDGES, 4 * TABLE])
    assert [t.nbytes for t in add.outputs] == [4 * TABLE]
    assert [t.nbytes for t in (*relu.inputs, *relu.outputs)] == [4 * TABLE] * 2
    assert fill.storages[-1] == add.storages[-1] == relu.storages[0]


def test_a_cache_is_overwritten_in_place() -> None:
    write, relu = launches(step(in_a_cache))[1:]
    assert 4 * TABLE not in [t.nbytes for t in write.inputs]
    assert write.storages[-1] == relu.storages[0]


@pytest.mark.parametrize(
    ("between", "card", "is_loop"),
    [
        (added_in_place, "h200", True),
        (added_in_place, "a100", False),
        (accumulated, "h200", True),
        (accumulated, "a100", False),
        (added_by_row, "h200", False),
        (assigned, "a100", True),
    ],
)
def test_sums_in_bfloat16_are_loops_since_hopper(
    between: Between, card: str, is_loop: bool
) -> None:
    launched = names(launches(step(between, torch.bfloat16), card))
    assert (launched == ["loop"] * 3) == is_loop
    assert any(name.startswith(("scatter", "index")) for name in launched) != is_loop


def test_zeros_like_a_tensor_do_not_read_it() -> None:
    def apart(_: nn.Module, x: Tensor, index: Tensor) -> Tensor:
        y = x.sin().cumsum(0)
        return torch.zeros_like(y).index_add(0, index % NODES, x)

    fill = next(op for op in launches(step(apart)) if not op.inputs)
    assert [t.nbytes for t in fill.outputs] == [4 * ADDED]
