"""Compare predicted with measured energy of whole steps that no fit uses.

`python -m calibration.validate.energy_steps` predicts each of `cases.energy_steps.ENERGY_STEPS` and
prints it with the measurement of `calibration.measure.energy --steps` on the card that `--card`
names. `--write FILE` stores the predictions as JSON lines, gzipped if the name ends in `.gz`;
`--before FILE` compares such a file with the measurements instead and traces nothing. The packages
transformers and timm must be installed.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path

from calibration.cases.energy import EnergyCase
from calibration.cases.energy_steps import ENERGY_STEPS
from calibration.outcome import Outcome, summary, table
from calibration.record.host_rounds import beside
from calibration.record.read import MEASUREMENTS
from calibration.validate.kept_predictions import Row, rows, write
from calibration.validate.report import HOST_BOUND
from calibration.validate.trace_fidelity import retrace
from simulator import predict_trace
from simulator.hardware.host import Host

_RATIOS = ("joules", "watts", "period_s", "clock_hz")
_LIMITED = 4  # NVML's reason of a lowered clock: the software's power cap


def predictions(card: str, known: dict[str, Row]) -> dict[str, Row]:
    """The figures of each step by name, with the host of a measured step, or its error."""
    predicted: dict[str, Row] = {}
    for case in ENERGY_STEPS:
        row = known.get(case.name)
        try:
            predicted[case.name] = figures(case, card, beside(row["probes"]) if row else None)
        except Exception as error:  # a network may raise anything
            predicted[case.name] = {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
        print(case.name, predicted[case.name], flush=True)
    return predicted


def figures(case: EnergyCase, card: str, host: Host | None) -> Row:
    """The predicted figures of a case on a card."""
    assert case.step is not None
    mode = "cuda_graph" if case.graph else "eager"
    p = predict_trace(retrace(case.step.record(), mode), gpu=card, host=host, mode=mode)
    assert p.power is not None
    return {
        "joules": p.power.joules,
        "joules_interval": list(p.power.joules_interval),
        "watts": p.power.watts,
        "clock_hz": p.power.clock_hz,
        "period_s": p.period_s,
        "gpu_busy_s": p.gpu_busy_s,
    }


def measured(card: str) -> dict[str, Row]:
    """The measured steps of a card by name; none if the card was not measured."""
    path = MEASUREMENTS / card / "energy_steps.jsonl.gz"
    if not path.exists():
        return {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return {row["name"]: row for row in lines if row.get("joules")}


def outcomes(predicted: dict[str, Row], known: dict[str, Row]) -> list[Outcome]:
    """The figures of each step relative to the measurement, grouped by the bottleneck of the
    step."""
    each: list[Outcome] = []
    for name, row in known.items():
        p = predicted.get(name, {})
        if "failed" in p or not p:
            continue
        host_decides = p["period_s"] > HOST_BOUND * p["gpu_busy_s"]
        limited = _LIMITED in row["reasons"]
        group = "host decides" if host_decides else "power limit" if limited else "GPU decides"
        low, high = p["joules_interval"]
        true = {**row, "watts": row["power_w"], "period_s": row["sustained_s"]}
        for figure in _RATIOS:
            inside = low <= true["joules"] <= high if figure == "joules" else None
            for of in (group, "all"):
                each.append(Outcome(name, of, figure, p[figure] / true[figure], inside))
    return each


def main() -> None:
    """Predict, or read the predictions, and compare those that were measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--card", default="h200_sxm", help="h200_sxm or h100_sxm")
    parser.add_argument("--write", type=Path, help="file for the predictions")
    parser.add_argument("--before", type=Path, help="file of stored predictions")
    options = parser.parse_args()
    known = measured(options.card)
    if options.before:
        predicted = {row.pop("case"): row for row in rows(options.before)}
    else:
        predicted = predictions(options.card, known)
    each = outcomes(predicted, known)
    ratios: dict[str, dict[str, float]] = {}
    for outcome in each:
        ratios.setdefault(outcome.case, {})[outcome.figure] = outcome.ratio
    for name, by_figure in sorted(ratios.items(), key=lambda item: item[1]["joules"]):
        print("  ".join(f"{figure} {ratio:.2f}" for figure, ratio in by_figure.items()), name)
    if each:
        print(table(sorted(summary(each), key=lambda s: (s.group, s.figure))))
    if options.write:
        write(options.write, ({"case": name, **p} for name, p in predicted.items()))


if __name__ == "__main__":
    main()
