"""Add measured kernels of further files to the residuals of the packaged H200 profile.

`python -m calibration.fit.appended common_sizes common_sizes_second` adds the points of these files
to the residuals of their curves and writes `h200.json`. Kernel models and the lengths, spread and
noise of the residuals do not change. A curve changes only if its error on the held-out points of
these files gets smaller by a tenth. `--curves NAMES` adds them to these curves alone, and `--only
PATTERN` adds the points whose names match a regular expression. Use it for further sizes of known
kernels: it takes minutes. `calibration.fit.again` fits all curves.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from calibration.fit.again import badness, random_part
from calibration.fit.curve import WHEREVER, Measured
from calibration.fit.gpu import by_curve, judge
from calibration.fit.residual import MOST
from calibration.fit.student_noise import solved
from calibration.record.library_samples import matched, of_file, samples
from calibration.record.samples import Sample, merged
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.timing.coordinates import coordinates
from simulator.timing.profile import Profile, profile
from simulator.timing.residuals import Residual

_MOST = {"gemm_vector": 9000, "gemm_tensor_half": 9000}
"""Maximum number of samples that are added to a curve. Each takes 100 bytes of the profile."""
_MOST_OF_OTHERS = 2500
_JUDGES = 6  # minimum number of held-out samples of a curve that changes
_BETTER = 0.9


def appended(name: str, more: Sequence[Sample], gpu: GPU, known: Profile) -> Profile:
    """The profile with further samples in the residual of a curve. Raises KeyError if the curve has
    no residual."""
    residual = known.residuals[name]
    measured = Measured(name, more)
    logs = np.clip(-measured.errors(gpu, known), -MOST, MOST)
    points = coordinates([s.work for s in more], 0.0, residual.features, known.units)
    if "hot" in residual.features and name not in WHEREVER:
        points[:, residual.features.index("hot")] = measured.hot
    whole = Residual.measured(
        residual.features,
        residual.lengths,
        np.concatenate([residual.measured_points, points]),
        np.concatenate([residual.logs, logs]),
        residual.spread,
        residual.noise,
    )
    return replace(known, residuals={**known.residuals, name: solved(whole)})


def improved(
    name: str, more: Sequence[Sample], kept_out: Sequence[Sample], gpu: GPU, known: Profile
) -> Profile:
    """The profile with further samples in the residual of a curve, or `known` if it has none, if
    few samples judge it, or if it predicts the samples `kept_out` nearly as well."""
    if name not in known.residuals or len(kept_out) < _JUDGES:
        return known
    more = random_part(more, _MOST.get(name, _MOST_OF_OTHERS), np.random.default_rng(0))
    new = appended(name, more, gpu, known)
    before, after = (badness(kept_out, gpu, each) for each in (known, new))
    print(f"{name}: {len(more)} further samples, error {before:.3f} -> {after:.3f}", flush=True)
    return new if after < _BETTER * before else known


def main() -> None:
    """Add the samples to each curve, and write the profile with its intervals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("files", nargs="+", help="the files' names, without their suffix")
    parser.add_argument("--curves", nargs="*", default=())
    parser.add_argument("--only", default="", help="regular expression on the points' names")
    options = parser.parse_args()
    card, learned = find_gpu("h200"), profile()
    every = (each for name in options.files for each in of_file(name, card))
    points = [each for each in every if re.search(options.only, each.point.name)]
    groups = by_curve(samples(points))
    kept_out = by_curve(merged(s for e in points if e.point.held_out for s in matched(e)))
    for name in options.curves or sorted(groups):
        learned = improved(name, groups[name], kept_out.get(name, []), card, learned)
    judge(learned)


if __name__ == "__main__":
    main()
