"""Stated figures, special functions, fused cross entropy and reductions, against hand-computed
sums."""

from __future__ import annotations

from typing import Any

import pytest

from simulator.costs import works
from simulator.costs.registry import cost
from simulator.records import Tensor
from tests.simulator.costs.conftest import families, launched, sig, sums

F32, F16, I64 = "float32", "float16", "int64"
X, SCALAR = ((16, 8), F32), ((), F32)


def stated(dtype: str = F16, **figures: int) -> Any:
    args = {f"stated_{name}": value for name, value in figures.items()}
    x = ((100,), dtype)
    kernels = works(sig("library.op.default", x, None, args, a=x, b=x))
    assert kernels is not None
    (work,) = kernels
    return work


def test_stated_figures_are_one_kernel() -> None:
    # two operands of 200 bytes are read and one is written, 600 bytes in all: like a copy that
    # reads and writes 300 bytes, which are 75 elements of float32
    work = stated(flops=1001)
    assert sums([work]) == [("pointwise", 1001, 300, 300, 2 * 75 + 501)]
    assert (work.engine, work.dtype) == ("vector", F32)
    assert work.dims == {"elements": 75, "inputs": 1, "contiguous": True}
    assert sums([stated(flops=10, bytes=5)]) == [("pointwise", 10, 3, 2, 2 + 5)]
    matrix = stated(tensor_flops=800)
    assert sums([matrix]) == [("pointwise", 800, 300, 300, 150)]
    assert (matrix.engine, matrix.dtype) == ("tensor", F16)
    assert stated(F32, tensor_flops=8).dtype == "tf32"
    assert sums([stated(bytes=80)]) == [("pointwise", 0, 40, 40, 20)]
    assert works(sig("library.op.default", X, self=X)) is None


def test_a_name_of_a_cost_is_checked() -> None:
    with pytest.raises(ValueError, match=r"'aten.mm' is not an overload"):
        cost("aten.mm")(lambda op: ())
    with pytest.raises(ValueError, match=r"aten.mm.default already has a cost"):
        cost("aten.mm.default")(lambda op: ())


def test_special_functions_take_many_instructions() -> None:
    n = 128
    for name, flops, slots in (
        ("special_chebyshev_polynomial_t.n_scalar", 30, 60),
        ("special_scaled_modified_bessel_k0.default", 1, 60),
        ("frexp.Tensor", 2, 4),
    ):
        (work,) = launched(sig(f"aten.{name}", X, None, {}, self=X))
        # plus a load and a store per element
        assert sums([work]) == [("pointwise", flops * n, 512, 512, (slots + 2) * n)]


def test_a_multivariate_gamma_is_the_sum_of_its_terms() -> None:
    kernels = launched(sig("aten.mvlgamma.default", X, None, {"p": 3}, self=X))
    assert sums(kernels) == [
        ("arange", 0, 0, 12, 90),
        ("pointwise", 384, 524, 1536, 4 * 384),
        ("pointwise", 384, 1536, 1536, 62 * 384),
        ("reduction", 384, 1536, 512, 768),
        ("pointwise", 128, 512, 512, 384),
    ]
    assert kernels[3].dims == {"rows": 128, "cols": 3, "inner": 1}


