from __future__ import annotations

import numpy as np
import pytest

from simulator.costs import Work
from simulator.timing.coordinates import coordinates, features
from simulator.timing.residuals import Residual, _add

LINE = Residual.measured(["bytes"], [2.0], [[4.0], [8.0], [30.0]], [0.5, -0.5, 0.2], 0.4, 0.001)


def test_a_measured_point_comes_back() -> None:
    mean = LINE.at(np.array([[4.0], [8.0], [30.0]]))
    assert mean == pytest.approx([0.5, -0.5, 0.2], abs=1e-4)


def test_numbers_are_stored_in_hundredths_and_ten_thousandths() -> None:
    points, values = [[19.94, -3.0], [0.07, 327.67]], [0.1234, -1.2]
    residual = Residual.measured(["bytes", "rows"], [1.0, 1.0], points, values, 0.4, 0.001)
    assert np.frombuffer(residual.points, "<i2").tolist() == [1994, -300, 7, 32767]
    assert np.frombuffer(residual.values, "<i2").tolist() == [1234, -12000]
    assert residual.scaled_points.tolist() == points  # the same floats, bit by bit
    assert residual.measured_points.tolist() == points
    assert residual.logs.tolist() == values
    with pytest.raises(ValueError, match=r"^a measured number that is not between ±327\.67$"):
        Residual.measured(["bytes"], [1.0], [[327.68]], [0.1], 0.4, 0.001)
    with pytest.raises(ValueError, match=r"^a measured number that is not between ±3\.2767$"):
        Residual.measured(["bytes"], [1.0], [[1.0]], [np.nan], 0.4, 0.001)


def test_far_from_all_points_the_physics_stands_alone() -> None:
    assert LINE.at(np.array([[400.0]])) == pytest.approx([0.0], abs=1e-9)


def test_between_two_points_by_hand() -> None:
    # one point at a distance of 1 length scale: 0.16·e⁻¹ / (0.16 + 10⁻⁶) of its value
    alone = Residual.measured(["bytes"], [2.0], [[4.0]], [0.5], 0.4, 0.001)
    assert alone.at(np.array([[6.0]])) == pytest.approx([0.5 * np.exp(-1)], rel=1e-4)


def test_local_experts_agree_with_all_points() -> None:
    rng = np.random.default_rng(0)
    points = rng.uniform(0, 20, (400, 2)).round(2)
    values = (np.sin(points[:, 0]) * 0.3).round(4)
    residual = Residual.measured(("a", "b"), (3.0, 9.0), points, values, 0.3, 0.02)
    queries = rng.uniform(2, 18, (20, 2))
    scaled, other = points / [3.0, 9.0], queries / [3.0, 9.0]

    def covariance(a, b):  # the exact Gaussian process, with all 400 points
        return 0.09 * np.exp(-np.linalg.norm(a[:, None] - b[None], axis=2))

    exact = covariance(other, scaled) @ np.linalg.solve(
        covariance(scaled, scaled) + 0.02**2 * np.eye(400), values
    )
    assert residual.at(queries) == pytest.approx(exact, abs=0.01)


def test_cached_means_are_bounded() -> None:
    residual = Residual.measured(["bytes"], [2.0], [[4.0], [8.0]], [0.5, -0.5], 0.4, 0.001)
    works = [Work("copy", flops=0, read_bytes=n, write_bytes=0) for n in range(1, 2001)]
    means = [residual.of(works[i : i + 50], 1) for i in range(0, 2000, 50)]
    assert len(residual._known_means) <= 512
    assert residual.of(works[:50], 1) == pytest.approx(means[0])


def test_features_by_hand() -> None:
    work = Work(
        "gemm",
        flops=2 * 7 * 15 * 31,
        read_bytes=1000,
        write_bytes=23,
        engine="tensor",
        dtype="bfloat16",
        dims={"b": 1, "m": 7, "n": 15, "k": 31, "transa": True, "epilogue": None},
    )
    coordinates_of_work = features(work, units=132)
    assert coordinates_of_work["bytes"] == 10  # log2(1023 + 1)
    assert (coordinates_of_work["m"], coordinates_of_work["n"], coordinates_of_work["k"]) == (
        3,
        4,
        5,
    )  # log2(7 + 1), and likewise for the others
    assert coordinates_of_work["transa"] == 1.0 and coordinates_of_work["dtype bfloat16"] == 1.0
    assert "epilogue" not in coordinates_of_work
    assert coordinates_of_work["waves of 128×128"] == 1.0  # one block on 132 multiprocessors


