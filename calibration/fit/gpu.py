"""Fit a GPU's profile to recorded kernels, with few physical parameters per family.

`python -m calibration.fit.gpu` reads the recordings of the H200 and writes
`simulator/timing/profiles/h200.json`; the same recordings give the same file, byte for byte.
"""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

import msgspec
import numpy as np
from numpy.typing import NDArray

from calibration.fit.captured import on_packages
from calibration.fit.curve import fit_curve
from calibration.generated import kernels
from calibration.record import fusion_samples
from calibration.record.library_samples import Swept, samples, swept
from calibration.record.read import Recording, recordings
from calibration.record.samples import L2_REACH, Pair, Sample, convolutions, merged, recorded
from calibration.validate.report import compiled
from calibration.validate.table.printed import interval
from calibration.validate.trace_fidelity import retrace
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.modes import replays
from simulator.timing.profile import FOLDER, VERSION, Profile, Tiles, Traffic, profile
from simulator.timing.roofline import curve, roofs

Floats = NDArray[np.float64]

DRAM_REACH = 0.91
"""The share of 4.8 TB/s that the largest copies reach on an H200."""

TRANSFERRED = (0.85, 1.15)
TRANSFERRED_SOURCE = (
    "58 timm networks on an RTX 3090 and an RTX 4090 that were not used for the transfer "
    "(results of huggingface/pytorch-image-models, Apache-2.0): 0.85 to 1.13; a little wider for "
    "GPUs without public figures"
)
"""The source of the interval for GPUs that were not measured."""

_WIDTHS = (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192)
_TENSOR_SHAPES = sorted(
    {(h, w) for h in (64, 128, 192, 256, 320, 384) for w in _WIDTHS if h * w <= 256 * 144}
    | {(w, h) for h in (64, 128, 192, 256, 320, 384) for w in _WIDTHS if h * w <= 256 * 144}
)
_COPY_SHAPES = [  # tiles of kernels that load with or without asynchronous copies
    (16, 16), (32, 32), (32, 64), (64, 32), (64, 64), (64, 128), (128, 64), (128, 128), (64, 256),
    (256, 64), (128, 256), (256, 128),
]  # fmt: skip
# tiles of convolutions with few input channels, whose patches are gathered
_FIRST_SHAPES = ((128, 64), (256, 64), (128, 128))
_THIN_SHAPES = ((32, 32),)  # tiles of `cutlass_80_wmma_tensorop_…_32x32_…`
_WIDE_SHAPES = ((64, 64), (64, 128), (128, 128), (256, 64), (256, 128))
"""Tiles of the older kernels for large filters, from their names."""
_COVERING_SHAPES = ((128, 128),)  # tiles of cuDNN's TF32 kernel for large filters
_LONG_SHAPES = ((64, 128),)  # tiles of `implicit_convolve_sgemm<…, 128, 6, 7, …>`
_VECTOR_SHAPES = [(h, w) for h in (32, 64, 128, 256) for w in (32, 64, 128, 256) if h * w <= 32768]


_THREADS = "OPENBLAS_NUM_THREADS"  # the variable that numpy's and scipy's wheels read


def errors(samples: Sequence[Sample], gpu: GPU, profile: Profile) -> Floats:
    """log(predicted / measured) of each sample."""
    table = roofs([s.work for s in samples], gpu, profile)
    hot, dirty = (np.array([getattr(s, name) for s in samples]) for name in ("hot", "dirty"))
    compute, memory, fixed = table.parts(hot, dirty)
    predicted = np.maximum(compute, memory) + fixed
    return np.log(predicted / np.array([s.seconds for s in samples]))