def test_chunks_of_a_cross_entropy() -> None:
    x, weight = ((100, 16), F32), ((50, 16), F32)
    name = "torch_nn._linear_cross_entropy_batch_chunked.default"
    args = {"batch_chunk_size": 40}
    kernels = launched(sig(name, SCALAR, None, args, input=x, linear_weight=weight))
    forward = [
        # [40, 16]·[16, 50]: 2·40·16·50
        ("gemm", 64000, (640 + 800) * 4, 8000, 32000),
        ("reduction", 2000, 8000, 160, 4000),
        ("pointwise", 2000, 8000, 8000, 20000),
        ("reduction", 2000, 8000, 160, 4000),
    ]
    assert sums(kernels) == forward * 3  # two chunks of 40, and one of 20 that is padded to 40
    assert {k: kernels[0].dims[k] for k in "bmnk"} == {"b": 1, "m": 40, "n": 50, "k": 16}
    args |= {"compute_input_grad": True, "compute_linear_weight_grad": True}
    kernels = launched(sig(name, SCALAR, None, args, input=x, linear_weight=weight))
    assert len(kernels) == 18
    assert sums(kernels[4:6]) == [
        ("gemm", 64000, (2000 + 800) * 4, 2560, 32000),
        ("gemm", 64000, (2000 + 640) * 4, 3200, 32000),
    ]
    assert [kernels[4].dims[k] for k in "mnk"] == [40, 16, 50]
    assert [kernels[5].dims[k] for k in "mnk"] == [50, 16, 40]
    (whole, *_) = launched(sig(name, SCALAR, None, {}, input=x, linear_weight=weight))
    assert whole.dims["m"] == 100
    half, wide = ((100, 16), F16), ((50, 16), F16)
    (cores, *_) = launched(sig(name, SCALAR, None, {}, input=half, linear_weight=wide))
    assert (cores.engine, cores.instructions, cores.read_bytes) == ("tensor", 0, 4800)


def strided(shape: tuple[int, ...], stride: tuple[int, ...], dtype: str = F32) -> Tensor:
    return Tensor(shape, dtype, stride)


@pytest.mark.parametrize(
    ("x", "dim", "expected"),
    [
        # rows of 128 or more are loaded four elements at a time
        (((4, 128), F32), [1], (4, 128, 1, False, 4, False)),
        (((4, 127), F32), [1], (4, 127, 1, False, 1, False)),
        # across rows, a load covers 4, 2 or 1 outputs: the largest number that divides sizes and
        # strides
        (((100, 64), F32), [0], (64, 100, 64, True, 4, False)),
        (((100, 6), F32), [0], (6, 100, 6, True, 2, False)),
        (((100, 7), F32), [0], (7, 100, 7, True, 1, False)),
        # adjacent dimensions are merged
        (((4, 16, 16), F32), [1, 2], (4, 256, 1, False, 4, False)),
        (((16, 4, 16), F32), [0, 2], (4, 256, 1, False, 1, True)),
        (((16, 4, 16), F32), None, (1, 1024, 1, False, 4, False)),
        (((16, 1, 16), F32), [1], (256, 1, 1, True, 4, False)),
        (((8, 256), F32), -1, (8, 256, 1, False, 4, False)),
        # rows of 8 cut out of rows of 9, summed across rows
        (strided((100, 8), (9, 1)), [0], (8, 100, 8, True, 1, False)),
        # every second element of a row
        (strided((4, 128), (256, 2)), [1], (4, 128, 1, False, 1, False)),
        # eight elements of a row in half precision per load
        (((4, 128), F16), [1], (4, 128, 1, False, 8, False)),
    ],
)
def test_loads_of_a_sum(x: Any, dim: Any, expected: tuple[int, int, int, bool, int, bool]) -> None:
    rows = expected[0]
    dtype = x.dtype if isinstance(x, Tensor) else x[1]
    op = sig("aten.sum.dim_IntList", ((rows,), dtype), None, {"dim": dim}, self=x)
    (work,) = launched(op)
    names = ("rows", "cols", "inner", "across", "vector", "nested")
    assert tuple(work.dims[name] for name in names) == expected
    assert (work.dims["unroll"], work.dims["kind"], work.dims["again"]) == (4, "sum", False)


