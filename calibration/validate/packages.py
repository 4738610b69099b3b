"""Compare predictions with measurements on networks from packages and users.

`python -m calibration.validate.packages [PATTERN]` traces each case of the suites `packages` and
`packages_compiled`, or of those that `--suites` names. It prints a line for each, with the ratios
of predicted over measured if it was measured. The ratios are those of the period with the host's
speed from the probes before and after the step (`calibration.record.host_rounds.beside`), of the
period with the default host, of the GPU-busy time, and of the number of kernels. `--write FILE`
stores the predictions with the default host as JSON lines, gzipped if the name ends in `.gz`;
`--before FILE` compares such a file with the measurements instead and traces nothing. `--gpu
h100_sxm` names the measured GPU. The host's fit uses a few of these cases
(`calibration.fit.host_rows`). The packages transformers and timm must be installed.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

from calibration.cases.case import Case
from calibration.cases.suites import SUITES
from calibration.outcome import Outcome, summary, table
from calibration.record.host_rounds import beside
from calibration.record.read import Recording, Timed, recordings, timed
from calibration.stored_predictions import Row, rows, write
from calibration.validate.report import HOST_BOUND
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.errors import InputError
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.prediction import Prediction

FIRST = ("packages", "packages_compiled")
SECOND = ("packages_second", "packages_second_compiled", "own", "own_compiled")
"""Suites that were predicted before they were measured."""
BESIDE, DEFAULT = "host timed alongside", "default host"


def modes(case: Case) -> tuple[str, ...]:
    """The modes in which a case is timed."""
    if case.mode != "eager":
        return (case.mode,)
    return ("eager", "cuda_graph") if case.phase == "inference" else ("eager",)


def hosts(row: Recording | Timed | None) -> dict[str, Host]:
    """The hosts with which a case is predicted, by name: the default one, and that of its probes if
    it was measured."""
    known = {DEFAULT: find_host()}
    return known if row is None or row.probes is None else {BESIDE: beside(row.probes), **known}


def predictions(
    case: Case, by_name: dict[str, Host], gpu: str
) -> Iterator[tuple[str, dict[str, Prediction] | str]]:
    """The predictions of a case for each timed mode, by the host's name, or the error."""
    for mode in modes(case):
        try:
            traced = retrace(case.record(), mode)
            yield (
                mode,
                {
                    name: predict_trace(traced, gpu=gpu, mode=mode, host=h)
                    for name, h in by_name.items()
                },
            )
        except Exception as error:  # a network may raise any error
            yield mode, f"{type(error).__name__}: {str(error)[:300]}"


class Before(NamedTuple):
    """A prediction as it was stored."""

    period_s: float
    interval_s: tuple[float, float]
    gpu_busy_s: float
    kernel_count: int


def before(path: Path) -> dict[tuple[str, str], Before]:
    """The stored predictions of a file by case and mode. Raises InputError if the file has no
    predictions."""
    stored = {
        (row["case"], row["mode"]): Before(
            row["period_s"], tuple(row["interval_s"]), row["gpu_busy_s"], row["kernels"]
        )
        for row in rows(path)
        if "period_s" in row
    }
    if not stored:
        raise InputError(f"{path}: holds no predicted step; expected a file written with --write")
    return stored


def figures(name: str, mode: str, p: Prediction) -> Row:
    """A prediction as a row to store."""
    low_s, high_s = p.interval_s
    return {
        "case": name,
        "mode": mode,
        "period_s": p.period_s,
        "interval_s": [low_s, high_s],
        "gpu_busy_s": p.gpu_busy_s,
        "kernels": p.kernel_count,
    }


def measured(suite: str, gpu: str) -> dict[str, Recording | Timed]:
    """The cases of a suite that were measured on a GPU, by name; empty if the suite was not
    measured there."""
    try:
        recorded = [] if "compiled" in suite else list(recordings(suite, gpu))
        return {row.name: row for row in recorded or timed(suite, gpu)}
    except FileNotFoundError:
        return {}


def compared(
    row: Recording | Timed, mode: str, by_host: Mapping[str, Prediction | Before]
) -> Iterator[Outcome]:
    """Predicted over measured figures of one mode of a measured case. Periods are grouped by phase
    and by their measured bottleneck: the host if the period is more than `HOST_BOUND` times the
    GPU's busy time. For a step that was not profiled, the predicted busy time is used."""
    period_s, busy_s, kernels = row.period_s, row.gpu_busy_s, row.kernel_count
    if mode == "cuda_graph":
        graph: dict[str, Any] = getattr(row, "graph", None) or {}
        if "period" not in graph:
            return
        period_s, busy_s = graph["period"]["median_s"], graph["gpu_busy_s"]
        kernels = graph["kernels"]
    profiled = not isnan(busy_s)
    bound_s = busy_s if profiled else by_host[DEFAULT].gpu_busy_s
    bound = "host" if period_s > HOST_BOUND * bound_s else "GPU"
    for host, p in by_host.items():
        low_s, high_s = p.interval_s
        yield Outcome(
            row.name,
            f"{mode} {row.case['phase']}, {bound}-bound, {host}",
            "period",
            p.period_s / period_s,
            low_s <= period_s <= high_s,
            measured_s=period_s,
        )
    p = by_host[DEFAULT]
    if profiled:
        yield Outcome(row.name, mode, "GPU busy", p.gpu_busy_s / busy_s)
        yield Outcome(row.name, mode, "kernels", p.kernel_count / kernels)


def main() -> None:
    """Predict each case, or read its prediction, and compare those that were measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pattern", nargs="?", default="", help="regular expression on names")
    parser.add_argument("--suites", nargs="+", choices=SUITES, help="default: the packages'")
    parser.add_argument("--gpu", default="h200_sxm", help="id of the GPU that was measured")
    parser.add_argument("--write", type=Path, help="file for the predictions")
    parser.add_argument("--before", type=Path, help="file of stored predictions")
    options = parser.parse_args()
    stored = before(options.before) if options.before else None
    predicted: list[Row] = []
    outcomes: list[Outcome] = []
    for suite in options.suites or (SECOND if stored else FIRST):
        known = measured(suite, options.gpu)
        for case in (c for c in SUITES[suite] if re.search(options.pattern, c.name)):
            row = known.get(case.name)
            for mode, by_host in _of(case, row, stored, options.gpu):
                if isinstance(by_host, str):
                    print(f"{case.name} {mode}: {by_host}", flush=True)
                    predicted.append({"case": case.name, "mode": mode, "failed": by_host})
                    continue
                p = by_host[DEFAULT]
                if not isinstance(p, Before):
                    predicted.append(figures(case.name, mode, p))
                own = list(compared(row, mode, by_host)) if row else []
                outcomes += own
                ratios = "  ".join(f"{o.figure} {o.ratio:.2f}" for o in own)
                print(f"{case.name} {mode}: {p.period_s * 1e3:.3f} ms  {ratios}", flush=True)
    if outcomes:
        print(table(summary(outcomes)))
    if options.write:
        write(options.write, predicted)


def _of(
    case: Case,
    row: Recording | Timed | None,
    stored: Mapping[tuple[str, str], Before] | None,
    gpu: str,
) -> Iterator[tuple[str, Mapping[str, Prediction | Before] | str]]:
    """The predictions of a case by mode, from the current code or as stored."""
    if stored is None:
        yield from predictions(case, hosts(row), gpu)
        return
    for mode in modes(case):
        p = stored.get((case.name, mode))
        yield mode, {DEFAULT: p} if p else "no prediction was stored"


if __name__ == "__main__":
    main()