def by_curve(samples: Iterable[Sample]) -> dict[str, list[Sample]]:
    """Samples by the curve that predicts them."""
    groups: dict[str, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(curve(sample.work), []).append(sample)
    return groups


def fit(samples: Sequence[Sample], gpu: GPU, base: Profile) -> Profile:
    """`base` with every curve that has samples fitted to them, each independently, so that curves
    can be fitted in parallel and refitted one by one."""
    longest = sorted(by_curve(samples).items(), key=lambda group: -len(group[1]))
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    with one_thread_each(), ProcessPoolExecutor(mp_context=context) as workers:
        each = [(name, workers.submit(fit_curve, name, own, gpu, base)) for name, own in longest]
        parts = {name: future.result() for name, future in each}
    named = sorted(parts.items())
    return msgspec.structs.replace(
        base,
        traffic=base.traffic | {n: part.traffic[n] for n, part in named if n in part.traffic},
        tiles=base.tiles | {n: part.tiles[n] for n, part in named if n in part.tiles},
        residuals={n: part.residuals[n] for n, part in named if n in part.residuals},
    )


@contextmanager
def one_thread_each() -> Generator[None]:
    """A context in which started processes use one thread for linear algebra: several threads would
    wait for each other, and would add in another order on other machines."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"
    try:
        yield
    finally:
        del os.environ[_THREADS]
        if before is not None:
            os.environ[_THREADS] = before


def gaps(recordings: Sequence[Recording]) -> tuple[float, float, float]:
    """Seconds between kernels in a stream and in a graph, and of a graph's launch.

    The first two are the part of a GPU-bound step that its kernels do not fill, divided by their
    number, as the median over steps; the last is the time to replay a single kernel.
    """
    stream = [
        (r.period_s - r.gpu_busy_s) / r.kernel_count
        for r in recordings
        if r.period_s < 1.1 * r.gpu_busy_s
    ]
    replayed = [r for r in recordings if r.graph and "period" in r.graph]
    graph = [
        (r.graph["period"]["median_s"] - r.graph["gpu_busy_s"]) / r.graph["kernels"]
        for r in replayed
        if r.graph and r.graph["kernels"] >= 10
    ]
    single = [
        r.graph["period"]["median_s"] for r in replayed if r.graph and r.graph["kernels"] == 1
    ]
    medians = (float(np.median(each)) for each in (stream, graph, single))
    return tuple(float(f"{m:.3g}") for m in medians)  # pyright: ignore[reportReturnType]


def base(stream_gap_s: float, graph_gap_s: float, graph_launch_s: float) -> Profile:
    """The start of the fit: a list of tile shapes for each kind of product, and typical values
    elsewhere."""
    tensor = Tiles(tuple(_TENSOR_SHAPES), 0.75, 56.0, 1e-6, 3.5e-6, 0.8, 0.3, 1.8e-6, 2.0, 5e-7)
    copying = msgspec.structs.replace(tensor, shapes=tuple(_COPY_SHAPES), utilisation=0.75)
    vector = Tiles(tuple(_VECTOR_SHAPES), 0.82, 56.0, 2e-7, 3e-6, 0.8, 0.4, 3e-6, 1.1, 5e-7)
    thin = msgspec.structs.replace(
        copying, shapes=_THIN_SHAPES, wave_s=3.5e-7, fixed_s=2.1e-6, unaligned=1.5, dram=0.3
    )
    heads = Tiles(
        (),
        0.6,
        0.0,
        1e-6,
        1e-6,
        0.7,
        0.3,
        2e-6,
        1.0,
        5e-7,
        alone=1.3,
        masked=1.3,
        edge=1.3,
        narrow=40.0,
    )
    conv = Tiles(tuple(_TENSOR_SHAPES), 0.75, 30.0, 1e-6, 3e-6, 0.8, 0.4, 3e-6)
    first = msgspec.structs.replace(conv, shapes=_FIRST_SHAPES)
    wide = msgspec.structs.replace(conv, shapes=_WIDE_SHAPES)
    covering = msgspec.structs.replace(conv, shapes=_COVERING_SHAPES)
    long = msgspec.structs.replace(conv, shapes=_LONG_SHAPES, utilisation=0.25, feed=100.0)
    return Profile(
        version=VERSION,
        id="h200",
        gpu="h200_sxm",
        source="19,462 calls, 878 compiled functions, 900 convolutions and 67 networks measured on "
        "an NVIDIA H200 with torch 2.11, CUDA 13.0, cuDNN 9.19; graph launch and gaps from replays "
        "of networks",
        traffic={"pointwise": Traffic(14.0, 0.5, 0.5, 1.5e-6)},
        tiles={
            "gemm_tensor": tensor,
            **{f"gemm_tensor_{n}": copying for n in ("half_2", "half_4", "int8", "tf32")},
            "gemm_tensor_half_thin": thin,
            "gemm_vector": vector,
            "attention": heads,
            "conv_fwd": conv,
            "conv_fwd_first": first,
            "conv_fwd_image": first,
            "conv_fwd_wide": wide,
            "conv_fwd_covering": covering,
            "conv_fwd_direct_long": long,
            "conv_dgrad": conv,
            "conv_wgrad": conv,
        },
        residuals={},
        units=132,
        dram_reach=DRAM_REACH,
        l2_reach=L2_REACH,
        l2_bytes_per_clock_per_unit=37.5,
        gap_s=stream_gap_s,
        graph_gap_s=graph_gap_s,
        graph_launch_s=graph_launch_s,
        interval=(0.8, 1.25),
        transferred=TRANSFERRED,
        transferred_source=TRANSFERRED_SOURCE,
    )


def report(samples: Sequence[Sample], gpu: GPU, profile: Profile) -> str:
    """Lines with the median and 90th percentile of the error of each curve, and its bias."""
    error = errors(samples, gpu, profile)
    lines: list[str] = []
    kinds = [curve(s.work) for s in samples]
    weight = np.array([s.seconds for s in samples])
    for kind in sorted(set(kinds)):
        rows = np.array([k == kind for k in kinds])
        off = np.abs(np.expm1(error[rows]))
        bias = float(np.expm1(np.median(error[rows])))
        lines.append(
            f"{kind:16} {rows.sum():5d} samples  median {np.median(off):6.1%}  "
            f"p90 {np.quantile(off, 0.9):6.1%}  bias {bias:+6.1%}  "
            f"{weight[rows].sum() / weight.sum():6.1%} of the time"
        )
    return "\n".join(lines)


def main() -> None:
    """Fit to the recorded networks and the sweep, report, write the profile and its interval."""
    card = find_gpu("h200")
    pairs = [(recording, retrace(recording.case)) for recording in recordings()]
    fused = [
        *fusion_samples.samples(fusion_samples.fusion_speedups(card)),
        *kernels.samples(kernels.calls(card), card),
    ]
    refit(pairs, list(swept(card)), fused)


def refit(pairs: Sequence[Pair], ops: Sequence[Swept], fused: Sequence[Sample]) -> None:
    """Fit to `pairs`, `ops` and `fused` kernels, and write `h200.json` with its intervals."""
    card = find_gpu("h200")
    between = gaps([*(recording for recording, _ in pairs), *recordings("host")])
    measured = merged([*recorded(pairs, card), *convolutions(card), *samples(ops), *fused])
    fitted = fit(measured, card, base(*between))
    print(report(measured, card, fitted))
    write(fitted)
    judge(fitted)


def judge(fitted: Profile) -> None:
    """Compute the intervals of a profile from steps that no fit uses, and write the profile.
    The interval of the GPU's work comes from CUDA graphs of packages' networks."""
    write(fitted)
    low, high = np.quantile([*on_packages(find_gpu(fitted.gpu))], [0.1, 0.9]).tolist()
    judged = msgspec.structs.replace(fitted, interval=(round(low, 3), round(high, 3)))
    judged = msgspec.structs.replace(judged, compiled=interval(compiled()))
    captured = [o for o in compiled("compiled_modes") if replays(o.group.rpartition(" ")[2])]
    write(msgspec.structs.replace(judged, replayed=interval(captured)))


def write(fitted: Profile) -> None:
    """Write the profile to the file that `simulator.timing.profile` loads."""
    (FOLDER / "h200.json").write_bytes(written(fitted))
    profile.cache_clear()


def written(fitted: Profile) -> bytes:
    """The profile as readable JSON, with each list of numbers on one line."""
    # the residuals of a packaged profile are not a dict
    encoded = msgspec.json.encode(fitted, enc_hook=dict)
    text = msgspec.json.format(encoded, indent=1).decode()
    numbers = r"\[[-+.,\deE\s]*\]"
    return re.sub(numbers, lambda m: re.sub(r"\s+", "", m[0]), text).encode() + b"\n"


if __name__ == "__main__":
    main()
