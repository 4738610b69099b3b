"""Fit the curves of the packaged H200 profile again, including the further points of the sweeps.

`python -m calibration.fit.again` traces 160,000 calls (an hour) and writes `h200.json`;
`--operations REGEX` and `--curves NAMES` fit these curves alone, to the calls of these operations,
and with `--networks` to the recorded networks too.
Each curve has up to three candidates: the current profile, a new residual, and, if the 90th
percentile of the error with the new residual exceeds 25%, a new kernel model with a new residual.
The error on calls that are held out of the fit selects the candidate.
"""

from __future__ import annotations

import argparse
import multiprocessing
from collections.abc import Collection, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from calibration.fit.curve import fit_curve, with_residual
from calibration.fit.gpu import by_curve, errors, judge, one_thread_each
from calibration.generated import kernels
from calibration.record import fusion_samples
from calibration.record.library_samples import (
    Swept,
    further,
    layers,
    matched,
    samples,
    swept,
)
from calibration.record.read import recordings
from calibration.record.samples import Sample, convolutions, merged, recorded
from calibration.validate.trace_fidelity import retrace
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.timing.profile import Profile, profile

_MOST = {
    "gemm_vector": 12000,
    "gemm": 4000,
    "gemv": 4000,
    "conv": 4000,
    "fill": 600,
    "padding": 600,
    "layout": 600,
    "pointwise": 4500,
}
"""Maximum number of samples of a curve, by the prefix of its name. Libraries choose among many
kernels for products and convolutions, most of all for products in single precision; fills behave
the same at any size, and functions of each element differ in their instructions."""
_MOST_OF_OTHERS = 2500
_AS_THEY_ARE = ("gemv",)
"""Curves that are not fitted again. If `gemv` were fitted again, its residual would make
predictions of matrix-vector products slower on an H100 PCIe, which uses the H200's residuals, than
on an A100, which has no residuals."""
_LARGEST_IN_L2 = {"group_moments": 0.28}
"""Largest operands that the samples of a curve may have in L2, as a share of L2. A block that reads
its row in steps takes twice as long if the row comes from DRAM. Repeated calls with larger operands
evict a part of these in between, so the label that they were in L2 would be wrong."""
_NEW_PHYSICS = ("pointwise_strided", "pointwise", "random", "concat", "pool_max_volumes",
                "pool_average_volumes")  # fmt: skip
_JUDGES = 10  # minimum number of held-out samples for a decision
_OFF = 0.25
_WORSE = 1.05


class Choice(NamedTuple):
    """A curve's profile, and the name of the candidate that was chosen."""

    curve: str
    profile: Profile
    chosen: str


def chosen(
    name: str, to_fit: Sequence[Sample], kept_out: Sequence[Sample], gpu: GPU, known: Profile
) -> Choice:
    """Select the profile of a curve: `known`, or one fitted to `to_fit`, by its error on
    the samples `kept_out`."""
    if name in _AS_THEY_ARE:
        return Choice(name, known, "as it is")
    if name in _NEW_PHYSICS:
        return Choice(name, fit_curve(name, to_fit, gpu, known), "physics")
    has_physics = name in known.tiles or name in known.traffic
    refitted = with_residual(name, to_fit, gpu, known)
    if len(kept_out) < _JUDGES:
        new = refitted if has_physics else fit_curve(name, to_fit, gpu, known)
        return Choice(name, new, "residual" if has_physics else "physics")
    choice = Choice(name, refitted, "residual")
    if not has_physics or np.quantile(_off(kept_out, gpu, refitted), 0.9) > _OFF:
        new = fit_curve(name, to_fit, gpu, known)
        if badness(kept_out, gpu, new) < 0.95 * badness(kept_out, gpu, refitted):
            choice = Choice(name, new, "physics")
    if has_physics and badness(kept_out, gpu, choice.profile) > _WORSE * badness(
        kept_out, gpu, known
    ):
        return Choice(name, known, "as it is")
    return choice


def _off(judged: Sequence[Sample], gpu: GPU, learned: Profile) -> NDArray[np.float64]:
    return np.abs(np.expm1(errors(judged, gpu, learned)))


