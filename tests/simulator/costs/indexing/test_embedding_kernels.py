"""Embeddings, their gradients and bags, kernel by kernel, against hand-computed figures."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs.kernels.radix import radix_sort
from simulator.records import Tensor
from tests.simulator.costs.conftest import launched, sig, sums

F32, I64, HALF = "float32", "int64", "bfloat16"


def gradient(n: int, table: int, width: int, dtype: str = F32, **args: Any) -> Any:
    grad, out = ((n, width), dtype), ((table, width), dtype)
    name = "aten.embedding_dense_backward.default"
    return launched(sig(name, out, None, args, grad_output=grad, indices=((n,), I64)))


def test_gradients_of_few_looked_up_rows_are_added_by_one_kernel() -> None:
    zeros, add = gradient(3072, 5000, 8)
    assert sums([zeros]) == [("fill", 0, 0, 160000, 80000)]
    # reads the indices, gradients of 32 bytes each, and the same number of table rows, to which it
    # adds
    assert sums([add]) == [("embedding_backward", 24576, 24576 + 2 * 98304, 98304, 172032)]
    assert (add.dims["steps"], add.dims["width"]) == (3072, 8)
    turned = Tensor((3072, 8), F32, (1, 3072))
    kernels = launched(
        sig("aten.embedding_dense_backward.default", ((5000, 8), F32), None, {},
            grad_output=turned, indices=((3072,), I64))
    )  # fmt: skip
    assert [work.family for work in kernels] == ["copy", "fill", "embedding_backward"]
    assert kernels[0].write_bytes == 98304
    assert len(gradient(3072, 5000, 8, scale_grad_by_freq=True)) > 2


def test_gradients_of_many_looked_up_rows_are_sorted() -> None:
    kernels = gradient(4000, 1000, 8)
    # 400 parts of ten rows, and at most one more for each of 1,000 rows
    scanned = [("fill", 0, 0, 16, 2), ("scan", 4000, 32000, 32000, 24000)]
    assert sums(kernels) == [
        ("arange", 0, 0, 32000, 120000),
        *sums(radix_sort(4000, 8, 8)),
        ("fill", 0, 0, 32000, 16000),
        *scanned,
        ("pointwise", 1000, 8000, 8000, 3000),
        *scanned,
        ("pointwise", 1, 16, 8, 3),
        ("pointwise", 1000, 8000, 11200, 3000),
        ("embedding_backward", 32000, 32000 + 128000, 4 * 1400 * 8, 224000),
        ("embedding_backward", 32000, 44800, 32000, 224000),
    ]
    # each thread visits the parts of its row, 4,000 / (10·1,000) < 1 on average
    assert kernels[-3].dims["steps"] == 1
    assert kernels[-1].dims == {
        "elements": 32000,
        "width": 8,
        "parts": 1400,
        "variant": "summed",
    }
    # there are no more parts than gradient rows
    assert gradient(4000, 10000, 8)[-1].dims["parts"] == 4000


@pytest.mark.parametrize(
    ("n", "table", "width", "atomic"),
    [(5000, 100, 8, True), (4999, 100, 8, False), (5000, 100, 1024, True),
     (5000, 100, 1025, False)],
)  # fmt: skip
def test_rows_that_are_looked_up_often_are_added_by_atomics(
    n: int, table: int, width: int, atomic: bool
) -> None:
    variants = [work.dims.get("variant") for work in gradient(n, table, width)]
    assert variants[-1] == ("atomic" if atomic else "summed")


def test_atomics_add_in_single_precision() -> None:
    *_, starts, again, add = gradient(6000, 100, 8)
    # 600 parts of ten rows and one for each of 100 rows; 60 look-ups per row
    assert starts == again and (starts.write_bytes, starts.dims["steps"]) == (5600, 6)
    assert sums([add]) == [("embedding_backward", 48000, 48000 + 192000 + 3200, 3200, 336000)]
    *_, zeros, add, cast = gradient(6000, 100, 8, HALF)
    assert sums([zeros, add, cast]) == [
        ("fill", 0, 0, 3200, 1600),
        ("embedding_backward", 48000, 48000 + 96000 + 3200, 3200, 336000),
        ("pointwise", 0, 3200, 1600, 1600),
    ]


def test_bags_are_summed_by_one_kernel() -> None:
    indices, offsets, out = ((500,), I64), ((50,), I64), ((50, 64), F32)
    table = ((1000, 64), F32)
    bags: dict[str, Any] = {"weight": table, "indices": indices, "offsets": offsets}
    name = "aten._embedding_bag_forward_only.default"
    (work,) = launched(sig(name, out, None, {}, **bags))
    # 500 rows of 256 bytes and 550 indices of 8 bytes
    assert sums([work]) == [("embedding_bag", 32000, 128000 + 4400, 12800, 224000)]
    # ten rows per bag; 50·2 groups of 32 columns fit in one round of 8,192
    assert (work.dims["steps"], work.dims["bags"], work.dims["table_bytes"]) == (10, 50, 256000)
    (weighed,) = launched(sig(name, out, None, {}, **bags, per_sample_weights=((500,), F32)))
    assert weighed.read_bytes == work.read_bytes + 2000
    many = bags | {"offsets": ((5000,), I64), "indices": ((20000,), I64)}
    (work,) = launched(sig(name, ((5000, 64), F32), None, {}, **many))
    # 10,000 groups take two rounds, with four rows per bag; the whole table is read
    assert work.dims["steps"] == 8
    for count, rounds in ((4096, 1), (4097, 2)):  # of 4,096·2 groups
        full = bags | {"offsets": ((count,), I64), "indices": ((2 * count,), I64)}
        (one,) = launched(sig(name, ((count, 64), F32), None, {}, **full))
        assert one.dims["steps"] == 2 * rounds
    assert work.read_bytes == 256000 + 8 * 25000


def test_the_norms_of_looked_up_rows_are_limited() -> None:
    def kernels(indices: tuple[int, ...], rows: int) -> list[tuple[Any, ...]]:
        table = ((rows, 64), HALF)
        op = sig("aten.embedding_renorm_.default", table, None, {"max_norm": 1.0, "norm_type": 2.0},
                 self=table, indices=(indices, I64))  # fmt: skip
        return [(work.family, work.read_bytes, work.write_bytes) for work in launched(op)]

    # 500 indices in one row are sorted and selected, and 500 rows of 128 bytes are read
    sort = launched(sig("aten.sort.default", ((500,), I64), None, {"dim": -1}, self=((500,), I64)))
    expected = [(work.family, work.read_bytes, work.write_bytes) for work in sort]
    *before, states, select, norms = kernels((500,), 1000)
    assert before == expected and states[0] == "fill"
    assert select == ("scan", 4000, 4000)
    assert norms == ("reduction", 500 * 128 + 4000, 0)
    assert kernels((500,), 20)[-1] == ("reduction", 20 * 128 + 160, 0)  # at most the whole table
    assert kernels((0,), 20) == []


def test_gradients_of_bags() -> None:
    grad, table = ((50, 64), F32), ((1000, 64), F32)
    indices = ((500,), I64)
    name = "aten._embedding_bag_dense_backward.default"
    largest = launched(sig(name, table, None, {"mode": 2}, grad=grad, indices=indices))
    assert [work.family for work in largest] == ["fill", "embedding_backward"]
    # one row per bag
    assert (largest[1].dims["elements"], largest[1].dims["steps"]) == (3200, 50)
    total = launched(sig(name, table, None, {"mode": 0}, grad=grad, indices=indices))
    assert [work.dims.get("variant") for work in total][-2:] == ["partial", "summed"]
    small = launched(sig(name, ((5, 64), F32), None, {}, grad=grad, indices=indices))
    assert small[-1].dims["variant"] == "summed"  # although each row is looked up 100 times
    (weights,) = launched(
        sig("aten._embedding_bag_per_sample_weights_backward.default", ((500,), F32), None, {},
            grad=grad, weight=table, indices=indices)
    )  # fmt: skip
    assert sums([weights]) == [("gather", 64000, 128000 + 12800 + 8000, 2000, 32000 * 8)]


def test_expanded_indices_are_copied() -> None:
    expanded = Tensor((4, 5), I64, (0, 1))
    copied, work = launched(
        sig("aten.embedding.default", ((4, 5, 8), F32), weight=((1000, 8), F32), indices=expanded)
    )
    assert (copied.family, copied.write_bytes, work.family) == ("copy", 160, "gather")
    slice_of_one = Tensor((1, 5), I64, (99, 1))
    assert len(launched(sig("aten.embedding.default", ((1, 5, 8), F32), weight=((1000, 8), F32),
                            indices=slice_of_one))) == 1  # fmt: skip
