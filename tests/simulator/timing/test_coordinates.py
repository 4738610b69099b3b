"""Coordinates of works at many points against those of each point."""

from __future__ import annotations

import numpy as np
import pytest

from simulator.costs import Work
from simulator.timing.coordinates import coordinates, features
from simulator.varying import walked

NAMES = (
    "hot", "bytes", "flops per byte", "m", "sides", "transa", "kind thin", "kind wide",
    "dtype float32", "bytes per element", "waves of 128×128", "elements",
)  # fmt: skip


def work(rows: int) -> Work:
    """A product of `rows` rows, with every kind of coordinate."""
    dims = {
        "b": 2, "m": rows, "n": 384, "k": 64, "sides": (rows, 3), "transa": True, "kind": "thin",
        "elements": 5 * rows, "none": None,
    }  # fmt: skip
    return Work("gemm", 100 * rows, 8 * rows, 4 * rows, dims=dims)


def test_each_point_has_the_coordinates_of_its_work() -> None:
    rows = np.array([[1, 2, 7, 128, 129, 300, 5000, 40_000]])
    (path,) = walked(lambda numbers: work(numbers[0]), rows)
    fixed = work(1000)
    table = coordinates([path.result, fixed, path.result], 0.25, NAMES, 132, [8, 1, 8])
    alone = np.concatenate([coordinates([work(n)], 0.25, NAMES, 132) for n in rows[0].tolist()])
    assert table[:8].tolist() == table[9:].tolist() == alone.tolist()
    assert table[8:9].tolist() == coordinates([fixed], 0.25, NAMES, 132).tolist()


def test_coordinates_by_hand() -> None:
    # 7 rows: 84 bytes, 700 FLOPs, 7·3 sides, 35 elements; 2·1·3 = 6 tiles on 4 multiprocessors are
    # 1.5 waves, which take as long as 2
    (row,) = coordinates([work(7)], 1.0, NAMES, 4).tolist()
    assert dict(zip(NAMES, row, strict=True)) == pytest.approx(
        {
            "hot": 1.0,
            "bytes": np.log2(85),
            "flops per byte": np.log2(701 / 85),
            "m": 3.0,
            "sides": np.log2(22),
            "transa": 1.0,
            "kind thin": 1.0,
            "kind wide": 0.0,
            "dtype float32": 1.0,
            "bytes per element": np.log2(85 / 35),
            "waves of 128×128": 2 / 1.5,
            "elements": np.log2(36),
        }
    )


def test_coordinates_are_the_features_of_these_names() -> None:
    by_name = features(work(9), 132)
    (row,) = coordinates([work(9)], 0.0, tuple(by_name), 132).tolist()
    assert row == [float(value) for value in by_name.values()]


def test_a_work_without_elements_has_no_bytes_for_each() -> None:
    none = Work("copy", 0, 4, 4, dims={"elements": 0})
    assert coordinates([none], 0.0, ("bytes per element", "elements"), 132).tolist() == [[0.0, 0.0]]
