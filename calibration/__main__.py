"""`python -m calibration measure|fit|validate|all`: the same as `ridgepoint calibrate …`.

Measuring needs a CUDA GPU, PyTorch and numpy, and uses Triton and nvidia-ml-py if they are
installed. Fitting and validating need Ridgepoint's own packages, but no GPU.
"""

from __future__ import annotations

import time

# set before torch is imported, because the import counts towards the time limit
_BEGAN_S = time.perf_counter()

import argparse  # noqa: E402
import importlib  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Sequence  # noqa: E402
from dataclasses import asdict  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import TYPE_CHECKING  # noqa: E402

from simulator.errors import InputError, RidgepointError  # noqa: E402

if TYPE_CHECKING:
    from calibration.measure.log import Log
    from calibration.measure.run import Progress

LIMIT_S = {"quick": 88.0, "full": 595.0}
FOLDER = Path("ridgepoint-measurements")


def parser() -> argparse.ArgumentParser:
    """Create the argument parser of all commands."""
    top = argparse.ArgumentParser(
        prog="ridgepoint calibrate",
        description="Measure this GPU and host, fit their profiles, and compare "
        "predictions with measured networks.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    measure = argparse.ArgumentParser(add_help=False)
    measure.add_argument(
        "folder",
        type=Path,
        nargs="?",
        default=FOLDER,
        metavar="FOLDER",
        help="folder for the samples; an earlier run in it is continued (%(default)s)",
    )
    extent = measure.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="a reduced sweep, 90 s at most")
    extent.add_argument("--full", action="store_true", help="the full sweep, 10 min (the default)")
    kinds = ("library", "cuda", "triton", "blind")
    measure.add_argument("--kind", choices=kinds, help="measure only kernels of this kind")
    measure.add_argument(
        "--only", default="", metavar="REGEX", help="measure only points whose names match"
    )
    measure.add_argument("--seconds", type=_positive, metavar="N", help="time limit, in seconds")
    measure.add_argument("--retry", action="store_true", help="try failed points again")
    measure.add_argument(
        "--host-only", action="store_true", help="time only Python and dispatch on the CPU; no GPU"
    )
    commands.add_parser("measure", parents=[measure], help="time calls; continues an earlier run")
    for name, text in (
        (
            "fit",
            "fit profiles to the measurements in FOLDER, or the packaged ones again without it",
        ),
        ("validate", "compare predictions with measurements; takes its own options"),
    ):
        commands.add_parser(name, help=text, add_help=False)
    commands.add_parser("all", parents=[measure], help="measure, fit and validate")
    return top


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < 1e6:
        raise argparse.ArgumentTypeError(f"{text}: expected a number of seconds above 0")
    return value


def say(text: str) -> None:
    """Print a message to stderr."""
    print(text, file=sys.stderr, flush=True)


def measure(options: argparse.Namespace) -> None:
    """Time the planned points into `FOLDER/samples.jsonl`, and print a summary."""
    if options.host_only:
        measure_host(options.folder)
        return
    # torch takes seconds to import, and the help does not need it
    from calibration.measure.instruments import host_index
    from calibration.measure.instruments.device import Watch, find, versions
    from calibration.measure.instruments.gpu_bench import GpuBench
    from calibration.measure.log import Log
    from calibration.measure.run import Progress, Sweep, load, planned

    limit_s = options.seconds or LIMIT_S["quick" if options.quick else "full"]
    device = find()
    points = planned(load(options.kind, say), options.quick, options.only)
    watch = Watch(device)
    machine = {**versions(), "driver": watch.driver}
    card = {"gpu": device.name, **asdict(device)}
    for key in ("name", "uuid"):
        del card[key]
    with Log(options.folder / "samples.jsonl", {**card, **machine}) as log:
        earlier = log.measurements
        for number in earlier.corrupt_lines:
            say(f"warning: {log.path}: line {number} is damaged and was skipped")
        done = earlier.measured - earlier.without_kernels
        if options.retry:
            done -= set(earlier.failed)
        points = [point for point in points if point.name not in done]
        points.sort(key=lambda point: point.name not in earlier.without_kernels)
        say(
            f"{device.name}, data sheet {device.sheet}: {len(points)} points to measure, "
            f"{len(earlier.samples)} already measured, samples in {log.path}"
        )
        if not points:
            return
        index = host_index.suite(gpu=True)
        log.write({"process": {**machine, "host_index": index, "at_s": round(time.time(), 1)}})
        progress = Progress(len(points), _BEGAN_S + limit_s)
        try:
            complete = Sweep(log, GpuBench(device, watch), progress).run(points)
        finally:
            progress.end()
        _summarise(log, progress, complete)


def _summarise(log: Log, progress: Progress, complete: bool) -> None:
    samples = log.measurements.samples.values()
    drifted = sum("drifted" in sample for sample in samples)
    streams = sum(sample.get("warm", {}).get("how") == "stream" for sample in samples)
    say(
        f"{len(samples)} points in {log.path}: {len(log.measurements.failed)} failed, "
        f"{drifted} drifted, {streams} timed without a graph"
    )
    for name, reason in [*log.measurements.failed.items()][:10]:
        say(f"  {name}: {reason}")
    if not complete:
        say(
            f"time ran out with {progress.total - progress.done} points left: run the same "
            "command again to continue"
        )


def measure_host(folder: Path) -> None:
    """Time this host's Python and dispatch into `FOLDER/host.jsonl`."""
    # imported here, as in `measure`
    from calibration.measure.instruments import host_index
    from calibration.measure.instruments.device import versions
    from calibration.measure.log import Log

    with Log(folder / "host.jsonl", {"gpu": None, **versions()}) as log:
        say(f"{log.measurements.header['cpu']}: Python and dispatch, on CPU tensors of 256 numbers")
        index = host_index.suite(gpu=False)
        at_s = round(time.time(), 1)
        log.write({"process": {**versions(), "host_index": index, "at_s": at_s}})
        for name, seconds in index.items():
            say(f"  {seconds * 1e6:8.1f} µs  {name}")
        say(f"written to {log.path}")


def pass_on(module: str, arguments: Sequence[str]) -> None:
    """Run a module's `main` with these arguments. Raises InputError if it needs a missing
    package."""
    try:
        run: Callable[[], object] = importlib.import_module(f"calibration.{module}").main
    except ModuleNotFoundError as error:
        raise InputError(
            f"{module} needs the package {error.name}, which is not installed. Expected "
            "Ridgepoint's own environment, which needs no GPU: copy the measurements there and run "
            "this command again"
        ) from None
    old = sys.argv
    sys.argv = [module, *arguments]
    try:
        run()
    finally:
        sys.argv = old


def run(arguments: Sequence[str]) -> None:
    """Parse the arguments and run their command."""
    options, rest = parser().parse_known_args(arguments)
    if options.command in ("measure", "all"):
        if rest:
            parser().error(f"unknown: {' '.join(rest)}")
        measure(options)
        rest = []
    if options.command == "all":
        pass_on("fit.folder", [str(options.folder)])
    elif options.command == "fit" and rest:
        pass_on("fit.folder", rest)
    elif options.command == "fit":
        pass_on("fit.host", [])
        pass_on("fit.gpu", [])
    if options.command in ("validate", "all"):
        pass_on("validate.report", rest)


def main() -> None:
    """Run the command line. Exits with 2 for an error that Ridgepoint reports, 130 after Ctrl-C."""
    try:
        run(sys.argv[1:])
    except RidgepointError as error:
        say(f"error: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        say("\nstopped; all samples so far are kept. Run the same command again to continue")
        sys.exit(130)


if __name__ == "__main__":
    main()
