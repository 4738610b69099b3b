"""Add measured kernels of one file to the residuals of the packaged H200 profile.

`python -m calibration.fit.appended tall_products gemm_tensor_half gemm_tensor_tf32 gemm_vector`
adds the points of that file to the residuals of these curves and writes `h200.json`. Kernel models
and the lengths, spread and noise of the residuals do not change; held-out points are left out.
`--only PATTERN` adds the points whose names match a regular expression. Use it for further sizes of
known kernels: it takes minutes. `calibration.fit.again` fits all curves.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace

from calibration.fit.curve import WHEREVER, Measured
from calibration.fit.gpu import by_curve, judge
from calibration.fit.residual import MOST
from calibration.fit.student_noise import solved
from calibration.record.library_samples import of_file, samples
from calibration.record.samples import Sample
from simulator.hardware.gpu import GPU
from simulator.hardware.gpu import gpu as find_gpu
from simulator.timing.coordinates import coordinates
from simulator.timing.profile import Profile, profile
from simulator.timing.residuals import Residual


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


def main() -> None:
    """Add the samples to each curve, and write the profile with its intervals."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("file", help="the file's name, without its suffix")
    parser.add_argument("curves", nargs="+")
    parser.add_argument("--only", default="", help="regular expression on the points' names")
    options = parser.parse_args()
    card, learned = find_gpu("h200"), profile()
    points = (e for e in of_file(options.file, card) if re.search(options.only, e.point.name))
    groups = by_curve(samples(points))
    for name in options.curves:
        learned = appended(name, groups[name], card, learned)
        print(f"{name}: {len(groups[name])} further samples", flush=True)
    judge(learned)


if __name__ == "__main__":
    main()