def test_work_without_flops_has_a_coordinate_too() -> None:
    copy = features(Work("copy", 0, 20, 11), units=132)
    assert copy["flops per byte"] == copy["instructions per byte"] == -5  # log2((0 + 1) / 32)


def test_a_half_empty_wave_is_seen() -> None:
    # 198 blocks of 128×128 on 132 multiprocessors: 1.5 waves take as long as 2
    work = Work("gemm", 1, 1, 1, dims={"b": 198, "m": 128, "n": 128, "k": 8})
    assert features(work, 132)["waves of 128×128"] == pytest.approx(2 / 1.5)


def test_coordinates_omit_properties_without_measurements() -> None:
    work = Work("norm", 1, 7, 0, dims={"rows": 3, "surprise": 9})
    table = coordinates([work], 0.5, ("hot", "rows", "cols"), 132)
    assert table.tolist() == [[0.5, 2.0, 0.0]]


def test_equal_works_have_equal_means_in_any_order() -> None:
    works = [Work("norm", 1, size, 0, dims={"rows": 3}) for size in (10, 10, 5000)]
    fresh = Residual(LINE.features, LINE.lengths, LINE.points, LINE.values, 0.4, 0.001)
    first = fresh.of(works, 132)
    assert first.shape == (3, 2)
    assert first[0].tolist() == first[1].tolist()
    assert fresh.of(works[::-1], 132).tolist() == first[::-1].tolist()


def test_a_full_cache_is_emptied_before_it_would_hold_too_many() -> None:
    cached = {1: np.zeros(1), 2: np.zeros(1)}
    assert list(_add(cached, 3, [(3, np.ones(1))])) == [3]
    assert list(cached) == [1, 2, 3]
    _add(cached, 3, [(4, np.ones(1))])
    assert list(cached) == [4]


def test_choices_lists_and_nothing_are_coordinates() -> None:
    work = Work("pool", dims={"last": True, "sides": (3, 5), "kind": "max", "none": None, "n": 7})
    columns = features(work, 132)
    assert (columns["last"], columns["kind max"]) == (1.0, 1.0)
    # log2(3·5 + 1), log2(7 + 1)
    assert (columns["sides"], columns["n"]) == (4.0, 3.0)
    assert not any(name.startswith("none") for name in columns)
    # nothing is moved: log2(0 + 1)
    assert columns["bytes"] == 0


def test_waves_of_tiles_are_counted_for_each_product() -> None:
    work = Work("gemm", dims={"b": 3, "m": 300, "n": 500, "k": 64})
    columns = features(work, 10)
    # 3·3·4 = 36 tiles of 128 × 128 on 10 multiprocessors are 3.6 waves, which take as long as 4
    assert columns["waves of 128×128"] == pytest.approx(4 / 3.6)
    # on 100 multiprocessors they are less than one wave
    assert features(work, 100)["waves of 128×128"] == 1.0


def test_means_are_kept_for_each_number_of_units_where_waves_count() -> None:
    # 198 blocks of 128 × 128: 1.5 waves take as long as 2 on 132 multiprocessors, and one wave on
    # 198
    work = Work("gemm", 1, 1, 1, dims={"b": 198, "m": 128, "n": 128, "k": 8})
    points, values = [[1.33], [1.0]], [0.4, -0.2]
    waves = Residual.measured(["waves of 128×128"], [0.1], points, values, 0.4, 0.001)
    means = [float(waves.of([work], units)[0, 0]) for units in (132, 198, 132)]
    assert means == pytest.approx([0.4, -0.2, 0.4], abs=0.02)
    assert len(waves._known_means) == 2
    # features that depend on sizes alone are the same on every GPU
    plain = Residual(LINE.features, LINE.lengths, LINE.points, LINE.values, 0.4, 0.001)
    assert plain.of([work], 132).tolist() == plain.of([work], 198).tolist()
    assert len(plain._known_means) == 1


def test_one_coordinate_that_counts_waves_makes_a_cached_mean_depend_on_the_units() -> None:
    points, values = [[10.0, 1.0], [10.0, 2.0]], [0.1, 0.9]
    names = ["bytes", "waves of 128×128"]
    residual = Residual.measured(names, [2.0, 0.1], points, values, 0.4, 0.001)
    dims = {"b": 1, "m": 128, "n": 128 * 133, "k": 8, "transa": False, "epilogue": None}
    work = Work("gemm", 1, 1000, 23, "tensor", "bfloat16", dims=dims)
    # 132 tiles fill the multiprocessors once; 133 tiles need a second wave: 2 / (133 / 132)
    few, many = residual.of([work], 132)[0, 0], residual.of([work], 133)[0, 0]
    assert few > 0.5 > many
    assert residual.of([work], 132)[0, 0] == few