def badness(judged: Sequence[Sample], gpu: GPU, learned: Profile) -> float:
    """The error of a profile on samples: its median plus 0.3 times its 90th percentile."""
    off = _off(judged, gpu, learned)
    return float(np.median(off) + 0.3 * np.quantile(off, 0.9))


def thinned(name: str, first: Sequence[Sample], further: Sequence[Sample]) -> list[Sample]:
    """The samples that a curve is fitted to: the first ones, and further ones up to the maximum."""
    most = next((n for start, n in _MOST.items() if name.startswith(start)), _MOST_OF_OTHERS)
    random = np.random.default_rng(0)
    if most < _MOST_OF_OTHERS:
        first = random_part(first, most // 2, random)
    return merged([*first, *random_part(further, max(0, most - len(first)), random)])


def located(name: str, measured: Sequence[Sample], gpu: GPU) -> list[Sample]:
    """The samples of a curve of which it is known whether their operands were in L2."""
    if name not in _LARGEST_IN_L2:
        return [*measured]
    largest = _LARGEST_IN_L2[name] * (gpu.l2_bytes or 0)
    return [s for s in measured if s.hot <= 0.5 or s.work.bytes <= largest]


def random_part(
    samples: Sequence[Sample], most: int, random: np.random.Generator
) -> Sequence[Sample]:
    """At most `most` of the samples, drawn at random, in their order."""
    if len(samples) <= most:
        return samples
    rows: list[int] = np.sort(random.permutation(len(samples))[:most]).tolist()
    return [samples[row] for row in rows]


def fit_again(
    first: Sequence[Sample],
    sweeps: Sequence[Swept],
    all_sweeps: Sequence[Swept],
    gpu: GPU,
    curves: Collection[str] = (),
) -> Profile:
    """Return the packaged profile with each of `curves`, or all of them, replaced by the `chosen`
    one, which is fitted to `first` and `sweeps` and judged by the held-out calls of
    `all_sweeps`."""
    known = profile()
    groups, more = by_curve(first), by_curve(samples(sweeps))
    kept_out = by_curve(merged(s for e in all_sweeps if e.point.held_out for s in matched(e)))
    context = multiprocessing.get_context("spawn")  # torch's threads do not survive a fork
    with one_thread_each(), ProcessPoolExecutor(mp_context=context) as workers:
        waiting = [
            workers.submit(
                chosen,
                name,
                located(name, thinned(name, groups.get(name, []), more.get(name, [])), gpu),
                kept_out.get(name, []),
                gpu,
                known,
            )
            for name in sorted(groups.keys() | more.keys())
            if name in curves or not curves
        ]
        choices = [each.result() for each in waiting]
    traffic, tiles, residuals = dict(known.traffic), dict(known.tiles), dict(known.residuals)
    for name, fitted, how in choices:
        print(f"{name:32} {how}")
        traffic |= {name: fitted.traffic[name]} if name in fitted.traffic else {}
        tiles |= {name: fitted.tiles[name]} if name in fitted.tiles else {}
        residuals |= {name: fitted.residuals[name]} if name in fitted.residuals else {}
    return replace(known, traffic=traffic, tiles=tiles, residuals=residuals)


def main() -> None:
    """Fit the curves again and write the profile with its intervals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--operations", default="", help="regular expression for whole names")
    parser.add_argument("--curves", nargs="*", default=())
    parser.add_argument("--networks", action="store_true", help="fit to recorded networks too")
    options = parser.parse_args()
    card, only = find_gpu("h200"), options.operations
    sweeps, more = [*swept(card, only=only), *layers(card, only)], list(further(card, only))
    first = samples(sweeps)
    if options.networks or not only:
        pairs = [(recording, retrace(recording.case)) for recording in recordings()]
        first += recorded(pairs, card)
    if not only:
        first += convolutions(card)
        first += fusion_samples.samples(fusion_samples.fusion_speedups(card))
        first += kernels.samples(kernels.calls(card), card)
    judge(fit_again(merged(first), more, [*sweeps, *more], card, options.curves))


if __name__ == "__main__":
    main()
