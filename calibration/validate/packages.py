"""Predicted against measured, on networks as transformers and timm write them.

`python -m calibration.validate.packages [PATTERN]` traces each case of the suites `packages` and
`packages_compiled` and prints a line for each, with the ratio of predicted over measured where it
was measured; `--write FILE` keeps the predictions as JSON lines. No fit has seen these cases. Both
packages must be installed.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from calibration.cases.case import Case
from calibration.cases.packages import PACKAGES, PACKAGES_COMPILED
from calibration.outcome import Outcome, summary, table
from calibration.record.read import Recording, Timed, host_index, recordings, timed
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.hardware.host import Host
from simulator.hardware.host import host as find_host
from simulator.hardware.host_speed import parts
from simulator.prediction import Prediction

SUITE, COMPILED = "packages", "packages_compiled"


def modes(case: Case) -> tuple[str, ...]:
    """The modes in which a case is timed."""
    if case.mode != "eager":
        return (case.mode,)
    return ("eager", "cuda_graph") if case.phase == "inference" else ("eager",)


def predictions(case: Case, host: Host | None = None) -> Iterator[tuple[str, Prediction | str]]:
    """The prediction of each mode in which a case is timed, or why it cannot be predicted."""
    for mode in modes(case):
        try:
            yield mode, predict_trace(retrace(case.record(), mode), mode=mode, host=host)
        except Exception as error:  # a network may raise anything
            yield mode, f"{type(error).__name__}: {str(error)[:300]}"


def figures(name: str, mode: str, p: Prediction) -> dict[str, Any]:
    """A prediction as a row to keep."""
    low_s, high_s = p.interval_s
    return {
        "case": name,
        "mode": mode,
        "period_s": p.period_s,
        "interval_s": [low_s, high_s],
        "gpu_busy_s": p.gpu_busy_s,
        "kernels": p.kernel_count,
    }


def measured(suite: str) -> dict[str, Recording | Timed]:
    """The measured cases of a suite by name; none where it was not measured."""
    try:
        return {row.name: row for row in (recordings if suite == SUITE else timed)(suite)}
    except FileNotFoundError:
        return {}


def compared(row: Recording | Timed, mode: str, p: Prediction) -> Iterator[Outcome]:
    """The figures of one mode of a measured case over what was predicted."""
    group = f"packages, {p.trace.phase}, {mode}"
    period_s, busy_s, kernels = row.period_s, row.gpu_busy_s, row.kernel_count
    if mode == "cuda_graph":
        graph = getattr(row, "graph", None) or {}
        if "period" not in graph:
            return
        period_s, busy_s = graph["period"]["median_s"], graph["gpu_busy_s"]
        kernels = graph["kernels"]
    low_s, high_s = p.interval_s
    inside = low_s <= period_s <= high_s
    yield Outcome(row.name, group, "period", p.period_s / period_s, inside, measured_s=period_s)
    yield Outcome(row.name, group, "GPU busy", p.gpu_busy_s / busy_s)
    yield Outcome(row.name, group, "kernels", p.kernel_count / kernels)


def main() -> None:
    """Predict each case and compare those that were measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("pattern", nargs="?", default="", help="regular expression on names")
    parser.add_argument("--write", type=Path, help="file for the predictions")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    outcomes: list[Outcome] = []
    for suite, cases in ((SUITE, PACKAGES), (COMPILED, PACKAGES_COMPILED)):
        seen = measured(suite)
        host = find_host()
        then = host.slower(parts(host_index(suite), host.reference)) if seen else None
        for case in (c for c in cases if re.search(options.pattern, c.name)):
            for mode, p in predictions(case, then):
                if isinstance(p, str):
                    print(f"{case.name} {mode}: {p}", flush=True)
                    continue
                rows.append(figures(case.name, mode, p))
                own = list(compared(seen[case.name], mode, p)) if case.name in seen else []
                outcomes += own
                ratios = "  ".join(f"{o.figure} {o.ratio:.2f}" for o in own)
                print(f"{case.name} {mode}: {p.period_s * 1e3:.3f} ms  {ratios}", flush=True)
    if outcomes:
        print(table(summary(outcomes)))
    if options.write:
        options.write.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


if __name__ == "__main__":
    main()
