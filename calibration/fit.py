"""Fit a GPU's profile to recorded kernels: few physical parameters a family.

`python -m calibration.fit` reads the recordings of the H200 and writes
`simulator/profiles/h200.json`; the same recordings give the same file, byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares

from calibration.convolution_sweep import cases
from calibration.fidelity import retrace
from calibration.recordings import Recording, recordings
from calibration.validation import interval, outcomes
from simulator.costs import Work
from simulator.hardware import GPU
from simulator.hardware import gpu as find_gpu
from simulator.lowering import launches, lower
from simulator.profiles import FOLDER, Profile, Tiles, Traffic, profile
from simulator.records import Trace
from simulator.residency import accesses
from simulator.roofline import curve, roofs

Floats = NDArray[np.float64]
Pair = tuple[Recording, Trace]

DRAM_REACH = 0.91
"""Of 4.8 TB/s: what the largest copies reach on an H200."""

TRANSFERRED = (0.7, 1.15)
TRANSFERRED_SOURCE = (
    "70 timm networks on an RTX 3090 and an RTX 4090 (results of huggingface/pytorch-image-models, "
    "Apache-2.0): 0.71 to 0.98; widened for products on an A100 (NVIDIA AIConfigurator, "
    "Apache-2.0): 1.13 in the median"
)
"""What is known of GPUs that were not measured."""

L2_REACH = 0.6
"""Share of L2 within which data written before is still found; of 0.3 to 1.0 it fits best."""

_WIDTHS = (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192)
_TENSOR_SHAPES = sorted(
    {(h, w) for h in (64, 128, 192, 256, 320, 384) for w in _WIDTHS if h * w <= 256 * 144}
    | {(w, h) for h in (64, 128, 192, 256, 320, 384) for w in _WIDTHS if h * w <= 256 * 144}
)
_VECTOR_SHAPES = [(h, w) for h in (32, 64, 128, 256) for w in (32, 64, 128, 256) if h * w <= 32768]
_HEAD_SHAPES = [(16, 64), (64, 64), (128, 64)]


@dataclass(frozen=True)
class Sample:
    """One launch as recorded: its work, the share of its bytes in L2, and its seconds."""

    work: Work
    hot: float
    seconds: float


def samples(pairs: Sequence[Pair], gpu: GPU) -> list[Sample]:
    """Launches of the ops whose recorded and lowered kernels agree in number; the same work at
    the same residency is one sample, its median."""
    found: dict[Any, list[float]] = {}
    works: dict[Any, tuple[Work, float]] = {}
    for recording, trace in pairs:
        lowered = lower(trace, gpu)
        launching = np.zeros(len(trace.ops), np.bool_)
        launching[lowered.op_of] = True
        hot = accesses(trace, launching).hot_share((gpu.l2_bytes or 0) * L2_REACH)
        rows: dict[int, list[int]] = {}
        for work, op in zip(lowered.work_of.tolist(), lowered.op_of.tolist(), strict=True):
            rows.setdefault(op, []).append(work)
        for index, op in enumerate(recording.ops):
            lowered_works = rows.get(index, [])
            if len(op.kernels) != len(lowered_works):
                continue
            for (_, seconds), row in zip(op.kernels, lowered_works, strict=True):
                work = lowered.works[row]
                share = round(float(hot[index]), 2)
                key = (msgspec.json.encode(work), share)
                found.setdefault(key, []).append(seconds)
                works[key] = (work, share)
    return [Sample(*works[key], float(np.median(found[key]))) for key in sorted(found)]


def swept(gpu: GPU) -> list[Sample]:
    """Convolutions of the sweep, their main kernels alone. Operands that fit were in L2, since
    each case had run before."""
    reach = (gpu.l2_bytes or 0) * L2_REACH
    found: list[Sample] = []
    for signature, seconds in cases():
        works = launches(signature, gpu) or ()
        if len(works) == len(seconds):
            found += [
                Sample(work, float(work.bytes < reach), each)
                for work, each in zip(works, seconds, strict=True)
                if work.family == "conv"
            ]
    return found


def errors(found: Sequence[Sample], gpu: GPU, profile: Profile) -> Floats:
    """log(predicted / measured) of each sample."""
    table = roofs([s.work for s in found], gpu, profile)
    hot = np.array([s.hot for s in found])
    compute, held, fixed = table.parts(hot)
    predicted = np.maximum(compute, held) + fixed
    return np.log(predicted / np.array([s.seconds for s in found]))


def _solve(make: Callable[[Floats], Profile], start: Sequence[float], low: Sequence[float],
           high: Sequence[float], found: Sequence[Sample], gpu: GPU) -> Floats:  # fmt: skip
    def residuals(log_values: Floats) -> Floats:
        return np.clip(errors(found, gpu, make(np.exp(log_values))), -2, 2)

    best = least_squares(
        residuals, np.log(start), bounds=(np.log(low), np.log(high)), loss="soft_l1", f_scale=0.1,
        diff_step=0.02, max_nfev=40,
    )  # fmt: skip
    return np.array([float(f"{v:.4g}") for v in np.exp(best.x)])


def fit(pairs: Sequence[Pair], gpu: GPU, base: Profile) -> Profile:
    """A fitted whose families are fitted to the samples one at a time."""
    found = samples(pairs, gpu) + swept(gpu)
    fitted = base
    groups: dict[str, list[Sample]] = {}
    for sample in found:
        name = curve(sample.work)
        groups.setdefault(name, []).append(sample)
    for name, group in sorted(groups.items()):
        tile = _start_of(name, base)
        if tile is not None:
            old = tile

            def tiled(
                v: Floats, name: str = name, old: Tiles = old, now: Profile = fitted
            ) -> Profile:
                tiles = Tiles(old.shapes, *v.tolist())
                return msgspec.structs.replace(now, tiles={**now.tiles, name: tiles})

            start = [old.utilisation, old.feed, old.wave_s, old.split_s, old.dram, old.l2,
                     old.fixed_s, old.unaligned]  # fmt: skip
            low = [0.02, 0.1, 1e-8, 5e-7, 0.2, 0.05, 5e-7, 1.0]
            high = [4.0, 500.0, 2e-5, 2e-5, 0.91, 1.0, 2e-5, 8.0]
            fitted = tiled(_solve(tiled, start, low, high, group, gpu))
        elif len(group) >= 4:

            def held(v: Floats, name: str = name, now: Profile = fitted) -> Profile:
                traffic = {**now.traffic, name: Traffic(*v.tolist())}
                return msgspec.structs.replace(now, traffic=traffic)

            start = [14.0, 0.5, 0.5, 1.5e-6, 5e-7, 5e10, 1e-9, 60.0]
            low = [0.3, 0.02, 0.01, 2e-7, 1e-9, 1e6, 1e-12, 1e-3]
            high = [40.0, 1, 1, 2e-4, 5e-6, 1e13, 1e-4, 1e5]
            fitted = held(_solve(held, start, low, high, group, gpu))
    return fitted


def gaps(found: Sequence[Recording]) -> tuple[float, float, float]:
    """Seconds between kernels in a stream and in a graph, and of a graph's launch.

    The first two are medians of what a step takes beyond its kernels, by kernel, where the GPU
    rules; the last is what a replay of a single kernel takes.
    """
    stream = [
        (r.period_s - r.gpu_busy_s) / r.kernel_count
        for r in found
        if r.period_s < 1.1 * r.gpu_busy_s
    ]
    replayed = [r for r in found if r.graph and "period" in r.graph]
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


def _start_of(name: str, base: Profile) -> Tiles | None:
    """Where a tiled family starts; every attention backend starts from the same."""
    return base.tiles.get("attention" if name.startswith("attention") else name)


def base(stream_gap_s: float, graph_gap_s: float, graph_launch_s: float) -> Profile:
    """Where the fit starts: one shape list a kind of product, everything else ordinary."""
    tensor = Tiles(tuple(_TENSOR_SHAPES), 2.0, 117.0, 1e-6, 3.5e-6, 0.8, 0.3, 1.8e-6, 2.0)
    vector = Tiles(tuple(_VECTOR_SHAPES), 0.82, 10.0, 2e-7, 3e-6, 0.8, 0.4, 3e-6)
    heads = Tiles(tuple(_HEAD_SHAPES), 0.7, 1.0, 1e-6, 1e-6, 0.8, 0.4, 3e-6)
    conv = Tiles(tuple(_TENSOR_SHAPES), 1.2, 100.0, 1e-6, 3e-6, 0.8, 0.4, 3e-6)
    return Profile(
        version=1,
        id="h200",
        gpu="h200_sxm",
        source="kernels of 67 networks recorded on an NVIDIA H200 with torch 2.11, CUDA 13.0, "
        "cuDNN 9.19; graph launch and gaps from replays of the same networks",
        traffic={"pointwise": Traffic(14.0, 0.5, 0.5, 1.5e-6)},
        tiles={
            "gemm_tensor": tensor,
            "gemm_vector": vector,
            "attention": heads,
            "conv_fwd": conv,
            "conv_dgrad": conv,
            "conv_wgrad": conv,
        },
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


def report(found: Sequence[Sample], gpu: GPU, profile: Profile) -> str:
    """Median and 90th percentile of the error by family, and how far it leans."""
    error = errors(found, gpu, profile)
    lines: list[str] = []
    kinds = [curve(s.work) for s in found]
    weight = np.array([s.seconds for s in found])
    for kind in sorted(set(kinds)):
        rows = np.array([k == kind for k in kinds])
        off = np.abs(np.expm1(error[rows]))
        lean = float(np.expm1(np.median(error[rows])))
        lines.append(
            f"{kind:16} {rows.sum():5d} samples  median {np.median(off):6.1%}  "
            f"p90 {np.quantile(off, 0.9):6.1%}  leans {lean:+6.1%}  "
            f"{weight[rows].sum() / weight.sum():6.1%} of the time"
        )
    return "\n".join(lines)


def main() -> None:
    """Fit to the recorded networks, report, write the profile, and measure its interval."""
    pairs = [(recording, retrace(recording.case)) for recording in recordings()]
    held_out = [(recording, retrace(recording.case)) for recording in recordings("validation")]
    refit(pairs, held_out)


def refit(pairs: Sequence[Pair], held_out: Sequence[Pair]) -> None:
    """Fit to `pairs`, take the interval from `held_out`, and write `h200.json`."""
    card = find_gpu("h200")
    between = gaps([*(recording for recording, _ in pairs), *recordings("host")])
    fitted = fit(pairs, card, base(*between))
    print(report(samples(pairs, card), card, fitted))
    write(fitted)
    found = [o for recording, trace in held_out for o in outcomes(recording, trace)]
    write(msgspec.structs.replace(fitted, interval=interval(found)))


def write(fitted: Profile) -> None:
    """The profile as readable JSON, for `simulator.profiles` to load from now on."""
    text = msgspec.json.format(msgspec.json.encode(fitted), indent=1)
    (FOLDER / "h200.json").write_bytes(text + b"\n")
    profile.cache_clear()


if __name__ == "__main__":
    main()
