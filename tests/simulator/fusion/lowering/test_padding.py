"""Padded products: their shapes, the copies that are timed, and the size from which padding pays
off."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from simulator.fusion.lowering.library.padding import Seconds, padded
from simulator.records import Signature, Tensor
from tests.simulator.costs.conftest import Spec, sig


def mm(m: int, k: int, n: int, dtype: str = "bfloat16", turned: bool = False) -> Signature:
    a: Spec = Tensor((m, k), dtype, (1, m)) if turned else ((m, k), dtype)
    return sig("aten.mm.default", ((m, n), dtype), self=a, mat2=((k, n), dtype))


def timed(whole: float, wide: float, copy: float) -> tuple[Seconds, list[str]]:
    """A timer with given seconds for the product, the padded product and a copy, and the list of
    what it timed."""
    seen: list[str] = []

    def seconds(op: Signature) -> float:
        shapes = [list(t.shape) for t in (*op.inputs, op.out)]
        seen.append(f"{op.name.split('.')[1]} {shapes}")
        if "cat" in op.name:
            return copy
        return wide if all(size % 8 == 0 for t in op.inputs for size in t.shape) else whole

    return each(seconds), seen


BUSY = (False, False)


@pytest.mark.parametrize(("whole", "pays"), [(1.1 * 14.0, False), (1.1 * 14.0 + 1e-9, True)])
def test_padding_pays_if_it_saves_a_tenth_with_its_copies(whole: float, pays: bool) -> None:
    # the padded product takes 10, and each of two copies takes 2
    seconds, _ = timed(whole, 10.0, 2.0)
    assert (padded(mm(60, 33, 100), BUSY, seconds) is not None) is pays


def test_only_operands_that_grow_and_are_not_free_are_copied() -> None:
    seconds, seen = timed(99.0, 10.0, 2.0)
    wide = padded(mm(60, 33, 96), BUSY, seconds)
    assert wide is not None
    # sizes grow in steps of 16 bytes, which are 8 numbers of bfloat16
    assert [t.shape for t in (*wide.inputs, wide.out)] == [(64, 40), (40, 96), (64, 96)]
    # in both operands, the first dimension that grows is padded with zeros, as in the benchmark
    assert [one for one in seen if one.startswith("cat")] == [
        "cat [[60, 33], [4, 33], [64, 33]]",
        "cat [[33, 96], [7, 96], [40, 96]]",
    ]
    seconds, seen = timed(99.0, 10.0, 2.0)
    padded(mm(60, 33, 96), (True, False), seconds)
    assert [one for one in seen if one.startswith("cat")] == ["cat [[33, 96], [7, 96], [40, 96]]"]
    seconds, seen = timed(99.0, 10.0, 2.0)
    padded(mm(64, 33, 96), (False, True), seconds)
    assert [one for one in seen if one.startswith("cat")] == ["cat [[64, 33], [64, 7], [64, 40]]"]


def each(seconds: Callable[[Signature], float]) -> Seconds:
    """A timer of ops whose times a function returns."""
    return lambda ops: [seconds(op) for op in ops]


def past_multiple_of_8(ops: Sequence[Signature]) -> list[float]:
    """Times that are 0 for rows with a multiple of 8 elements, and otherwise grow with the
    remainder."""
    return [float(op.inputs[0].shape[1] % 8) for op in ops]


@pytest.mark.parametrize(("dtype", "many"), [
    ("float8_e4m3fn", 16), ("bfloat16", 8), ("float32", 4),
])  # fmt: skip
def test_rows_are_padded_to_sixteen_bytes(dtype: str, many: int) -> None:
    op = mm(many * 2, many + 1, many * 3, dtype)
    timer = each(lambda op: 99.0 if op.inputs[0].shape[1] % many else 1.0)
    wide = padded(op, (True, True), timer)
    assert wide is not None
    assert [t.shape for t in wide.inputs] == [(2 * many, 2 * many), (2 * many, 3 * many)]
    aligned = mm(many * 2, many, many * 3, dtype)
    timer = each(lambda op: 1.0 / op.inputs[0].numel)
    assert padded(aligned, BUSY, timer) is None  # nothing to pad


def test_a_dimension_of_one_is_not_padded_and_turned_operands_stay_turned() -> None:
    wide = padded(mm(1, 33, 96), (True, True), past_multiple_of_8)
    assert wide is not None and wide.inputs[0].shape == (1, 40)
    wide = padded(mm(60, 33, 96, turned=True), (True, True), past_multiple_of_8)
    assert wide is not None
    assert (wide.inputs[0].shape, wide.inputs[0].stride) == ((64, 40), (1, 64))
    assert (wide.inputs[1].shape, wide.inputs[1].stride) == ((40, 96), (96, 1))


def test_other_ops_and_double_precision_are_not_padded() -> None:
    assert padded(mm(60, 33, 96, "float64"), BUSY, past_multiple_of_8) is None
    x, y = ((2, 60, 33), "bfloat16"), ((2, 33, 96), "bfloat16")
    bmm = sig("aten.bmm.default", ((2, 60, 96), "bfloat16"), self=x, mat2=y)
    assert padded(bmm, BUSY, past_multiple_of_8) is None
    row = ((96,), "bfloat16")
    added = sig("aten.addmm.default", ((60, 96), "bfloat16"), self=row,
                mat1=((60, 33), "bfloat16"), mat2=((33, 96), "bfloat16"))  # fmt: skip
    wide = padded(added, (True, True, True), each(lambda op: float(op.inputs[1].shape[1] % 8)))
    assert wide is not None and [t.shape for t in wide.inputs] == [(96,), (64, 40), (40, 96)]
