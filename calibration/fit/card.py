"""Fit the figures of a card that differ from a fully measured card of the same architecture.

`python -m calibration.fit.card` writes `simulator/timing/profiles/cards/h100.json` from the H100's
calls and networks (some from transformers and timm, which must be installed). Into the folder of
the measurements it writes `alone.json.gz`, a profile that is fitted only to the H100 and uses no
measurement of the H200. The accuracy table predicts the H200 by this profile.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence
from statistics import median

import msgspec
import numpy as np

from calibration.fit.captured import on_packages
from calibration.fit.gpu import base, fit, written
from calibration.record.library_samples import samples, swept
from calibration.record.read import MEASUREMENTS, Recording, recordings
from calibration.record.samples import Pair, Sample, merged, recorded
from calibration.validate.trace_fidelity import retrace
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.timing.card import CARDS, Card
from simulator.timing.profile import VERSION, Profile, profile
from simulator.timing.roofline import curve, roofs

_SHORT_S = 3e-6
"""Below this time in seconds, the fixed part dominates a kernel; the error of a longer kernel comes
from its rates."""


def kernel_s(samples: Sequence[Sample], gpu: GPU, known: Profile) -> float:
    """The median time, in seconds, by which short kernels without tiles exceed the prediction by
    the transferred profile `known`."""
    untiled = [s for s in samples if curve(s.work) in known.traffic]
    hot, dirty = (np.array([getattr(s, name) for s in untiled]) for name in ("hot", "dirty"))
    compute, memory, fixed = roofs([s.work for s in untiled], gpu, known).parts(hot, dirty)
    predicted = np.maximum(compute, memory) + fixed
    measured = np.array([s.seconds for s in untiled])
    return float(f"{np.median((measured - predicted)[predicted < _SHORT_S]):.3g}")


def longer_gap_s(recordings: Iterable[Recording], others: Iterable[Recording]) -> float:
    """The seconds by which a gap between kernels of a graph in `recordings` exceeds that in
    `others`, as the median over the steps recorded on both GPUs. Gaps of a stream depend on the
    host as much as on the GPU."""
    by_name = {recording.name: recording for recording in others}
    pairs = [
        (recording, by_name[recording.name])
        for recording in recordings
        if recording.name in by_name
    ]
    gaps = [(_gap_s(a), _gap_s(b)) for a, b in pairs]
    return median(a - b for a, b in gaps if a is not None and b is not None)


def _gap_s(r: Recording) -> float | None:
    """Seconds of the gap between two kernels of a graph; None if the graph has so few kernels that
    its launch matters."""
    g = r.graph or {}
    if g.get("kernels", 0) < 10:
        return None
    return (g["period"]["median_s"] - g["gpu_busy_s"]) / g["kernels"]


def card(gpu: GPU, name: str, known: Profile, samples: Sequence[Sample]) -> Card:
    """The card's figures, with the interval of its profile (`Card.of`)."""
    longer_s = longer_gap_s(recordings(gpu=gpu.id), recordings(gpu=known.gpu))
    return Card(
        version=VERSION,
        id=name,
        gpu=gpu.id,
        of=known.id,
        source=f"{len(samples)} kernels of 3,608 calls, and 20 networks, measured on an NVIDIA "
        f"{gpu.name} with torch 2.11, CUDA 13.0, cuDNN 9.19; other figures from {known.id}",
        kernel_s=kernel_s(samples, gpu, known),
        graph_gap_s=float(f"{known.graph_gap_s + longer_s:.3g}"),
        interval=known.interval,
    )


def alone(pairs: Sequence[Pair], samples: Sequence[Sample], gpu: GPU) -> Profile:
    """A profile fitted only to this GPU's measurements."""
    known = profile()
    start = msgspec.structs.replace(
        base(known.gap_s, known.graph_gap_s, known.graph_launch_s),
        id=f"{gpu.id} alone",
        gpu=gpu.id,
        units=gpu.units or known.units,
        source=f"3,608 calls and {len(pairs)} networks measured on an NVIDIA {gpu.name}",
    )
    return fit(merged([*recorded(pairs, gpu), *samples]), gpu, start)


def write(card: Card) -> None:
    """Write the card's file, which `simulator.timing.profile` loads from now on."""
    text = msgspec.json.format(msgspec.json.encode(card), indent=1) + b"\n"
    (CARDS / f"{card.id}.json").write_bytes(text)
    profile.cache_clear()


def main() -> None:
    """Fit the H100."""
    gpu = find_gpu("h100")
    calls = merged(samples(swept(gpu)))
    fitted = card(gpu, "h100", profile(), calls)
    write(fitted)
    ratios = [*on_packages(gpu)]
    low, high = np.quantile(ratios, [0.1, 0.9]).tolist()
    write(msgspec.structs.replace(fitted, interval=(round(low, 3), round(high, 3))))
    pairs = [(recording, retrace(recording.case)) for recording in recordings(gpu=gpu.id)]
    text = written(alone(pairs, calls, gpu))
    (MEASUREMENTS / gpu.id / "alone.json.gz").write_bytes(gzip.compress(text, mtime=0))


if __name__ == "__main__":
    main()
