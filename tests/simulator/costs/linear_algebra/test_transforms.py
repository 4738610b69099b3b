"""Fourier transforms against hand-computed sums."""

from __future__ import annotations

from simulator.costs import Work
from tests.simulator.costs.conftest import launched, sig

REAL = ((4, 8, 1024), "float32")
HALF = ((4, 8, 513), "complex64")
WHOLE = ((4, 8, 1024), "complex64")


def kinds(works: tuple[Work, ...]) -> list[str]:
    return [work.dims["kind"] for work in works if work.family == "fft"]


def test_a_real_signal_is_read_once_and_its_half_written_once() -> None:
    args = {"dim": [2], "normalization": 0, "onesided": True}
    (work,) = launched(sig("aten._fft_r2c.default", HALF, None, args, self=REAL))
    # 32 signals of 1,024: 5·1,024·10·32 / 2 = 819,200
    assert (work.family, work.flops) == ("fft", 819200)
    # reads 32·1,024·4 = 131,072 bytes, writes 32·513·8 = 131,328
    assert (work.read_bytes, work.write_bytes) == (131072, 131328)
    assert (work.dims["lengths"], work.dims["batch"]) == ((1024,), 32)


def test_the_other_half_is_filled_from_this_one() -> None:
    args = {"dim": [2], "normalization": 0, "onesided": False}
    call, fill = launched(sig("aten._fft_r2c.default", WHOLE, None, args, self=REAL))
    # the mirrored half has 32·(1,024 − 513)·8 = 130,816 bytes
    assert (call.write_bytes, fill.write_bytes) == (131328, 130816)


def test_back_to_real_numbers_a_copy_is_handed_over() -> None:
    args = {"dim": [2], "normalization": 0, "last_dim_size": 1024}
    copied, work = launched(sig("aten._fft_c2r.default", REAL, None, args, self=HALF))
    assert (copied.family, copied.bytes) == ("memcpy", 2 * 131328)
    assert (work.dims["kind"], work.write_bytes) == ("c2r", 131072)


def test_a_norm_is_a_separate_pass() -> None:
    args = {"dim": [2], "normalization": 2, "forward": True}
    work, scale = launched(sig("aten._fft_c2c.default", WHOLE, None, args, self=WHOLE))
    # 5·1,024·10·32 = 1,638,400
    assert (work.flops, scale.family, scale.bytes) == (1638400, "pointwise", 2 * 262144)


def test_three_dimensions_at_most_are_taken_at_once() -> None:
    x = ((4, 4, 4, 4), "complex64")
    args = {"dim": [0, 1, 2, 3], "normalization": 0, "forward": True}
    kernels = launched(sig("aten._fft_c2c.default", x, None, args, self=x))
    assert [len(work.dims["lengths"]) for work in kernels] == [3, 1]
    real = launched(
        sig(
            "aten._fft_r2c.default",
            ((4, 4, 4, 3), "complex64"),
            None,
            {"dim": [0, 1, 2, 3], "normalization": 0, "onesided": True},
            self=((4, 4, 4, 4), "float32"),
        )
    )
    assert kinds(real) == ["r2c", "c2c"]
