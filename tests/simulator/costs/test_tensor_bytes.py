"""Bytes of long lists equal those of their tensors one by one."""

from simulator.costs.tensor_bytes import bytes_of, read_bytes_of, write_bytes_of
from simulator.records import Signature, Tensor

HALF = Tensor((3, 5), "bfloat16", (5, 1))  # 30 bytes
ROW = Tensor((4, 7), "float32", (0, 1))  # 28 bytes: the expanded dimension is stored once
ON_CPU = Tensor((2,), "float32", (1,), "cpu")  # 8 bytes, not on the GPU


def test_equal_objects_and_expanded_dimensions():
    assert bytes_of([HALF, ROW, HALF, ON_CPU]) == [30, 28, 30, 8]
    assert bytes_of([]) == []


def test_a_region_counts_once_with_its_largest_tensor():
    """Regions 0 (30 and 28 bytes) and 1 (28 bytes) are read, region 0 (28 bytes) is written."""
    op = Signature(
        "aten.x", (HALF, ROW, ROW, ON_CPU), (ROW,), ("a", "a", "b", "c"), {}, (0, 0, 1, 2, 0)
    )
    assert read_bytes_of(op) == op.read_bytes == 30 + 28
    assert write_bytes_of(op) == op.write_bytes == 28


def test_without_aliases_every_tensor_is_a_region():
    op = Signature("aten.x", (HALF, HALF, ROW), (), ("a", "a", "b"), {})
    assert read_bytes_of(op) == op.read_bytes == 30 + 30 + 28