@pytest.mark.parametrize(
    ("name", "kind", "per_element", "per_row", "vector"),
    [
        ("amax.default", "extremes", (1, 3), (0, 0), 4),
        ("any.dim", "truth", (1, 3), (0, 0), 4),
        ("argmax.default", "places", (1, 5), (0, 0), 4),
        ("prod.dim_int", "sum", (1, 2), (0, 0), 4),
        ("nansum.default", "sum", (2, 4), (0, 0), 4),
        ("mean.dim", "sum", (1, 2), (1, 1), 4),
        ("_aminmax.dim", "extremes", (2, 5), (0, 0), 4),
        ("var.correction", "moments", (4, 14), (2, 14), 2),
    ],
)
def test_a_reduction_of_rows(
    name: str, kind: str, per_element: tuple[int, int], per_row: tuple[int, int], vector: int
) -> None:
    x, out = ((10, 200), F32), ((10,), F32)
    (work,) = launched(sig(f"aten.{name}", out, None, {"dim": 1}, self=x))
    flops = per_element[0] * 2000 + per_row[0] * 10
    slots = per_element[1] * 2000 + per_row[1] * 10
    assert sums([work]) == [("reduction", flops, 8000, 40, slots)]
    assert (work.dims["kind"], work.dims["vector"]) == (kind, vector)
    assert work.dims["unroll"] == (2 if kind == "moments" else 4)
    none = ((0, 200), F32)
    assert launched(sig(f"aten.{name}", ((0,), F32), None, {"dim": 1}, self=none)) == ()


@pytest.mark.parametrize(
    ("order", "flops", "slots"),
    [(2, 4010, 4060), (1, 4000, 6000), (0, 4000, 6000), (float("inf"), 4000, 6000),
     (float("-inf"), 4000, 6000), (3, 6010, 43 * 2000 + 400)],
)  # fmt: skip
def test_norms(order: float, flops: int, slots: int) -> None:
    x, out = ((10, 200), F32), ((10,), F32)
    for name, key in (("linalg_vector_norm.default", "ord"), ("norm.ScalarOpt_dim", "p")):
        (work,) = launched(sig(f"aten.{name}", out, None, {key: order, "dim": [1]}, self=x))
        assert sums([work]) == [("reduction", flops, 8000, 40, slots)]
        assert work.dims["kind"] == "norm"


def test_sums_of_another_dtype_are_cast_first() -> None:
    def kinds(dtype: str, out: str) -> list[str]:
        x = ((10, 200), dtype)
        return families(
            launched(sig("aten.sum.dim_IntList", ((10,), out), None, {"dim": 1}, self=x))
        )

    assert kinds("bool", I64) == ["pointwise", "reduction"]
    cast, added = launched(
        sig("aten.sum.dim_IntList", ((10,), I64), None, {"dim": 1}, self=((10, 200), "bool"))
    )
    # a switch over the dtypes of two operands, a load and a store; no arithmetic
    assert sums([cast]) == [("pointwise", 0, 2000, 16000, 2000 * (20 + 2 * 20 + 2))]
    assert sums([added]) == [("reduction", 2000, 16000, 80, 4000)]
    assert kinds(F32, "float64") == ["pointwise", "reduction"]
    assert kinds(F16, "float64") == ["pointwise", "reduction"]
    assert kinds(F16, F32) == kinds("bfloat16", F32) == kinds(F32, F32) == ["reduction"]


def test_nonzeros_are_compared_cast_and_summed() -> None:
    x = ((10, 200), F32)
    compare, cast, total = launched(
        sig("aten.count_nonzero.dim_IntList", ((10,), I64), None, {"dim": [1]}, self=x)
    )
    assert (compare.flops, compare.read_bytes, compare.write_bytes) == (2000, 8000, 2000)
    assert (cast.read_bytes, cast.write_bytes) == (2000, 16000)
    assert sums([total]) == [("reduction", 2000, 16000, 80, 4000)]


def test_a_log_of_summed_exponentials_is_nine_kernels() -> None:
    x, out = ((10, 200), F32), ((10,), F32)
    kernels = launched(sig("aten.logsumexp.default", out, None, {"dim": [1]}, self=x))
    moved = [(w.read_bytes, w.write_bytes) for w in kernels]
    # amax, abs, == inf, a masked fill, sub, exp, sum, log, add
    assert moved == [
        (8000, 40), (40, 40), (40, 10), (50, 40), (8040, 8000), (8000, 8000), (8000, 40), (40, 40),
        (80, 40),
    ]  # fmt: skip
    assert [w.flops for w in kernels] == [2000, 10, 10, 0, 2000, 2000, 2000, 10, 10]
    none = ((0, 200), F32)
    empty = launched(sig("aten.logsumexp.default", ((0,), F32), None, {"dim": [1]}, self=none))
    assert empty == ()
