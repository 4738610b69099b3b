"""Distances and segments, kernel by kernel, against hand-computed figures."""

from __future__ import annotations

from tests.simulator.costs.conftest import launched, sig, sums

F32, I64 = "float32", "int64"
X = ((16, 8), F32)  # 128 elements, 512 bytes


def test_distances_of_few_points_are_a_block_each() -> None:
    x, y = ((3, 20, 6), F32), ((3, 25, 6), F32)
    out = ((3, 20, 25), F32)
    (work,) = launched(sig("aten._cdist_forward.default", out, None, {}, x1=x, x2=y))
    # 1,500 pairs of 6 coordinates, 3 FLOPs each
    assert sums([work]) == [("reduction", 27000, 1440 + 1800, 6000, 36000)]
    assert work.dims == {
        "variant": "pairs", "outputs": 1500, "cols": 6, "runs": 1500, "steps": 1
    }  # fmt: skip
    many, args = ((3, 20, 26), F32), {"x1": x, "x2": ((3, 26, 6), F32)}
    assert len(launched(sig("aten._cdist_forward.default", many, None, {}, **args))) == 11
    for settings, count in (({"p": 1.0}, 1), ({"compute_mode": 2}, 1), ({"compute_mode": 1}, 11)):
        assert len(launched(sig("aten._cdist_forward.default", many, None, settings, **args))) == (
            count
        )
    assert len(launched(sig("aten._cdist_forward.default", out, None, {"compute_mode": 1},
                            x1=x, x2=y))) == 11  # fmt: skip


def test_distances_of_many_points_are_one_product() -> None:
    x, y, out = ((3, 30, 6), F32), ((3, 20, 6), F32), ((3, 30, 20), F32)
    kernels = launched(sig("aten._cdist_forward.default", out, None, {"p": 2.0}, x1=x, x2=y))
    # rows of 6 coordinates and two more numbers, written side by side
    for widened, rows in ((kernels[3], 90), (kernels[7], 60)):
        assert (widened.family, widened.dims["elements"]) == ("copy", 8 * rows)
        assert (widened.dims["transposed"], widened.dims["axes"]) == (False, 1)
    launches = sums(kernels)
    # 540 coordinates of 90 points are squared and summed; a one is appended for each point
    assert launches[:3] == [
        ("pointwise", 540, 2160, 2160, 1620),
        ("reduction", 540, 2160, 360, 1080),
        ("fill", 0, 0, 360, 180),
    ]
    # 90 rows of 6 + 2 numbers are concatenated
    assert launches[3][:4] == ("copy", 0, 2880, 2880)
    assert [one[1] for one in launches[4:7]] == [360, 360, 0]
    assert launches[8] == ("gemm", 28800, 3 * 50 * 8 * 4, 7200, 14400)  # 2·3·30·20·8
    assert kernels[8].dims == {
        "b": 3, "m": 30, "n": 20, "k": 8, "transa": False, "transb": True, "epilogue": None,
    }  # fmt: skip
    assert launches[9:] == [
        ("pointwise", 1800, 7200, 7200, 5400),
        ("pointwise", 1800, 7200, 7200, 21600),
    ]


def test_gradients_of_distances_are_summed_over_the_others() -> None:
    x, y, grad = ((3, 20, 6), F32), ((3, 25, 6), F32), ((3, 20, 25), F32)
    kernels = launched(
        sig("aten._cdist_backward.default", x, None, {}, grad=grad, x1=x, x2=y, cdist=grad)
    )
    # 3·20·25·6 = 9,000 terms of 4 FLOPs; 6,000 + 1,440 + 1,800 + 6,000 bytes
    assert sums(kernels) == [
        ("reduction", 36000, 15240, 36000, 45000),
        ("reduction", 9000, 36000, 1440, 18000),
    ]
    # 16 of the 1,500 pairs are a block
    assert (kernels[0].dims["variant"], kernels[0].dims["runs"]) == ("pairs_backward", 94)
    assert (kernels[1].dims["rows"], kernels[1].dims["cols"]) == (360, 25)


def test_pairs_of_points_are_counted_once() -> None:
    x, pairs = ((20, 6), F32), ((190,), F32)
    (work,) = launched(sig("aten._pdist_forward.default", pairs, None, {}, self=x))
    assert sums([work]) == [("reduction", 190 * 18, 480, 760, 190 * 24)]
    kernels = launched(
        sig("aten._pdist_backward.default", x, None, {}, grad=pairs, self=x, pdist=pairs)
    )
    # each pair counts twice, to sum the 19 rows of a point: 19·20·6·4 = 9,120 bytes
    assert sums(kernels) == [
        ("reduction", 190 * 24, 2000, 9120, 190 * 6 * 5),
        ("reduction", 2280, 9120, 480, 4560),
    ]
    assert (kernels[1].dims["rows"], kernels[1].dims["cols"]) == (120, 19)


def test_a_distance_of_two_tensors() -> None:
    row = ((8,), F32)
    assert sums(launched(sig("aten.dist.default", ((), F32), self=X, other=row))) == [
        ("pointwise", 128, 544, 512, 512),
        ("reduction", 256, 512, 4, 384),
    ]


def test_euclidean_distances_are_one_product_two_deeper() -> None:
    x, y, out = ((3, 30, 6), F32), ((3, 20, 6), F32), ((3, 30, 20), F32)
    kernels = launched(sig("aten._euclidean_dist.default", out, x1=x, x2=y))
    # for each side: squares, their sums, ones, and rows of 6 + 2
    sides = [
        side
        for points in (90, 60)
        for side in (
            ("pointwise", 6 * points, 24 * points, 24 * points, 18 * points),
            ("reduction", 6 * points, 24 * points, 4 * points, 12 * points),
            ("fill", 0, 0, 4 * points, points),
            ("concat", 0, 32 * points, 32 * points, 35 * 8 * points),
        )
    ]
    root = ("pointwise", 1800, 7200, 7200, 1800 * 9)
    assert sums(kernels) == [*sides, ("gemm", 28800, 4800, 7200, 14400), root, root]
    assert kernels[3].dims == {
        "elements": 720, "vectorized": False, "contiguous": True, "parts": 3, "run_bytes": 24,
        "align_bytes": 4,
    }  # fmt: skip
    assert {k: kernels[8].dims[k] for k in "bmnk"} == {"b": 3, "m": 30, "n": 20, "k": 8}


def test_segments_are_read_by_a_thread_each() -> None:
    x, out, lengths = ((100, 8), F32), ((5, 8), F32), ((5,), I64)
    name = "aten.segment_reduce.default"
    (work,) = launched(sig(name, out, None, {"axis": 0}, data=x, lengths=lengths))
    # 40 results; 100 rows in 5 segments are 20 each, and one more step per segment
    assert sums([work]) == [("reduction", 40 * 21, 3240, 160, 40 * 42)]
    assert work.dims == {"rows": 40, "cols": 21, "inner": 1, "steps": 21}
    (back,) = launched(
        sig("aten._segment_reduce_backward.default", x, None, {}, grad=out, output=out, data=x,
            lengths=lengths)
    )  # fmt: skip
    assert back.dims == {"rows": 800, "cols": 21, "inner": 1, "steps": 21}
    (hashed,) = launched(sig("aten.hash_tensor.default", ((4,), I64), None, {}, self=X))
    assert sums([hashed]) == [("reduction", 128, 512, 32, 256)]
    assert hashed.dims == {"rows": 4, "cols": 32, "inner": 1}
