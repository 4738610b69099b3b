"""Profiles from a folder of measurements: one of the user's own GPU, and one of its host.

`ridgepoint calibrate fit FOLDER` writes `FOLDER/<gpu>.json` and `FOLDER/host.json`; with
`--install`, the profile of the GPU is also written to the folder that predictions read.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path

import msgspec

from calibration.fit.gpu import base, fit, report, written
from calibration.measure.log import Measurements, read
from calibration.record.library_samples import samples, swept
from calibration.record.samples import merged
from simulator.errors import InputError
from simulator.hardware.gpu import gpu as find_gpu
from simulator.hardware.host import COUNTS, OWN_SPREAD, Host
from simulator.hardware.host import host as find_host
from simulator.hardware.host_speed import parts
from simulator.timing.profile import Profile, profile, users


def gpu_profile(measured: Measurements, path: Path) -> Profile:
    """The profile of the measured GPU. Figures that a sweep of calls does not give (gaps of a
    stream, the interval of whole networks) come from the packaged profile, as the source of the new
    profile states."""
    card = find_gpu(measured.header["sheet"])
    known = profile()
    sweeps = list(swept(card, path))
    if not sweeps:
        raise InputError(
            f"{path} holds no measured library kernels: expected a folder that "
            "`ridgepoint calibrate measure` filled without --kind. Measure again without it"
        )
    start = msgspec.structs.replace(
        base(known.gap_s, graph_gap(measured) or known.graph_gap_s, known.graph_launch_s),
        id=card.id,
        gpu=card.id,
        units=card.units or known.units,
        source=f"{len(sweeps)} calls measured on {measured.header['gpu']} with torch "
        f"{measured.header['torch']}, CUDA {measured.header['cuda']}; gaps of a stream and the "
        f"interval as of {known.id}",
        interval=known.interval,
        compiled=known.compiled,
    )
    measured_samples = merged(samples(sweeps))
    fitted = fit(measured_samples, card, start)
    print(report(measured_samples, card, fitted))
    return fitted


def graph_gap(measured: Measurements) -> float | None:
    """Seconds between the kernels of a graph: the time of chains of small kernels that the kernels
    themselves do not take."""
    gaps = [
        (s["warm"]["median_s"] - sum(kernel[1] for kernel in s["kernels"])) / len(s["kernels"])
        for s in measured.samples.values()
        if s["point"]["operation"] == "cuda_kernel_chain" and len(s.get("kernels", ())) >= 8
    ]
    return float(f"{max(0.0, statistics.median(gaps)):.3g}") if gaps else None


def host_profile(measured: Measurements) -> Host:
    """The default host, with each part scaled by the time of the fixed steps on this host. The
    remaining uncertainty is the variation of one host over seconds."""
    known = find_host()
    last = measured.processes[-1]
    host_index: dict[str, float] = last["host_index"]
    times = parts(host_index, known.reference)
    shown = ", ".join(f"{name} {value:.2f}" for name, value in times._asdict().items())
    slower = known.slower(times)
    return msgspec.structs.replace(
        slower,
        id="own",
        cpu=str(last["cpu"]),
        source=f"{known.id}, with each part scaled by the time of fixed steps here: {shown}",
        seconds={count: float(f"{slower.seconds[count]:.4g}") for count in COUNTS},
        spread=OWN_SPREAD,
        reference=host_index,
    )


def main() -> None:
    """Fit the profiles of a folder."""
    parser = argparse.ArgumentParser(
        prog="ridgepoint calibrate fit", description=(__doc__ or "").partition("\n\n")[2]
    )
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="FOLDER",
        help="the folder that `measure` filled; without it, and without options, the packaged "
        "hosts and the H200's profile are fitted again to the packaged measurements, and their "
        "files are overwritten",
    )
    parser.add_argument(
        "--install",
        action="store_true",
        help="use the GPU's profile for predictions; needs a FOLDER",
    )
    options = parser.parse_args()
    if options.folder is None:
        parser.error("no FOLDER: expected the folder that `measure` filled; name it")
    folder: Path = options.folder
    logs = [path for path in (folder / "samples.jsonl", folder / "host.jsonl") if path.is_file()]
    if not logs:
        raise InputError(
            f"{folder} holds neither samples.jsonl nor host.jsonl: expected a folder that "
            "`ridgepoint calibrate measure` filled. Measure first or name another folder"
        )
    for path in logs:
        measured = read(path)
        if measured.header.get("sheet"):
            fitted = gpu_profile(measured, path)
            _write(fitted, folder / f"{fitted.gpu}.json")
            if options.install:
                _write(fitted, users() / f"{fitted.gpu}.json")
        if measured.processes:
            _write(host_profile(measured), folder / "host.json")


def _write(fitted: Profile | Host, path: Path) -> None:
    if isinstance(fitted, Host):
        text = msgspec.json.format(msgspec.json.encode(fitted), indent=1) + b"\n"
    else:
        text = written(fitted)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    print(f"written: {path}")


if __name__ == "__main__":
    main()
